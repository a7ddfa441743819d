package notes

import (
	"context"
	"net/http"
	"strings"

	"github.com/go-chi/chi/v5"

	"github.com/gatehouse-hq/gatehouse/internal/domain/corpus"
	"github.com/gatehouse-hq/gatehouse/internal/infra/op"
	"github.com/gatehouse-hq/gatehouse/internal/web/edge"
	"github.com/gatehouse-hq/gatehouse/internal/web/ui"
)

// deleteView asks before notes go to the trash.
type deleteView struct {
	plan   op.Plan
	notes  []corpus.Note // those that were named
	below  int           // how many more stand below them
	public int           // how many of all are public
	back   string        // where to go when it is done
	cancel string
}

func (v deleteView) count() int { return len(v.notes) + v.below }

func (s *Section) confirmDelete(w http.ResponseWriter, r *http.Request) error {
	id := chi.URLParam(r, "id")
	v, err := s.doomed(r.Context(), []string{id})
	if err != nil {
		return err
	}
	v.back, v.cancel = address, at(id)
	return edge.Render(w, r, http.StatusOK, deletePage(v))
}

// deletePicked asks first; the form of the question comes back with its plan.
func (s *Section) deletePicked(w http.ResponseWriter, r *http.Request) error {
	form, err := edge.ParseForm(r)
	if err != nil {
		return err
	}
	back := edge.Back(r, address)
	if id := form.Text("plan"); id != "" {
		return s.confirmed(w, r, id, back)
	}
	ids := form.List("id")
	if len(ids) == 0 {
		edge.SetFlash(w, r, "notes-none-picked", 0)
		return edge.SeeOther(w, r, back)
	}
	v, err := s.doomed(r.Context(), ids)
	if err != nil {
		return err
	}
	v.back, v.cancel = back, back
	return edge.Render(w, r, http.StatusOK, deletePage(v))
}

// confirmed applies the plan that the owner saw.
func (s *Section) confirmed(w http.ResponseWriter, r *http.Request, plan, back string) error {
	batch, err := op.Confirm[corpus.Batch](r.Context(), s.plans, "corpus.delete", plan)
	if err != nil {
		return err
	}
	edge.SetFlash(w, r, "notes-deleted", batch.Notes)
	return edge.SeeOther(w, r, back)
}

// doomed reads the named notes, makes a plan, and counts what goes with them.
func (s *Section) doomed(ctx context.Context, ids []string) (deleteView, error) {
	var v deleteView
	if len(ids) > corpus.BulkLimit {
		return v, op.Invalidf("ids", "%s notes were named. At most %s go at once.", ui.Count(len(ids)), ui.Count(corpus.BulkLimit))
	}
	named := map[string]bool{}
	var roots []string
	for _, id := range ids {
		n, err := s.corpus.Get(ctx, id)
		if err != nil {
			return v, err
		}
		if named[n.ID] {
			continue
		}
		named[n.ID] = true
		v.notes = append(v.notes, n)
		if n.Published {
			v.public++
		}
		if n.Genre == corpus.Wiki {
			roots = append(roots, n.Path+"/")
		}
	}
	var err error
	if v.plan, err = op.Ask(ctx, s.plans, "corpus.delete", corpus.DeleteIn{IDs: ids}); err != nil {
		return v, err
	}
	tree, err := s.corpus.Tree(ctx)
	if err != nil {
		return v, err
	}
	for _, n := range tree {
		if named[n.ID] || !beneath(n.Path, roots) {
			continue
		}
		v.below++
		if n.Published {
			v.public++
		}
	}
	return v, nil
}

func beneath(path string, roots []string) bool {
	for _, root := range roots {
		if strings.HasPrefix(path, root) {
			return true
		}
	}
	return false
}

func (s *Section) trash(w http.ResponseWriter, r *http.Request) error {
	batches, err := s.corpus.Trash(r.Context())
	if err != nil {
		return err
	}
	return edge.Render(w, r, http.StatusOK, trashPage(batches, edge.TakeFlash(w, r)))
}

func (s *Section) restore(w http.ResponseWriter, r *http.Request) error {
	if _, err := edge.ParseForm(r); err != nil {
		return err
	}
	batch, err := s.corpus.Restore(r.Context(), chi.URLParam(r, "batch"))
	if err != nil {
		return err
	}
	edge.SetFlash(w, r, "notes-restored", batch.Notes)
	return edge.SeeOther(w, r, address+"/trash")
}
