package jobstest

import (
	"context"
	"encoding/json"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gatehouse-hq/gatehouse/internal/infra/jobs"
)

func snoozeCases() []Case {
	return []Case{
		{"a snooze spends no attempt and is counted", snoozes},
		{"a job that snoozes for ever ends at its kind's age", snoozesTooLong},
	}
}

func snoozes(t *testing.T, w World) {
	var n atomic.Int32
	times := make(chan time.Time, 8)
	rt := w.started(t, Setup{Kinds: []jobs.Kind{kind("demo", func(ctx context.Context, _ json.RawMessage) error {
		times <- time.Now()
		if r, _ := jobs.Current(ctx); r.Attempt != 1 {
			t.Errorf("a snoozed try counts: attempt %d", r.Attempt)
		}
		if n.Add(1) <= 5 { // more often than there are attempts
			return jobs.Snooze(200 * time.Millisecond)
		}
		return nil
	})}})
	j := ends(t, rt, enqueue(t, rt, "demo", nil, jobs.EnqueueOpts{}), jobs.Completed)
	equal(t, "snoozes", j.Snoozes, 5)
	equal(t, "attempt", j.Attempt, 1)
	equalAll(t, "outcomes", outcomes(j), []string{"snoozed", "completed"}) // a row of snoozes is one line
	last := receive(t, "first try", times)
	for range 5 {
		next := receive(t, "next try", times)
		if wait := next.Sub(last); wait < 190*time.Millisecond {
			t.Errorf("came back after %s", wait)
		}
		last = next
	}
}

func snoozesTooLong(t *testing.T, w World) {
	k := kind("demo", func(context.Context, json.RawMessage) error { return jobs.Snooze(50 * time.Millisecond) })
	k.Policy.MaxAge = time.Second
	rt := w.started(t, Setup{Kinds: []jobs.Kind{k}})
	id := enqueue(t, rt, "demo", nil, jobs.EnqueueOpts{})
	j := ends(t, rt, id, jobs.Discarded)
	if !strings.Contains(j.LastError, "1s") || j.Snoozes == 0 {
		t.Errorf("snoozed %d times, error %q", j.Snoozes, j.LastError)
	}
	// By hand it gets a new age as well.
	before := time.Now()
	must(t, rt.Retry(ctxOf(t), id, jobs.Expected{State: jobs.Discarded}))
	j = ends(t, rt, id, jobs.Discarded)
	if age := time.Since(before); age < 900*time.Millisecond {
		t.Errorf("the new cycle ended after %s", age)
	}
	equal(t, "cycle", j.Cycle, 2)
}
