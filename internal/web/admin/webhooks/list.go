package webhooks

import (
	"context"
	"net/http"
	"net/url"

	"github.com/gatehouse-hq/gatehouse/internal/domain/webhooks"
	"github.com/gatehouse-hq/gatehouse/internal/web/edge"
	"github.com/gatehouse-hq/gatehouse/internal/web/ui"
)

// pageSize is how many endpoints a page shows.
const pageSize = 25

// listView is the list as the page shows it.
type listView struct {
	rows    []listRow
	deleted bool
	place   ui.Place
	next    string
	flash   *ui.Flash
	live    string
}

type listRow struct {
	webhooks.Endpoint
	health webhooks.Health
}

// List shows the endpoints there are, or those that were deleted while their log is kept.
func (s *Section) List(w http.ResponseWriter, r *http.Request) error {
	q := r.URL.Query()
	v := listView{deleted: q.Get("deleted") == "true", place: ui.Place{Cursor: q.Get("cursor"), Trail: q.Get("trail")}, live: s.live}
	if err := s.load(r.Context(), &v); err != nil {
		return err
	}
	v.flash = edge.TakeFlash(w, r)
	return edge.Render(w, r, http.StatusOK, listPage(v))
}

func (s *Section) load(ctx context.Context, v *listView) error {
	list, err := s.hooks.List(ctx, webhooks.ListIn{Deleted: v.deleted, Cursor: v.place.Cursor, Limit: pageSize})
	if err != nil {
		return err
	}
	ids := make([]string, len(list.Endpoints))
	for i, e := range list.Endpoints {
		ids[i] = e.ID
	}
	healths, err := s.hooks.Latest(ctx, ids)
	if err != nil {
		return err
	}
	for _, e := range list.Endpoints {
		h, sent := healths[e.ID]
		if !sent {
			h.SuccessRate = -1
		}
		v.rows = append(v.rows, listRow{e, h})
	}
	v.next = list.Next
	return nil
}

func (v listView) pager() ui.Pager {
	p := ui.Pager{Plain: true}
	if v.place.Cursor != "" {
		p.Newer = v.at(v.place.Newer())
	}
	if v.next != "" {
		p.Older = v.at(v.place.Older(v.next))
	}
	return p
}

func (v listView) at(p ui.Place) string {
	q := url.Values{}
	for name, value := range map[string]string{"cursor": p.Cursor, "trail": p.Trail} {
		if value != "" {
			q.Set(name, value)
		}
	}
	if v.deleted {
		q.Set("deleted", "true")
	}
	if len(q) == 0 {
		return home
	}
	return home + "?" + q.Encode()
}

func (v listView) tabs() []ui.Tab {
	return []ui.Tab{{Label: "Endpoints", Href: home, Current: !v.deleted}, {Label: "Deleted", Href: home + "?deleted=true", Current: v.deleted}}
}
