package webhooks

import (
	"context"
	"net/http"
	"strconv"

	"github.com/gatehouse-hq/gatehouse/internal/domain/webhooks"
	"github.com/gatehouse-hq/gatehouse/internal/web/edge"
	"github.com/gatehouse-hq/gatehouse/internal/web/ui"
)

// pageSize is how many endpoints a page shows: the health of each is read by itself.
const pageSize = 25

// listView is the list as the page shows it.
type listView struct {
	rows    []listRow
	deleted bool
	pager   ui.Pager
	flash   *ui.Flash
	live    string
}

type listRow struct {
	webhooks.Endpoint
	health webhooks.Health
}

// List shows the endpoints there are, or those that were deleted while their log is kept.
func (s *Section) List(w http.ResponseWriter, r *http.Request) error {
	v := listView{deleted: r.URL.Query().Get("deleted") == "true", live: s.live}
	page, err := strconv.Atoi(r.URL.Query().Get("page"))
	if err != nil || page < 1 {
		page = 1
	}
	if err := s.load(r.Context(), &v, page); err != nil {
		return err
	}
	v.flash = edge.TakeFlash(w, r)
	return edge.Render(w, r, http.StatusOK, listPage(v))
}

func (s *Section) load(ctx context.Context, v *listView, page int) error {
	list, err := s.hooks.List(ctx, webhooks.ListIn{Deleted: v.deleted})
	if err != nil {
		return err
	}
	all := list.Endpoints
	from := min((page-1)*pageSize, len(all))
	to := min(from+pageSize, len(all))
	for _, e := range all[from:to] {
		h, err := s.hooks.HealthOf(ctx, e.ID)
		if err != nil {
			return err
		}
		v.rows = append(v.rows, listRow{e, h})
	}
	v.pager.Plain = true
	if from > 0 {
		v.pager.Newer = v.at(page - 1)
	}
	if to < len(all) {
		v.pager.Older = v.at(page + 1)
	}
	return nil
}

func (v listView) at(page int) string {
	address := home + "?page=" + strconv.Itoa(page)
	if v.deleted {
		address += "&deleted=true"
	}
	return address
}

func (v listView) tabs() []ui.Tab {
	return []ui.Tab{{Label: "Endpoints", Href: home, Current: !v.deleted}, {Label: "Deleted", Href: home + "?deleted=true", Current: v.deleted}}
}
