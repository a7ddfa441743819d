package tasks

import (
	"context"
	"net/http"
	"strconv"
	"strings"

	"github.com/gatehouse-hq/gatehouse/internal/domain/tasks"
	"github.com/gatehouse-hq/gatehouse/internal/infra/op"
	"github.com/gatehouse-hq/gatehouse/internal/web/edge"
)

// pickLimit is how many rows one form may act on: more than a page shows.
const pickLimit = 200

// pickOf is what a row's box says: which task, and what the owner saw of it.
func pickOf(t tasks.Task) string {
	return number(t.ID) + ":" + string(t.State) + ":" + strconv.Itoa(t.Attempt)
}

func parsePick(s string) (tasks.Reference, error) {
	parts := strings.Split(s, ":")
	if len(parts) != 3 {
		return tasks.Reference{}, errPick
	}
	id, err := strconv.ParseInt(parts[0], 10, 64)
	if err != nil {
		return tasks.Reference{}, errPick
	}
	attempt, err := strconv.Atoi(parts[2])
	if err != nil {
		return tasks.Reference{}, errPick
	}
	return tasks.Reference{ID: tasks.ID(id), State: tasks.State(parts[1]), Attempt: attempt}, nil
}

var errPick = op.Errorf(op.Invalid, "The selection did not arrive whole. Go back and select again.")

// picks are the selected rows, or the one row whose own button was pressed.
func picks(form *edge.Form) ([]tasks.Reference, error) {
	chosen := form.List("pick")
	if only := form.List("only"); len(only) == 1 {
		chosen = only
	}
	if len(chosen) > pickLimit {
		return nil, op.Errorf(op.TooLarge, "At most %d tasks can be selected at once.", pickLimit)
	}
	refs := make([]tasks.Reference, 0, len(chosen))
	for _, c := range chosen {
		ref, err := parsePick(c)
		if err != nil {
			return nil, err
		}
		refs = append(refs, ref)
	}
	return refs, nil
}

// RetryPicked retries the selected tasks that still are as the owner saw them.
func (s *Section) RetryPicked(w http.ResponseWriter, r *http.Request) error {
	return s.actOnPicked(w, r, s.tasks.Retry, "task-retried")
}

// CancelPicked cancels the selected tasks that still are as the owner saw them.
func (s *Section) CancelPicked(w http.ResponseWriter, r *http.Request) error {
	return s.actOnPicked(w, r, s.tasks.Cancel, "task-cancelled")
}

type act func(context.Context, tasks.Reference) (tasks.Task, error)

func (s *Section) actOnPicked(w http.ResponseWriter, r *http.Request, do act, done string) error {
	form, err := edge.ParseForm(r)
	if err != nil {
		return err
	}
	refs, err := picks(form)
	if err != nil {
		return err
	}
	acted := 0
	for _, ref := range refs {
		switch _, err := do(r.Context(), ref); op.CodeOf(err) {
		case op.Conflict, op.NotFound: // left alone, and said so
		default:
			if err != nil {
				return err
			}
			acted++
		}
	}
	switch {
	case len(refs) == 0:
		edge.SetFlash(w, r, "task-none-picked", 0)
	case acted == 0:
		edge.SetFlash(w, r, "task-untouched", len(refs))
	case acted < len(refs):
		edge.SetFlash(w, r, done+"-some", acted)
	default:
		edge.SetFlash(w, r, done, acted)
	}
	return edge.SeeOther(w, r, edge.Back(r, home))
}
