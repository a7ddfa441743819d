// Package periodic shows what comes back by itself, with its history.
package periodic

import (
	"net/http"
	"strings"
	"time"

	"github.com/go-chi/chi/v5"

	"github.com/gatehouse-hq/gatehouse/internal/domain/tasks"
	"github.com/gatehouse-hq/gatehouse/internal/infra/op"
	"github.com/gatehouse-hq/gatehouse/internal/web/edge"
	"github.com/gatehouse-hq/gatehouse/internal/web/ui"
)

const home = "/admin/periodic"

// Section holds the handlers.
type Section struct {
	tasks *tasks.Domain
	live  string
}

// New returns the section; live is the address of the event stream, "" for
// still pages.
func New(d *tasks.Domain, live string) *Section { return &Section{tasks: d, live: live} }

// Messages are what the section's actions say when they are done.
func Messages() map[string]edge.Message {
	return map[string]edge.Message{
		"periodic-started": {Tone: ui.Told, One: "It was started once; its schedule is unchanged. The result stands here when it is done."},
		"periodic-paused":  {Tone: ui.Done, One: "Its schedule is paused. It can still be run by hand."},
		"periodic-resumed": {Tone: ui.Done, One: "Its schedule goes on."},
		"periodic-busy":    {Tone: ui.Warn, One: "It is already waiting or running, so it was not started a second time."},
	}
}

// Page lists every periodic.
func (s *Section) Page(w http.ResponseWriter, r *http.Request) error {
	out, err := s.tasks.Periodic(r.Context(), tasks.None{})
	if err != nil {
		return err
	}
	return edge.Render(w, r, http.StatusOK, page(out.Periodics, edge.TakeFlash(w, r), s.live))
}

// Run starts one once, now.
func (s *Section) Run(w http.ResponseWriter, r *http.Request) error {
	if _, err := edge.ParseForm(r); err != nil {
		return err
	}
	_, err := s.tasks.RunPeriodic(r.Context(), tasks.PeriodicIn{Name: chi.URLParam(r, "name")})
	switch {
	case op.CodeOf(err) == op.Conflict:
		edge.SetFlash(w, r, "periodic-busy", 0)
	case err != nil:
		return err
	default:
		edge.SetFlash(w, r, "periodic-started", 0)
	}
	return edge.SeeOther(w, r, edge.Back(r, home))
}

// Pause stops a schedule.
func (s *Section) Pause(w http.ResponseWriter, r *http.Request) error { return s.pause(w, r, true) }

// Resume lets a schedule go on.
func (s *Section) Resume(w http.ResponseWriter, r *http.Request) error { return s.pause(w, r, false) }

func (s *Section) pause(w http.ResponseWriter, r *http.Request, paused bool) error {
	if _, err := edge.ParseForm(r); err != nil {
		return err
	}
	if _, err := s.tasks.PausePeriodic(r.Context(), tasks.PauseIn{Name: chi.URLParam(r, "name"), Paused: paused}); err != nil {
		return err
	}
	if paused {
		edge.SetFlash(w, r, "periodic-paused", 0)
	} else {
		edge.SetFlash(w, r, "periodic-resumed", 0)
	}
	return edge.SeeOther(w, r, edge.Back(r, home))
}

func action(p tasks.Periodic, verb string) string { return home + "/" + p.Name + "/" + verb }

// every says an interval as people do: "every 5 minutes", "hourly", "daily".
func every(d time.Duration) string {
	switch {
	case d == time.Minute:
		return "every minute"
	case d == time.Hour:
		return "hourly"
	case d == 24*time.Hour:
		return "daily"
	case d == 7*24*time.Hour:
		return "weekly"
	}
	return "every " + strings.NewReplacer(" min", " minutes", " h", " hours").Replace(ui.Span(d))
}

// state is what a periodic's chip says.
func state(p tasks.Periodic) string {
	switch {
	case p.Running:
		return "running"
	case p.Paused:
		return "paused"
	case p.Overdue:
		return "overdue"
	case len(p.History) > 0 && !p.History[0].OK:
		return "failed"
	}
	return "on_time"
}

// marks are the history for a strip, the oldest first.
func marks(p tasks.Periodic, zone *time.Location) []ui.Mark {
	out := make([]ui.Mark, 0, len(p.History))
	for i := len(p.History) - 1; i >= 0; i-- {
		h := p.History[i]
		m := ui.Mark{State: "ok", Text: h.At.In(zone).Format("2 Jan 15:04:05") + ", " + h.Trigger + ": done in " + ui.Span(h.Duration)}
		if !h.OK {
			m = ui.Mark{State: "failed", Text: h.At.In(zone).Format("2 Jan 15:04:05") + ", " + h.Trigger + ": failed, " + h.Error}
		}
		out = append(out, m)
	}
	return out
}
