package tasks

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/gatehouse-hq/gatehouse/internal/infra/jobs"

	"github.com/gatehouse-hq/gatehouse/internal/infra/events"
)

// The bounds above which something needs the owner.
const (
	DeathNews = 15 * time.Minute
	QueueAge  = 15 * time.Minute
	SkewBound = 500 * time.Millisecond
	overrun   = time.Minute // past its timeout a task is stuck
	// A task is slow past twice what 99 of 100 of its kind took, but not before slowAfter: nobody acts on less. Of fewer
	// than slowOf finished ones nothing is known.
	slowAfter = 30 * time.Second
	slowOf    = 20
	probeTime = 2 * time.Second
)

// Verdict is the answer to "are any tasks stuck?" in one word.
type Verdict string

// The verdicts, from best to worst.
const (
	OK        Verdict = "ok"
	Attention Verdict = "attention" // works, but something waits for the owner
	Stuck     Verdict = "stuck"     // something does not move and will not by itself
)

// Reason is one thing that needs the owner: what it is, how we know, what to
// do next.
type Reason struct {
	Code     string  `json:"code"`
	Verdict  Verdict `json:"verdict"`
	Title    string  `json:"title"`
	Evidence string  `json:"evidence"`
	Next     string  `json:"next_step"`
	Link     string  `json:"link" jsonschema:"page of the panel where it can be mended"`
}

// Health is the verdict with its reasons, the worst first.
type Health struct {
	Verdict Verdict   `json:"verdict"`
	Reasons []Reason  `json:"reasons"`
	At      time.Time `json:"at"`
}

// Health computes, each time it is asked, whether anything is stuck. Overview,
// JSON, MCP and /healthz/tasks show this one answer.
func (d *Domain) Health(ctx context.Context, _ None) (Health, error) {
	h := Health{Verdict: OK, Reasons: []Reason{}, At: d.Now()}
	looks := []Check{d.lookAtBacklog, d.lookAtRunning, d.lookAtQueues, d.lookAtProcesses, d.lookAtSearch, d.lookAtPeriodics, d.lookAtFailures}
	for _, look := range append(looks, d.Checks...) {
		found, err := look(ctx)
		if err != nil {
			return Health{}, err
		}
		h.Reasons = append(h.Reasons, found...)
	}
	h.Reasons = worstFirst(h.Reasons)
	if len(h.Reasons) > 0 {
		h.Verdict = h.Reasons[0].Verdict
	}
	return h, nil
}

// Healthy is Health in the form that /healthz/tasks needs.
func (d *Domain) Healthy(ctx context.Context) (verdict string, ok bool, err error) {
	h, err := d.Health(ctx, None{})
	return string(h.Verdict), h.Verdict != Stuck, err
}

func worstFirst(in []Reason) []Reason {
	out := make([]Reason, 0, len(in))
	for _, v := range []Verdict{Stuck, Attention} {
		for _, r := range in {
			if r.Verdict == v {
				out = append(out, r)
			}
		}
	}
	return out
}

func (d *Domain) lookAtBacklog(ctx context.Context) ([]Reason, error) {
	b, err := d.Stream.Backlog(ctx)
	if err != nil {
		return nil, fmt.Errorf("look at the backlog of events: %w", err)
	}
	var out []Reason
	if b.Waiting.N > events.AlertWaiting || b.Oldest > events.AlertAge {
		out = append(out, Reason{Code: "events_backlog", Verdict: Stuck, Title: "Events are waiting to be handed over",
			Evidence: fmt.Sprintf("%s waiting; the oldest for %s.", plural(b.Waiting, "event"), round(b.Oldest)),
			Next:     "See whether a process with the worker role is running, and what its log says of the relay.", Link: "/admin/events?state=waiting"})
	}
	if b.Poisoned.N > 0 {
		out = append(out, Reason{Code: "events_poisoned", Verdict: Attention, Title: "Events could not be handed over",
			Evidence: plural(b.Poisoned, "event") + " failed five times for a fault of its own.",
			Next:     "Open one, read its error, and requeue it once the cause is gone.", Link: "/admin/events?state=poisoned"})
	}
	return out, nil
}

// lookAtRunning looks at all of them: newest first, the one that is stuck comes last. There are no more than workers.
func (d *Domain) lookAtRunning(ctx context.Context) ([]Reason, error) {
	var out []Reason
	usual := map[string]time.Duration{}
	_, err := d.walk(ctx, Query{States: []State{jobs.Running}}, 0, func(t Task) error {
		found, err := d.lookAtRun(ctx, t, usual)
		out = append(out, found...)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("look at running tasks: %w", err)
	}
	return out, nil
}

func (d *Domain) lookAtRun(ctx context.Context, t Task, usual map[string]time.Duration) ([]Reason, error) {
	kind, known := d.KindOf(t.Kind)
	age := d.age(t.StartedAt)
	switch {
	case !known:
		return nil, nil
	case age <= kind.Policy.Timeout+overrun:
		return d.slow(ctx, t, age, usual)
	}
	r := Reason{Code: "task_stuck", Verdict: Stuck, Title: "A task runs past its time",
		Evidence: fmt.Sprintf("Task %d (%s) has run for %s; an attempt may take %s.", t.ID, t.Kind, round(age), round(kind.Policy.Timeout)),
		Next:     "If it stays like this, cancel it; then see the log of the process that runs it.", Link: taskLink(t.ID)}
	if t.CancelAsked {
		r.Code, r.Title, r.Next = "cancel_ignored", "A task does not stop", "Restart the process that runs it; the task is then cancelled."
	}
	return []Reason{r}, nil
}

// slow compares a running task with finished ones of its kind; usual keeps what was found for the next of the same kind.
func (d *Domain) slow(ctx context.Context, t Task, age time.Duration, usual map[string]time.Duration) ([]Reason, error) {
	if d.Usual == nil || age <= slowAfter {
		return nil, nil
	}
	took, asked := usual[t.Kind]
	if !asked {
		p99, of, err := d.Usual(ctx, t.Kind)
		if err != nil {
			return nil, fmt.Errorf("ask how long %s usually takes: %w", t.Kind, err)
		}
		if of >= slowOf {
			took = p99
		}
		usual[t.Kind] = took
	}
	if took == 0 || age <= 2*took {
		return nil, nil
	}
	return []Reason{{Code: "task_slow", Verdict: Attention, Title: "A task takes unusually long",
		Evidence: fmt.Sprintf("Task %d (%s) has run for %s; 99 of 100 of its kind took at most %s.", t.ID, t.Kind, round(age), round(max(took, time.Second))),
		Next:     "See what it is about. It is stopped by itself at its limit, and then tried again.", Link: taskLink(t.ID)}}, nil
}

func (d *Domain) lookAtQueues(ctx context.Context) ([]Reason, error) {
	queues, err := d.Jobs.Queues(ctx)
	if err != nil {
		return nil, fmt.Errorf("look at queues: %w", err)
	}
	var out []Reason
	for _, q := range queues {
		age := d.age(q.Oldest)
		switch {
		case q.Waiting.N > 0 && q.Limit == 0:
			out = append(out, Reason{Code: "queue_without_worker", Verdict: Stuck, Title: "No worker takes from " + q.Name,
				Evidence: fmt.Sprintf("%s waiting in %s, and no live process works on it.", plural(q.Waiting, "task"), q.Name),
				Next:     "Start a process with GATEHOUSE_ROLE=all or worker.", Link: "/admin/tasks?state=pending"})
		case q.Waiting.N > 0 && age > QueueAge:
			out = append(out, Reason{Code: "queue_slow", Verdict: Attention, Title: "Tasks wait long in " + q.Name,
				Evidence: fmt.Sprintf("%s waiting, the oldest for %s; %d of %d workers are busy.", plural(q.Waiting, "task"), round(age), q.Running, q.Limit),
				Next:     "See what its running tasks are doing.", Link: "/admin/tasks?state=running"})
		}
	}
	return out, nil
}

func (d *Domain) lookAtProcesses(ctx context.Context) ([]Reason, error) {
	processes, err := d.Jobs.Processes(ctx)
	if err != nil {
		return nil, fmt.Errorf("look at processes: %w", err)
	}
	var out []Reason
	for _, p := range processes {
		if skew := time.Duration(p.SkewMS) * time.Millisecond; p.Alive && skew.Abs() > SkewBound {
			out = append(out, Reason{Code: "clock_skew", Verdict: Attention, Title: "Clocks differ",
				Evidence: fmt.Sprintf("Process %s is %.1f s off the database's clock.", p.ID, skew.Seconds()),
				Next:     "Set both machines' clocks by NTP; until then tasks start early or late by that much.", Link: "/admin/"})
		}
		// Its tasks are taken over within seconds, so the news is soon old.
		if !p.Alive && p.StoppedAt == nil && d.age(&p.BeatAt) < DeathNews {
			out = append(out, Reason{Code: "process_dead", Verdict: Attention, Title: "A process died",
				Evidence: fmt.Sprintf("Process %s (%s) last gave a sign %s ago and did not say goodbye. Its tasks were taken over.", p.ID, p.Role, round(d.age(&p.BeatAt))),
				Next:     "If you did not stop it, read the end of its log. This notice goes away by itself.", Link: "/admin/"})
		}
	}
	return out, nil
}

func (d *Domain) lookAtSearch(ctx context.Context) ([]Reason, error) {
	if d.Search == nil {
		return nil, nil
	}
	probe, stop := context.WithTimeout(ctx, probeTime)
	defer stop()
	err := d.Search.Check(probe)
	if err == nil {
		return nil, nil
	}
	evidence := d.Search.Name() + " does not answer as it should. Visitors cannot search; writes are not held up."
	if errors.Is(err, context.DeadlineExceeded) {
		evidence = fmt.Sprintf("%s did not answer within %s. Visitors cannot search; writes are not held up.", d.Search.Name(), probeTime)
	}
	return []Reason{{Code: "search_unreachable", Verdict: Attention, Title: "Search cannot be reached", Evidence: evidence,
		Next: "On the server, run gatehouse doctor; it says what is wrong. Indexing catches up by itself.", Link: "/admin/tasks?state=retryable"}}, nil
}

func (d *Domain) lookAtPeriodics(ctx context.Context) ([]Reason, error) {
	periodics, err := d.Jobs.Periodic(ctx)
	if err != nil {
		return nil, fmt.Errorf("look at periodics: %w", err)
	}
	var late []string
	for _, p := range periodics {
		if p.Overdue && !p.Paused {
			late = append(late, p.Name)
		}
	}
	if len(late) == 0 {
		return nil, nil
	}
	return []Reason{{Code: "periodic_overdue", Verdict: Attention, Title: "A periodic is overdue",
		Evidence: strings.Join(late, ", ") + " should have run by now.",
		Next:     "See its last result; run it by hand.", Link: "/admin/periodic"}}, nil
}

func (d *Domain) lookAtFailures(ctx context.Context) ([]Reason, error) {
	o, err := d.Overview(ctx, OverviewIn{})
	if err != nil {
		return nil, fmt.Errorf("look at failed tasks: %w", err)
	}
	var total Count
	var parts []string
	for _, k := range o.Kinds {
		c := k.States["discarded"]
		if k.Kind == jobs.PeriodicKind && c.N > 0 {
			if c, err = d.failingPeriodics(ctx); err != nil {
				return nil, err
			}
		}
		if c.N == 0 {
			continue
		}
		total.N += c.N
		total.AtLeast = total.AtLeast || c.AtLeast
		parts = append(parts, fmt.Sprintf("%s %s", number(c), k.Kind))
	}
	if total.N == 0 {
		return nil, nil
	}
	return []Reason{{Code: "tasks_discarded", Verdict: Attention, Title: "Tasks have failed for good",
		Evidence: fmt.Sprintf("%s: %s.", plural(total, "task"), strings.Join(parts, ", ")),
		Next:     "Read the error, mend its cause, then retry. They are kept for seven days.", Link: "/admin/tasks?state=discarded"}}, nil
}

// failingPeriodics counts those whose latest turn failed. A turn that failed and was followed by a good one, say after an
// outage, needs nobody for the seven days that it is kept.
func (d *Domain) failingPeriodics(ctx context.Context) (c Count, err error) {
	periodics, err := d.Jobs.Periodic(ctx)
	if err != nil {
		return c, fmt.Errorf("look at failed periodics: %w", err)
	}
	for _, p := range periodics {
		if p.Failing() {
			c.N++
		}
	}
	return c, nil
}

func (d *Domain) age(t *time.Time) time.Duration {
	if t == nil {
		return 0
	}
	return max(d.Now().Sub(*t), 0)
}

func round(d time.Duration) string {
	switch {
	case d < time.Minute:
		return strconv.Itoa(int(d.Round(time.Second)/time.Second)) + " s"
	case d < time.Hour:
		return strconv.Itoa(int(d/time.Minute)) + " min"
	case d < 48*time.Hour:
		return strconv.Itoa(int(d/time.Hour)) + " h"
	}
	return strconv.Itoa(int(d/(24*time.Hour))) + " days"
}

func number(c Count) string {
	if c.AtLeast {
		return strconv.Itoa(c.N) + " or more"
	}
	return strconv.Itoa(c.N)
}

func plural(c Count, noun string) string {
	if c.N == 1 && !c.AtLeast {
		return "1 " + noun
	}
	return number(c) + " " + noun + "s"
}

func taskLink(id ID) string { return "/admin/tasks/" + strconv.FormatInt(int64(id), 10) }
