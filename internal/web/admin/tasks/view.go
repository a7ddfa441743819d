package tasks

import (
	"slices"
	"strconv"
	"strings"

	"github.com/gatehouse-hq/gatehouse/internal/domain/tasks"
	"github.com/gatehouse-hq/gatehouse/internal/web/ui"
)

// sign is what a further value of the list's address is joined with.
func sign(f filter) string {
	if len(f.from(ui.Place{}).values()) == 0 {
		return "?"
	}
	return "&"
}

func clearHref(f filter) string {
	if !f.narrowed() {
		return ""
	}
	return f.clear().href()
}

// keep are the values that the search form does not show but must not lose.
func keep(f filter) []ui.Hidden {
	return filter{state: f.state}.hidden()
}

func pager(v listView) ui.Pager {
	p := ui.Pager{}
	at := v.filter.place
	if at.Cursor != "" {
		p.Newer = v.filter.from(at.Newer()).href()
	}
	if v.next != "" {
		p.Older = v.filter.from(at.Older(v.next)).href()
	}
	return p
}

func purpose(v oneView) string {
	title := v.kind.Title
	if title == "" {
		title = v.task.Kind
	}
	if v.task.Subject != "" {
		return title + ": " + v.task.Subject
	}
	return title
}

// seen is what a button says the owner saw.
func seen(t tasks.Task) []ui.Hidden {
	return []ui.Hidden{{Name: "state", Value: string(t.State)}, {Name: "attempt", Value: strconv.Itoa(t.Attempt)}}
}

func facts(v oneView) []ui.Pair {
	t := v.task
	pairs := []ui.Pair{{Key: "State", Value: state(t)}, {Key: "Kind", Value: kindOf(v)}}
	if t.Subject != "" {
		pairs = append(pairs, ui.Pair{Key: "Subject", Value: ui.Text(t.Subject)})
	}
	if t.Pruned {
		return pairs
	}
	pairs = append(pairs, ui.Pair{Key: "Queue", Value: ui.Mono(t.Queue)}, ui.Pair{Key: "Attempts", Value: attemptsOf(t)}, ui.Pair{Key: "Created", Value: ui.ExactTime(t.CreatedAt)})
	switch {
	case t.State == "retryable":
		pairs = append(pairs, ui.Pair{Key: "Next try", Value: ui.Time(t.ScheduledAt)})
	case t.State == "pending":
		pairs = append(pairs, ui.Pair{Key: "Due", Value: ui.Time(t.ScheduledAt)})
	case t.FinishedAt != nil:
		pairs = append(pairs, ui.Pair{Key: "Finished", Value: ui.ExactTime(*t.FinishedAt)})
	}
	return pairs
}

func steps(t tasks.Task) []ui.Step {
	before := t.CreatedAt
	out := make([]ui.Step, 0, len(t.Attempts))
	for i, a := range t.Attempts {
		out = append(out, ui.Step{State: a.Outcome, Gap: gap(before, a, i == 0), Body: attempt(a)})
		before = a.At.Add(max(a.Duration, 0))
	}
	slices.Reverse(out)
	return out
}

// eventsOf are the events that led to the task, each once.
func eventsOf(v oneView) []string {
	ids := v.events
	if e := v.task.Cause.Event; e != "" && !slices.Contains(ids, e) {
		ids = append([]string{e}, ids...)
	}
	return ids
}

func matchTitle(v matchView) string {
	verb := "Cancel"
	if v.retry {
		verb = "Retry"
	}
	if v.count.N == 1 && !v.count.AtLeast {
		return verb + " 1 task"
	}
	return verb + " " + bounded(v.count) + " tasks"
}

func consequence(v matchView) string {
	if v.retry {
		return "Every task that matches is tried again now, with all of its attempts. It runs as a task of its own, which you can stop by cancelling it. Tasks that come later are left alone."
	}
	return "Every task that matches is stopped for good; its work does not happen. It runs as a task of its own, which you can stop by cancelling it. Tasks that come later are left alone."
}

func matchPairs(v matchView) []ui.Pair {
	var filters []string
	for _, h := range v.filter.hidden() {
		filters = append(filters, h.Name+": "+h.Value)
	}
	return []ui.Pair{
		{Key: "How many", Value: ui.Text(bounded(v.count))},
		{Key: "Which", Value: ui.Text(strings.Join(filters, ", "))},
		{Key: "Some of them", Value: ui.Text(strings.Join(v.plan.Sample, "; "))},
	}
}

func matchValues(v matchView) []ui.Hidden {
	action := "cancel"
	if v.retry {
		action = "retry"
	}
	return []ui.Hidden{{Name: "action", Value: action}, {Name: "plan", Value: v.plan.ID}}
}
