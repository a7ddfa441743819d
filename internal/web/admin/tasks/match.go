package tasks

import (
	"errors"
	"net/http"

	"github.com/gatehouse-hq/gatehouse/internal/domain/tasks"
	"github.com/gatehouse-hq/gatehouse/internal/infra/op"
	"github.com/gatehouse-hq/gatehouse/internal/web/edge"
)

// matchView is the page that asks before acting on all that match.
type matchView struct {
	filter filter
	retry  bool
	count  tasks.Count
	upto   tasks.ID
}

// ConfirmMatching names the count, the filter and the consequence.
func (s *Section) ConfirmMatching(w http.ResponseWriter, r *http.Request) error {
	f := readFilter(r).from("")
	action := r.URL.Query().Get("action")
	if action != "retry" && action != "cancel" {
		return edge.ErrNotFound
	}
	query, err := f.query()
	if err != nil {
		return err
	}
	count, newest, err := s.tasks.CountMatching(r.Context(), query)
	if err != nil {
		return err
	}
	return edge.Render(w, r, http.StatusOK, matchPage(matchView{filter: f, retry: action == "retry", count: count, upto: newest}))
}

// ActOnMatching starts the task that works through all that match.
func (s *Section) ActOnMatching(w http.ResponseWriter, r *http.Request) error {
	form, err := edge.ParseForm(r)
	if err != nil {
		return err
	}
	query, err := filterOf(r.PostForm).query()
	if err != nil {
		return err
	}
	upto := form.Int("upto", 0, 1<<62)
	start := s.tasks.RetryMatching
	if form.Choice("action", "retry", "cancel") == "cancel" {
		start = s.tasks.CancelMatching
	}
	if !form.OK() {
		return errPick
	}
	task, err := start(r.Context(), tasks.MatchIn{States: query.States, Kind: query.Kind, Args: query.Args, Error: query.Error, Upto: tasks.ID(upto)})
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
