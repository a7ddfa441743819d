package jobstest

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/gatehouse-hq/gatehouse/internal/infra/jobs"
	"github.com/gatehouse-hq/gatehouse/internal/infra/pg"
)

func cancelCases() []Case {
	return []Case{
		{"a cancelled waiting job never runs", cancelWaiting},
		{"a cancelled running job is asked to stop and ends cancelled", cancelRunning},
		{"a cancelled running job that still succeeds is completed", cancelTooLate},
		{"a cancel during a run whose failure would be retried ends the job", cancelFailing},
		{"a cancel during an effect that may have happened stays flagged uncertain", cancelHeld},
		{"the kind is told of every job that a person cancelled", cancelTells},
	}
}

func matchingCases() []Case {
	return []Case{
		{"matching jobs are cancelled in the caller's transaction, running ones are not", cancelsMatching},
		{"matching jobs are moved in the caller's transaction", movesMatching},
		{"some of the matching jobs are moved, none twice", movesSome},
		{"what is due soon and never failed is pulled forward", pullsForward},
	}
}

func cancelWaiting(t *testing.T, w World) {
	ran, let := make(chan string, 4), make(chan bool)
	rt := w.started(t, Setup{Queues: []jobs.Queue{{Name: "index", Workers: 1, Cooldown: 5 * time.Millisecond}},
		Kinds: []jobs.Kind{kind("demo", func(_ context.Context, a json.RawMessage) error {
			ran <- string(a)
			<-let
			return nil
		})}})
	// The only worker is taken, so that the job waits for as long as the case needs, due or not.
	enqueue(t, rt, "demo", map[string]int{"n": 0}, jobs.EnqueueOpts{})
	receive(t, "the worker is taken", ran)
	id := enqueue(t, rt, "demo", map[string]int{"n": 1}, jobs.EnqueueOpts{RunAt: time.Now().Add(600 * time.Millisecond)})
	must(t, rt.Cancel(ctxOf(t), id, jobs.Expected{State: jobs.Pending}))
	j := ends(t, rt, id, jobs.Cancelled)
	if j.FinishedAt == nil {
		t.Error("the end has no time")
	}
	// A sentinel that is due later proves that the queue ran past it.
	close(let)
	ends(t, rt, enqueue(t, rt, "demo", map[string]int{"n": 2}, jobs.EnqueueOpts{RunAt: time.Now().Add(900 * time.Millisecond)}), jobs.Completed)
	if got := receive(t, "the sentinel runs", ran); got != `{"n": 2}` {
		t.Errorf("ran %s", got)
	}
}

func cancelRunning(t *testing.T, w World) {
	running := make(chan bool, 1)
	rt := w.started(t, Setup{Kinds: []jobs.Kind{kind("demo", func(ctx context.Context, _ json.RawMessage) error {
		running <- true
		<-ctx.Done()
		return ctx.Err()
	})}})
	id := enqueue(t, rt, "demo", nil, jobs.EnqueueOpts{})
	receive(t, "it runs", running)
	must(t, rt.Cancel(ctxOf(t), id, jobs.Expected{State: jobs.Running, Attempt: 1}))
	j := ends(t, rt, id, jobs.Cancelled)
	equalAll(t, "outcomes", outcomes(j), []string{"cancelled"})
	must(t, rt.Retry(ctxOf(t), id, jobs.Expected{State: jobs.Cancelled}))
	receive(t, "the retried one runs, the old cancel forgotten", running)
	equal(t, "cancel asked", get(t, rt, id).CancelAsked, false)
}

func cancelTooLate(t *testing.T, w World) {
	running, let := make(chan bool, 1), make(chan bool)
	rt := w.started(t, Setup{Kinds: []jobs.Kind{kind("demo", func(context.Context, json.RawMessage) error {
		running <- true
		<-let
		return nil
	})}})
	id := enqueue(t, rt, "demo", nil, jobs.EnqueueOpts{})
	receive(t, "it runs", running)
	must(t, rt.Cancel(ctxOf(t), id, jobs.Expected{State: jobs.Running}))
	equal(t, "cancel asked", get(t, rt, id).CancelAsked, true)
	close(let)
	ends(t, rt, id, jobs.Completed)
}

func cancelFailing(t *testing.T, w World) {
	running, let := make(chan bool, 1), make(chan bool)
	rt := w.started(t, Setup{Kinds: []jobs.Kind{kind("demo", func(context.Context, json.RawMessage) error {
		running <- true
		<-let // deaf to its context
		return errFirst
	})}})
	id := enqueue(t, rt, "demo", nil, jobs.EnqueueOpts{})
	receive(t, "it runs", running)
	must(t, rt.Cancel(ctxOf(t), id, jobs.Expected{State: jobs.Running}))
	close(let)
	equal(t, "attempt", ends(t, rt, id, jobs.Cancelled).Attempt, 1)
}

func cancelsMatching(t *testing.T, w World) {
	running, let := make(chan bool, 1), make(chan bool)
	rt := w.started(t, Setup{Kinds: []jobs.Kind{kind("demo", func(context.Context, json.RawMessage) error {
		running <- true
		<-let
		return nil
	}), kind("other", nothing)}})
	later := jobs.EnqueueOpts{RunAt: time.Now().Add(time.Hour)}
	type args struct {
		Endpoint, Event string
	}
	busy := enqueue(t, rt, "demo", args{"a", "0"}, jobs.EnqueueOpts{})
	receive(t, "one runs", running)
	a1, a2 := enqueue(t, rt, "demo", args{"a", "1"}, later), enqueue(t, rt, "demo", args{"a", "2"}, later)
	b := enqueue(t, rt, "demo", args{"b", "1"}, later)
	other := enqueue(t, rt, "other", args{"a", "1"}, later)
	m := jobs.Match{Kind: "demo", Args: map[string]any{"Endpoint": "a"}}
	undo := errors.New("undo")
	err := pg.InTx(ctxOf(t), w.DB, func(tx pg.Tx) error {
		equal(t, "cancelled, then rolled back", value(rt.With(tx).CancelMatching(ctxOf(t), m))(t), 2)
		return undo
	})
	if !errors.Is(err, undo) {
		t.Fatal(err)
	}
	equal(t, "state after the roll-back", get(t, rt, a1).State, jobs.Pending)
	equal(t, "cancelled", value(rt.CancelMatching(ctxOf(t), m))(t), 2)
	equal(t, "cancelled again", value(rt.CancelMatching(ctxOf(t), m))(t), 0)
	for id, want := range map[jobs.ID]jobs.State{a1: jobs.Cancelled, a2: jobs.Cancelled, b: jobs.Pending, other: jobs.Pending, busy: jobs.Running} {
		equal(t, "state", get(t, rt, id).State, want)
	}
	close(let)
	ends(t, rt, busy, jobs.Completed)
}

func movesMatching(t *testing.T, w World) {
	k := kind("demo", failing(1, nothing))
	k.Policy.Backoff = func(int) time.Duration { return time.Hour }
	rt := w.started(t, Setup{Kinds: []jobs.Kind{k}})
	type args struct{ Endpoint string }
	m := jobs.Match{Kind: "demo", Args: map[string]any{"Endpoint": "a"}}
	failed := enqueue(t, rt, "demo", args{"a"}, jobs.EnqueueOpts{})
	reaches(t, rt, failed, jobs.Retryable)
	later := enqueue(t, rt, "demo", args{"a"}, jobs.EnqueueOpts{RunAt: time.Now().Add(time.Hour)})
	b := enqueue(t, rt, "demo", args{"b"}, jobs.EnqueueOpts{RunAt: time.Now().Add(time.Hour)})
	far := time.Now().Add(2 * time.Hour).Truncate(time.Second)
	equal(t, "moved", value(rt.RescheduleMatching(ctxOf(t), m, far))(t), 2)
	equal(t, "state of the failed one", get(t, rt, failed).State, jobs.Retryable)
	equal(t, "state of the waiting one", get(t, rt, later).State, jobs.Pending)
	if at := get(t, rt, later).ScheduledAt; !at.Equal(far) {
		t.Errorf("moved to %s, want %s", at, far)
	}
	must(t, pg.InTx(ctxOf(t), w.DB, func(tx pg.Tx) error {
		equal(t, "moved", value(rt.With(tx).RescheduleMatching(ctxOf(t), m, time.Now()))(t), 2)
		return nil
	}))
	inTurn(t, rt, failed, later)
	equal(t, "attempts of the failed one", get(t, rt, failed).Attempt, 2)
	equal(t, "state of the other endpoint's", get(t, rt, b).State, jobs.Pending)
}

func movesSome(t *testing.T, w World) {
	rt := w.started(t, Setup{Kinds: []jobs.Kind{kind("demo", nothing)}})
	for n := range 5 {
		enqueue(t, rt, "demo", map[string]int{"n": n}, jobs.EnqueueOpts{RunAt: time.Now().Add(time.Hour)})
	}
	soon := time.Now().Add(30 * time.Minute)
	m := jobs.Match{Kind: "demo", DueAfter: time.Now().Add(45 * time.Minute), Limit: 2}
	for _, want := range []int{2, 2, 1, 0} {
		equal(t, "moved", value(rt.RescheduleMatching(ctxOf(t), m, soon))(t), want)
	}
}

func cancelTells(t *testing.T, w World) {
	running := make(chan bool, 1)
	told := make(chan string, 4)
	k := kind("demo", func(ctx context.Context, _ json.RawMessage) error {
		running <- true
		<-ctx.Done()
		return ctx.Err()
	})
	k.Cancelled = func(_ context.Context, _ pg.Tx, a json.RawMessage) error {
		told <- string(a)
		return nil
	}
	rt := w.started(t, Setup{Kinds: []jobs.Kind{k}})
	waiting := enqueue(t, rt, "demo", map[string]int{"n": 1}, jobs.EnqueueOpts{RunAt: time.Now().Add(time.Hour)})
	must(t, rt.Cancel(ctxOf(t), waiting, jobs.Expected{State: jobs.Pending}))
	equal(t, "told of the waiting one", receive(t, "told", told), `{"n": 1}`)
	now := enqueue(t, rt, "demo", map[string]int{"n": 2}, jobs.EnqueueOpts{})
	receive(t, "it runs", running)
	must(t, rt.Cancel(ctxOf(t), now, jobs.Expected{State: jobs.Running}))
	equal(t, "told of the running one", receive(t, "told", told), `{"n": 2}`)
	ends(t, rt, now, jobs.Cancelled)
	equal(t, "told once each", len(told), 0)
}

func pullsForward(t *testing.T, w World) {
	k := kind("demo", failing(1, nothing))
	k.Policy.Backoff = func(int) time.Duration { return 10 * time.Second }
	rt := w.started(t, Setup{Kinds: []jobs.Kind{k, kind("quick", nothing)}})
	type args struct{ Endpoint string }
	in := func(kind, endpoint string, d time.Duration) jobs.ID {
		return enqueue(t, rt, kind, args{endpoint}, jobs.EnqueueOpts{RunAt: time.Now().Add(d)})
	}
	failed := enqueue(t, rt, "demo", args{"a"}, jobs.EnqueueOpts{})
	reaches(t, rt, failed, jobs.Retryable)
	third, second, first := in("quick", "a", 40*time.Second), in("quick", "a", 30*time.Second), in("quick", "a", 20*time.Second)
	far, other := in("quick", "a", time.Hour), in("quick", "b", 20*time.Second)
	m := jobs.Match{Kind: "quick", Args: map[string]any{"Endpoint": "a"}}
	equal(t, "moved", value(rt.PullForward(ctxOf(t), m, time.Minute, 2))(t), 2)
	ends(t, rt, first, jobs.Completed)
	ends(t, rt, second, jobs.Completed)
	equal(t, "moved", value(rt.PullForward(ctxOf(t), m, time.Minute, 2))(t), 1)
	ends(t, rt, third, jobs.Completed)
	equal(t, "moved of those that failed", value(rt.PullForward(ctxOf(t), jobs.Match{Kind: "demo"}, time.Minute, 2))(t), 0)
	for id, want := range map[jobs.ID]jobs.State{failed: jobs.Retryable, far: jobs.Pending, other: jobs.Pending} {
		equal(t, "state", get(t, rt, id).State, want)
	}
}

func cancelHeld(t *testing.T, w World) {
	running := make(chan bool, 1)
	rt := w.started(t, Setup{Kinds: []jobs.Kind{kind("demo", func(ctx context.Context, _ json.RawMessage) error {
		running <- true
		<-ctx.Done()
		return jobs.Hold(errors.New("cut off after DATA"))
	})}})
	id := enqueue(t, rt, "demo", nil, jobs.EnqueueOpts{})
	receive(t, "it runs", running)
	must(t, rt.Cancel(ctxOf(t), id, jobs.Expected{State: jobs.Running}))
	equal(t, "uncertain", ends(t, rt, id, jobs.Cancelled).Uncertain, true)
}
