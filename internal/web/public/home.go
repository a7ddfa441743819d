package public

import (
	"context"
	"net/http"

	"github.com/gatehouse-hq/gatehouse/internal/domain/corpus"
	"github.com/gatehouse-hq/gatehouse/internal/web/edge"
	"github.com/gatehouse-hq/gatehouse/internal/web/ui"
)

// How much the front page lists.
const (
	latestWritings = 5
	topNotes       = 60
)

// homeView is the front page: a note of the owner's as the front, or lists alone.
type homeView struct {
	front    *noteView
	top      []ui.Link
	writings []corpus.Note
	all      bool // every note of the wiki's top is listed
}

func (s *Site) home(w http.ResponseWriter, r *http.Request) error {
	ctx := r.Context()
	var view homeView
	front, err := s.front(ctx)
	if err != nil {
		return err
	}
	view.front = front
	nodes, err := s.outline(ctx)
	if err != nil {
		return err
	}
	for _, n := range nodes {
		if n.Depth == 0 && (front == nil || n.ID != front.note.ID) {
			view.top = append(view.top, nodeLink(n))
		}
	}
	view.all = len(view.top) <= topNotes
	view.top = view.top[:min(len(view.top), topNotes)]
	latest, err := s.notes.PublicWritings(ctx, "", latestWritings)
	if err != nil {
		return err
	}
	if view.writings, err = s.allDescribed(ctx, latest.Notes); err != nil {
		return err
	}
	return edge.RenderPublic(w, r, homePage(view))
}

// front is the published note that stands at the top of the wiki under one of the names that people give such a
// note; nil when there is none.
func (s *Site) front(ctx context.Context) (*noteView, error) {
	for _, name := range []string{"welcome", "index", "home"} {
		found, err := s.notes.PublicByAddress(ctx, corpus.Wiki, name)
		if notFound(err) || (err == nil && (found.Redirect != "" || found.Note.Folder)) {
			continue
		}
		if err != nil {
			return nil, err
		}
		view, err := s.text(ctx, found.Note)
		return &view, err
	}
	return nil, nil
}

func (v homeView) head(site ui.Site) ui.Public {
	p := ui.Public{Title: site.Title, Description: site.Tagline, Path: "/"}
	if v.front != nil && v.front.description() != "" {
		p.Description = v.front.description()
	}
	return p
}

func (v homeView) empty() bool { return v.front == nil && len(v.top) == 0 && len(v.writings) == 0 }
