// Package overview is the panel's first page: what needs the owner, then how
// the house is doing.
package overview

import (
	"context"
	"net/http"
	"strconv"
	"time"

	"github.com/gatehouse-hq/gatehouse/internal/domain/instance"
	"github.com/gatehouse-hq/gatehouse/internal/domain/tasks"
	"github.com/gatehouse-hq/gatehouse/internal/web/edge"
	"github.com/gatehouse-hq/gatehouse/internal/web/ui"
)

const home = "/admin/"

// recent is how many events the page shows.
const recent = 12

// Section holds the handlers.
type Section struct {
	tasks *tasks.Domain
	house *instance.Domain
	edge  *edge.Edge
	live  string
}

// New returns the section; live is the address of the event stream, "" for
// still pages.
func New(d *tasks.Domain, house *instance.Domain, e *edge.Edge, live string) *Section {
	return &Section{tasks: d, house: house, edge: e, live: live}
}

// part is a stretch of the page that may fail alone: a failed load never looks
// like an empty list, and one that fails does not take the others along.
type part[T any] struct {
	value  T
	failed bool
}

func load[T any](ctx context.Context, s *Section, what string, get func(context.Context) (T, error)) part[T] {
	v, err := get(ctx)
	if err == nil {
		return part[T]{value: v}
	}
	if ctx.Err() == nil {
		s.edge.Log.ErrorContext(ctx, "a part of the overview could not be loaded", "request_id", edge.RequestID(ctx), "part", what, "error", err)
	}
	return part[T]{value: v, failed: true}
}

// view is the page.
type view struct {
	health part[tasks.Health]
	counts part[tasks.OverviewOut]
	events part[tasks.EventPage]
	tables part[[]tasks.Table]
	passed part[[]tasks.Moment]
	keeps  part[keeping]
	since  map[tasks.State]part[time.Time] // the oldest failure in a state
	flash  *ui.Flash
	live   string
	now    time.Time
	zone   *time.Location
}

// Page shows the overview.
func (s *Section) Page(w http.ResponseWriter, r *http.Request) error {
	ctx := r.Context()
	v := view{flash: edge.TakeFlash(w, r), live: s.live, now: ui.EnvFrom(ctx).Now}
	v.health = load(ctx, s, "health", func(ctx context.Context) (tasks.Health, error) { return s.tasks.Health(ctx, tasks.None{}) })
	v.counts = load(ctx, s, "counts", func(ctx context.Context) (tasks.OverviewOut, error) {
		return s.tasks.Overview(ctx, tasks.OverviewIn{})
	})
	v.keeps = load(ctx, s, "backups and disks", s.keeping)
	v.events = load(ctx, s, "events", func(ctx context.Context) (tasks.EventPage, error) {
		return s.tasks.ListEvents(ctx, tasks.EventQuery{Limit: recent})
	})
	v.since = map[tasks.State]part[time.Time]{}
	for _, state := range []tasks.State{"retryable", "discarded"} {
		v.since[state] = load(ctx, s, "oldest failures", func(ctx context.Context) (time.Time, error) {
			since, _, err := s.tasks.Oldest(ctx, state)
			return since, err
		})
	}
	v.passed = load(ctx, s, "throughput", s.tasks.Throughput)
	v.zone = ui.EnvFrom(ctx).Zone
	v.tables = load(ctx, s, "tables", s.tasks.Tables)
	return edge.Render(w, r, http.StatusOK, page(v))
}

func tone(v tasks.Verdict) ui.Tone {
	if v == tasks.Stuck {
		return ui.Wrong
	}
	return ui.Warn
}

func bounded(c tasks.Count) string {
	if c.AtLeast {
		return ui.Count(c.N) + "+"
	}
	return ui.Count(c.N)
}

// oldest is the waiting time of the task that waits longest, "" for none.
func oldest(o tasks.OverviewOut, now time.Time) string {
	var first *time.Time
	for _, q := range o.Queues {
		if q.Oldest != nil && (first == nil || q.Oldest.Before(*first)) {
			first = q.Oldest
		}
	}
	if first == nil || now.Before(*first) {
		return ""
	}
	return "oldest " + ui.Relative(*first, now)
}

// failing is what a count of failures adds in words.
func failing(v view, state tasks.State) string {
	var kinds int
	for _, k := range v.counts.value.Kinds {
		if k.States[state].N > 0 {
			kinds++
		}
	}
	since := v.since[state].value
	switch {
	case kinds == 0 || since.IsZero():
		return ""
	case kinds == 1:
		return "of one kind; oldest " + ui.Relative(since, v.now)
	}
	return "of " + strconv.Itoa(kinds) + " kinds; oldest " + ui.Relative(since, v.now)
}
