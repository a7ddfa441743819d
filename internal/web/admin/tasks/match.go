package tasks

import (
	"errors"
	"net/http"

	"github.com/gatehouse-hq/gatehouse/internal/domain/tasks"
	"github.com/gatehouse-hq/gatehouse/internal/infra/op"
	"github.com/gatehouse-hq/gatehouse/internal/web/edge"
	"github.com/gatehouse-hq/gatehouse/internal/web/ui"
)

// matchView is the page that asks before acting on all that match.
type matchView struct {
	filter filter
	retry  bool
	count  tasks.Count
	plan   op.Plan
}

// operations that a form may confirm, by the action in its address.
func matchOperation(action string) (string, bool) {
	name, ok := map[string]string{"retry": "tasks.retry_matching", "cancel": "tasks.cancel_matching"}[action]
	return name, ok
}

// ConfirmMatching makes a plan and names its count, the filter and the
// consequence.
func (s *Section) ConfirmMatching(w http.ResponseWriter, r *http.Request) error {
	f := readFilter(r).from(ui.Place{})
	action := r.URL.Query().Get("action")
	operation, ok := matchOperation(action)
	if !ok {
		return edge.ErrNotFound
	}
	query, err := f.query()
	if err != nil {
		return err
	}
	v := matchView{filter: f, retry: action == "retry"}
	v.plan, err = op.Ask(r.Context(), s.plans, operation, tasks.MatchIn{States: query.States, Kind: query.Kind, Args: query.Args, Error: query.Error})
	if err != nil && op.CodeOf(err) != op.Conflict { // a conflict: nothing matches any more
		return err
	}
	v.count = tasks.Count{N: v.plan.Count, AtLeast: v.plan.AtLeast}
	return edge.Render(w, r, http.StatusOK, matchPage(v))
}

// ActOnMatching applies the plan that the owner saw: it starts the task that
// works through all that matched.
func (s *Section) ActOnMatching(w http.ResponseWriter, r *http.Request) error {
	form, err := edge.ParseForm(r)
	if err != nil {
		return err
	}
	operation, ok := matchOperation(form.Text("action"))
	if !ok {
		return errPick
	}
	task, err := op.Confirm[tasks.Task](r.Context(), s.plans, operation, form.Text("plan"))
	if err != nil {
		return err
	}
	edge.SetFlash(w, r, "task-bulk-started", 0)
	return edge.SeeOther(w, r, link(task.ID))
}

func asMessage(err error, said *interface{ Message() string }) bool {
	var e *op.Error
	if errors.As(err, &e) {
		*said = e
		return true
	}
	return false
}
