package notes

import (
	"context"
	"net/http"

	"github.com/go-chi/chi/v5"

	"github.com/gatehouse-hq/gatehouse/internal/domain/corpus"
	"github.com/gatehouse-hq/gatehouse/internal/web/edge"
)

type setter func(ctx context.Context, ids []string) ([]corpus.Note, error)

func (s *Section) publish(w http.ResponseWriter, r *http.Request) error {
	return setOne(w, r, s.corpus.Publish, "notes-published")
}

func (s *Section) unpublish(w http.ResponseWriter, r *http.Request) error {
	return setOne(w, r, s.corpus.Unpublish, "notes-unpublished")
}

func (s *Section) publishPicked(w http.ResponseWriter, r *http.Request) error {
	return setPicked(w, r, s.corpus.Publish, "notes-published")
}

func (s *Section) unpublishPicked(w http.ResponseWriter, r *http.Request) error {
	return setPicked(w, r, s.corpus.Unpublish, "notes-unpublished")
}

func setOne(w http.ResponseWriter, r *http.Request, set setter, said string) error {
	if _, err := edge.ParseForm(r); err != nil {
		return err
	}
	id := chi.URLParam(r, "id")
	if _, err := set(r.Context(), []string{id}); err != nil {
		return err
	}
	edge.SetFlash(w, r, said, 1)
	return edge.SeeOther(w, r, edge.Back(r, at(id)))
}

// setPicked acts on all selected notes or on none.
func setPicked(w http.ResponseWriter, r *http.Request, set setter, said string) error {
	form, err := edge.ParseForm(r)
	if err != nil {
		return err
	}
	back := edge.Back(r, address)
	ids := form.List("id")
	if len(ids) == 0 {
		edge.SetFlash(w, r, "notes-none-picked", 0)
		return edge.SeeOther(w, r, back)
	}
	changed, err := set(r.Context(), ids)
	if err != nil {
		return err
	}
	edge.SetFlash(w, r, said, len(changed))
	return edge.SeeOther(w, r, back)
}
