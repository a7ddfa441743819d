package tasks

import (
	"encoding/json"
	"net/http"
	"strconv"
	"time"

	"github.com/go-chi/chi/v5"

	"github.com/gatehouse-hq/gatehouse/internal/domain/tasks"
	"github.com/gatehouse-hq/gatehouse/internal/infra/op"
	"github.com/gatehouse-hq/gatehouse/internal/web/edge"
	"github.com/gatehouse-hq/gatehouse/internal/web/ui"
)

// oneView is one task as its page shows it.
type oneView struct {
	task   tasks.Task
	kind   tasks.Kind // zero when this program no longer declares it
	events []string   // the events it handles, from its arguments
	flash  *ui.Flash
	live   string
}

// One shows one task with everything known of it.
func (s *Section) One(w http.ResponseWriter, r *http.Request) error {
	id, err := idOf(r)
	if err != nil {
		return err
	}
	return s.show(w, r, id, http.StatusOK, edge.TakeFlash(w, r))
}

func (s *Section) show(w http.ResponseWriter, r *http.Request, id tasks.ID, status int, flash *ui.Flash) error {
	task, err := s.tasks.Get(r.Context(), tasks.GetIn{ID: id})
	if err != nil {
		return err
	}
	v := oneView{task: task, events: handled(task), flash: flash, live: s.live}
	v.kind, _ = s.tasks.KindOf(task.Kind)
	return edge.Render(w, r, status, onePage(v))
}

// Retry starts a new cycle if the task still is as the owner saw it.
func (s *Section) Retry(w http.ResponseWriter, r *http.Request) error {
	return s.actOnOne(w, r, s.tasks.Retry, "task-retried")
}

// Cancel stops the task if it still is as the owner saw it.
func (s *Section) Cancel(w http.ResponseWriter, r *http.Request) error {
	return s.actOnOne(w, r, s.tasks.Cancel, "task-cancelled")
}

// actOnOne answers a conflict with the same page as it stands now, and says
// that nothing was done.
func (s *Section) actOnOne(w http.ResponseWriter, r *http.Request, do act, done string) error {
	id, err := idOf(r)
	if err != nil {
		return err
	}
	form, err := edge.ParseForm(r)
	if err != nil {
		return err
	}
	ref := tasks.Reference{ID: id, State: tasks.State(form.Text("state")), Attempt: form.Int("attempt", 0, 1<<30)}
	if form.Err("attempt") != "" {
		return errPick
	}
	_, err = do(r.Context(), ref)
	var said interface{ Message() string }
	if op.CodeOf(err) == op.Conflict && asMessage(err, &said) {
		return s.show(w, r, id, http.StatusConflict, &ui.Flash{Tone: ui.Warn, Text: said.Message()})
	}
	if err != nil {
		return err
	}
	edge.SetFlash(w, r, done, 1)
	return edge.SeeOther(w, r, edge.Back(r, link(id)))
}

func idOf(r *http.Request) (tasks.ID, error) {
	id, err := strconv.ParseInt(chi.URLParam(r, "id"), 10, 64)
	if err != nil || id <= 0 {
		return 0, edge.ErrNotFound
	}
	return tasks.ID(id), nil
}

// handled are the events that a subscription's task names in its arguments.
func handled(t tasks.Task) []string {
	var args struct {
		Event  string   `json:"event_id"`
		Events []string `json:"event_ids"`
	}
	// Other kinds have other arguments; they name no events.
	if json.Unmarshal(t.Args, &args) != nil {
		return nil
	}
	if args.Event != "" {
		return append([]string{args.Event}, args.Events...)
	}
	return args.Events
}

// gap says how long a task waited before an attempt.
func gap(before time.Time, a tasks.Attempt, first bool) string {
	wait := a.At.Sub(before)
	if wait < time.Millisecond {
		return ""
	}
	if first {
		return "waited " + ui.Span(wait)
	}
	return ui.Span(wait) + " later"
}
