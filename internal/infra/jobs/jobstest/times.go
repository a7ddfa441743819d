package jobstest

import (
	"context"
	"encoding/json"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gatehouse-hq/gatehouse/internal/infra/jobs"
)

func timeCases() []Case {
	return []Case{
		{"a time a second away is met", soonOnTime},
		{"a later time is waited for and shown", laterWaits},
		{"no wake-up is lost in a burst of small transactions", burst},
	}
}

func waitCases() []Case {
	return []Case{
		{"wait is woken by the end, not by a poll", waitLatency},
		{"wait says no after its time and leaves nothing behind", waitGivesUp},
		{"kinds nobody awaits are seen as well, a little later", waitUnawaited},
	}
}

func stopCases() []Case {
	return []Case{
		{"stop waits for running jobs and claims nothing new (F09)", stopWaits},
		{"a job interrupted by the stop costs no attempt and runs elsewhere", stopInterrupts},
	}
}

func soonOnTime(t *testing.T, w World) {
	ran := make(chan time.Time, 16)
	rt := w.started(t, Setup{Kinds: []jobs.Kind{kind("demo", func(context.Context, json.RawMessage) error {
		ran <- time.Now()
		return nil
	})}})
	for _, in := range []time.Duration{-time.Hour, 300 * time.Millisecond, 1200 * time.Millisecond} {
		due := time.Now().Add(in)
		id := enqueue(t, rt, "demo", nil, jobs.EnqueueOpts{RunAt: due})
		if early := due.Sub(receive(t, "it runs", ran)); early > 50*time.Millisecond {
			t.Errorf("due in %s: %s too early", in, early)
		}
		ends(t, rt, id, jobs.Completed)
	}
	// Left to the queue library's own scheduler they would be up to 5 s late.
	var ids []jobs.ID
	for n := range 4 {
		ids = append(ids, enqueue(t, rt, "demo", map[string]int{"n": n}, jobs.EnqueueOpts{RunAt: time.Now().Add(time.Duration(n) * 200 * time.Millisecond)}))
	}
	all := time.Now().Add(time.Second)
	eventually(t, "all are due", func() bool { return time.Now().After(all) })
	inTurn(t, rt, ids...)
}

func laterWaits(t *testing.T, w World) {
	rt := w.started(t, Setup{Kinds: []jobs.Kind{kind("demo", nothing)}})
	due := time.Now().Add(time.Hour).Truncate(time.Second)
	id := enqueue(t, rt, "demo", nil, jobs.EnqueueOpts{RunAt: due})
	ends(t, rt, enqueue(t, rt, "demo", nil, jobs.EnqueueOpts{}), jobs.Completed)
	j := get(t, rt, id)
	equal(t, "state", j.State, jobs.Pending)
	if !j.ScheduledAt.Equal(due) || j.StartedAt != nil || len(j.Attempts) != 0 {
		t.Errorf("waiting job: %+v", j)
	}
}

func burst(t *testing.T, w World) {
	var n atomic.Int32
	done := make(chan bool)
	const many = 300
	rt := w.started(t, Setup{Kinds: []jobs.Kind{kind("demo", func(context.Context, json.RawMessage) error {
		if n.Add(1) == many {
			close(done)
		}
		return nil
	})}})
	for range many {
		enqueue(t, rt, "demo", nil, jobs.EnqueueOpts{})
	}
	receive(t, "all have run", done)
}

// Batched and polled, as the end of a kind is that nobody awaits, it is seen 250
// ms to 1 s later. Both are asked in turn, so that a machine under load is slow
// with both.
func waitLatency(t *testing.T, w World) {
	unawaited := kind("unawaited", nothing)
	unawaited.Awaited = false
	rt := w.started(t, Setup{Kinds: []jobs.Kind{kind("demo", nothing), unawaited}})
	took := map[string][]time.Duration{}
	for range 7 {
		for _, kind := range []string{"demo", "unawaited"} {
			before := time.Now()
			ends(t, rt, enqueue(t, rt, kind, nil, jobs.EnqueueOpts{}), jobs.Completed)
			took[kind] = append(took[kind], time.Since(before))
		}
	}
	slices.Sort(took["demo"])
	slices.Sort(took["unawaited"])
	woken, polled := took["demo"][3], took["unawaited"][3]
	t.Logf("enqueue to end: median %s, unawaited %s", woken, polled)
	if woken >= polled {
		t.Errorf("the median from enqueue to end is %s, no better than the %s of a kind that nobody awaits", woken, polled)
	}
}

func waitGivesUp(t *testing.T, w World) {
	rt := w.started(t, Setup{Kinds: []jobs.Kind{kind("demo", nothing)}})
	id := enqueue(t, rt, "demo", nil, jobs.EnqueueOpts{RunAt: time.Now().Add(time.Hour)})
	ctx, cancel := context.WithCancel(ctxOf(t))
	s, ok := rt.Wait(ctx, id, 200*time.Millisecond)
	if ok || s != jobs.Pending || ctx.Err() != nil {
		t.Errorf("answers %q, %v; its context: %v", s, ok, ctx.Err())
	}
	cancel()
	if _, ok := rt.Wait(ctx, id, time.Hour); ok {
		t.Error("a cancelled wait says that the job has ended")
	}
}

func waitUnawaited(t *testing.T, w World) {
	k := kind("demo", nothing)
	k.Awaited = false
	rt := w.started(t, Setup{Kinds: []jobs.Kind{k}})
	j := ends(t, rt, enqueue(t, rt, "demo", nil, jobs.EnqueueOpts{}), jobs.Completed)
	equalAll(t, "outcomes", outcomes(j), []string{"completed"})
}

func stopWaits(t *testing.T, w World) {
	running, let := make(chan bool, 8), make(chan bool)
	k := kind("demo", func(context.Context, json.RawMessage) error {
		running <- true
		<-let
		return nil
	})
	one := []jobs.Queue{{Name: "index", Workers: 1, Cooldown: 5 * time.Millisecond}}
	rt := w.started(t, Setup{Kinds: []jobs.Kind{k}, Queues: one, Grace: patience})
	watch := w.Open(t, Setup{Kinds: []jobs.Kind{k}, Queues: one, Idle: true})
	first := enqueue(t, rt, "demo", nil, jobs.EnqueueOpts{})
	second := enqueue(t, rt, "demo", nil, jobs.EnqueueOpts{})
	receive(t, "the first runs", running)
	stopped := make(chan error, 1)
	go func() { stopped <- rt.Stop(ctxOf(t)) }()
	select {
	case err := <-stopped:
		t.Fatalf("stop did not wait for the running job: %v", err)
	case <-time.After(300 * time.Millisecond):
	}
	close(let)
	must(t, receive(t, "stop ends", stopped))
	equal(t, "state of the running job", get(t, watch, first).State, jobs.Completed)
	equal(t, "state of the waiting job", get(t, watch, second).State, jobs.Pending)
}

func stopInterrupts(t *testing.T, w World) {
	running := make(chan bool, 8)
	var stopping atomic.Bool
	k := kind("demo", func(ctx context.Context, _ json.RawMessage) error {
		running <- true
		if stopping.Load() {
			return nil
		}
		<-ctx.Done()
		return errFirst // what its driver made of the cancelled context
	})
	k.Policy.Attempts = 1
	rt := w.started(t, Setup{Kinds: []jobs.Kind{k}, Grace: 200 * time.Millisecond})
	id := enqueue(t, rt, "demo", nil, jobs.EnqueueOpts{})
	receive(t, "it runs", running)
	stopping.Store(true)
	must(t, rt.Stop(ctxOf(t)))
	next := w.started(t, Setup{Kinds: []jobs.Kind{k}})
	j := ends(t, next, id, jobs.Completed)
	equal(t, "attempt", j.Attempt, 1)
	equalAll(t, "outcomes", outcomes(j), []string{"interrupted", "completed"})
}
