package jobstest

import (
	"context"
	"encoding/json"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gatehouse-hq/gatehouse/internal/infra/jobs"
)

func cycleCases() []Case {
	return []Case{
		{"a retry by hand starts a new cycle: full attempts, backoff from the start", newCycle},
		{"a retry runs at once, not at the next poll of the schedule", retryAtOnce},
		{"retry and cancel with a stale state or attempt change nothing", staleExpectations},
		{"a running job cannot be retried", retryRunning},
		{"a kind with another owner is not retried here", retriedElsewhere},
		{"a retry against an active twin answers so", retryAgainstTwin},
		{"an id that never was is not found", neverWas},
	}
}

func newCycle(t *testing.T, w World) {
	var n atomic.Int32
	asked := make(chan int, 16)
	k := kind("demo", func(ctx context.Context, _ json.RawMessage) error {
		r, _ := jobs.Current(ctx)
		if i := n.Add(1); int(i) != r.Total {
			t.Errorf("run %d is told it is number %d of all", i, r.Total)
		}
		return errFirst
	})
	k.Policy.Backoff = func(attempt int) time.Duration {
		asked <- attempt
		return time.Millisecond
	}
	rt := w.started(t, Setup{Kinds: []jobs.Kind{k}})
	id := enqueue(t, rt, "demo", nil, jobs.EnqueueOpts{})
	equal(t, "total", ends(t, rt, id, jobs.Discarded).Total, 3)
	must(t, rt.Retry(ctxOf(t), id, jobs.Expected{State: jobs.Discarded, Attempt: 3}))
	j := ends(t, rt, id, jobs.Discarded)
	equal(t, "runs", n.Load(), 6)
	equal(t, "attempt", j.Attempt, 3)
	equal(t, "total", j.Total, 6)
	equal(t, "cycle", j.Cycle, 2)
	equal(t, "number of the last attempt", j.Attempts[5].Number, 6)
	equal(t, "cycle of the fourth attempt", j.Attempts[3].Cycle, 2)
	close(asked)
	var seen []int
	for a := range asked {
		seen = append(seen, a)
	}
	equalAll(t, "backoffs asked for", seen, []int{1, 2, 1, 2})
}

func retryAtOnce(t *testing.T, w World) {
	k := kind("demo", failing(1, nothing))
	k.Policy.Backoff = func(int) time.Duration { return time.Hour }
	rt := w.started(t, Setup{Kinds: []jobs.Kind{k}})
	id := enqueue(t, rt, "demo", nil, jobs.EnqueueOpts{})
	j := reaches(t, rt, id, jobs.Retryable)
	must(t, rt.Retry(ctxOf(t), id, jobs.Expected{State: jobs.Retryable, Attempt: j.Attempt}))
	inTurn(t, rt, id)
	later := enqueue(t, rt, "demo", nil, jobs.EnqueueOpts{RunAt: time.Now().Add(time.Hour)})
	must(t, rt.Retry(ctxOf(t), later, jobs.Expected{State: jobs.Pending}))
	equal(t, "cycle of a job brought forward", ends(t, rt, later, jobs.Completed).Cycle, 1)
}

func staleExpectations(t *testing.T, w World) {
	k := kind("demo", failing(9, nothing))
	k.Policy.Backoff = func(int) time.Duration { return time.Hour }
	rt := w.started(t, Setup{Kinds: []jobs.Kind{k}})
	id := enqueue(t, rt, "demo", nil, jobs.EnqueueOpts{})
	before := reaches(t, rt, id, jobs.Retryable)
	for _, want := range []jobs.Expected{{State: jobs.Discarded}, {State: jobs.Pending}, {}, {State: jobs.Retryable, Attempt: 2}} {
		if err := rt.Retry(ctxOf(t), id, want); !errors.Is(err, jobs.ErrConflict) {
			t.Errorf("retry expecting %+v answers %v", want, err)
		}
		if err := rt.Cancel(ctxOf(t), id, want); !errors.Is(err, jobs.ErrConflict) {
			t.Errorf("cancel expecting %+v answers %v", want, err)
		}
	}
	after := get(t, rt, id)
	if after.State != before.State || after.Attempt != before.Attempt || !after.ScheduledAt.Equal(before.ScheduledAt) || after.Cycle != 1 {
		t.Errorf("a conflict changed the job: %+v → %+v", before, after)
	}
	must(t, rt.Cancel(ctxOf(t), id, jobs.Expected{State: jobs.Retryable, Attempt: 1}))
	if err := rt.Cancel(ctxOf(t), id, jobs.Expected{State: jobs.Cancelled}); !errors.Is(err, jobs.ErrConflict) {
		t.Errorf("cancelling what has ended answers %v", err)
	}
}

func retryRunning(t *testing.T, w World) {
	running, let := make(chan bool, 1), make(chan bool)
	rt := w.started(t, Setup{Kinds: []jobs.Kind{kind("demo", func(context.Context, json.RawMessage) error {
		running <- true
		<-let
		return nil
	})}})
	id := enqueue(t, rt, "demo", nil, jobs.EnqueueOpts{})
	receive(t, "it runs", running)
	if err := rt.Retry(ctxOf(t), id, jobs.Expected{State: jobs.Running, Attempt: 1}); !errors.Is(err, jobs.ErrConflict) {
		t.Errorf("answers %v", err)
	}
	j := get(t, rt, id)
	equalAll(t, "outcomes", outcomes(j), []string{"running"})
	close(let)
	equal(t, "attempt", ends(t, rt, id, jobs.Completed).Attempt, 1)
}

func retriedElsewhere(t *testing.T, w World) {
	k := kind("demo", func(context.Context, json.RawMessage) error { return jobs.Discard(errFirst) })
	k.RetriedBy = "notices"
	rt := w.started(t, Setup{Kinds: []jobs.Kind{k}})
	id := enqueue(t, rt, "demo", nil, jobs.EnqueueOpts{})
	ends(t, rt, id, jobs.Discarded)
	if err := rt.Retry(ctxOf(t), id, jobs.Expected{State: jobs.Discarded}); !errors.Is(err, jobs.ErrRetriedElsewhere) {
		t.Errorf("answers %v", err)
	}
	equal(t, "state", get(t, rt, id).State, jobs.Discarded)
}

func retryAgainstTwin(t *testing.T, w World) {
	rt := w.started(t, Setup{Kinds: []jobs.Kind{kind("demo", func(context.Context, json.RawMessage) error { return jobs.Discard(errFirst) })}})
	u := jobs.EnqueueOpts{UniqueByArgs: true}
	id := enqueue(t, rt, "demo", nil, u)
	ends(t, rt, id, jobs.Discarded)
	u.RunAt = time.Now().Add(time.Hour)
	twin := enqueue(t, rt, "demo", nil, u)
	if err := rt.Retry(ctxOf(t), id, jobs.Expected{State: jobs.Discarded}); !errors.Is(err, jobs.ErrTwin) {
		t.Errorf("answers %v", err)
	}
	equal(t, "state", get(t, rt, id).State, jobs.Discarded)
	must(t, rt.Cancel(ctxOf(t), twin, jobs.Expected{State: jobs.Pending}))
	must(t, rt.Retry(ctxOf(t), id, jobs.Expected{State: jobs.Discarded}))
}

func neverWas(t *testing.T, w World) {
	rt := w.started(t, Setup{Kinds: []jobs.Kind{kind("demo", nothing)}})
	for _, id := range []jobs.ID{-1, 0, 1, 1 << 60} {
		if _, err := rt.Get(ctxOf(t), id); !errors.Is(err, jobs.ErrNotFound) {
			t.Errorf("get %d answers %v", id, err)
		}
		if err := rt.Retry(ctxOf(t), id, jobs.Expected{State: jobs.Discarded}); !errors.Is(err, jobs.ErrNotFound) {
			t.Errorf("retry %d answers %v", id, err)
		}
		if err := rt.Cancel(ctxOf(t), id, jobs.Expected{State: jobs.Pending}); !errors.Is(err, jobs.ErrNotFound) {
			t.Errorf("cancel %d answers %v", id, err)
		}
	}
	if _, ok := rt.Wait(ctxOf(t), 99, 50*time.Millisecond); ok {
		t.Error("a job that never was has ended")
	}
}
