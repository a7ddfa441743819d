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
	ran := make(chan time.Time, 1)
	rt := w.started(t, Setup{Kinds: []jobs.Kind{kind("demo", func(context.Context, json.RawMessage) error {
		ran <- time.Now()
		return nil
	})}})
	for _, in := range []time.Duration{-time.Hour, 300 * time.Millisecond, 1200 * time.Millisecond} {
		due := time.Now().Add(in)
		from := time.Now()
		enqueue(t, rt, "demo", nil, jobs.EnqueueOpts{RunAt: due})
		at := receive(t, "it runs", ran)
		if early := due.Sub(at); early > 50*time.Millisecond {
			t.Errorf("due in %s: %s too early", in, early)
		}
		// Left to the queue library's own scheduler it would be up to 5 s.
		if due.Before(from) {
			due = from
		}
		if late := at.Sub(due); late > 2*time.Second {
			t.Errorf("due in %s: %s too late", in, late)
		}
	}
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
	before := time.Now()
	receive(t, "all have run", done)
	if took := time.Since(before); took > 5*time.Second {
		t.Errorf("the last ones ran %s after they were enqueued", took)
	}
}

func waitLatency(t *testing.T, w World) {
	rt := w.started(t, Setup{Kinds: []jobs.Kind{kind("demo", nothing)}})
	ends(t, rt, enqueue(t, rt, "demo", nil, jobs.EnqueueOpts{}), jobs.Completed)
	var took []time.Duration
	for range 21 {
		before := time.Now()
		ends(t, rt, enqueue(t, rt, "demo", nil, jobs.EnqueueOpts{}), jobs.Completed)
		took = append(took, time.Since(before))
	}
	slices.Sort(took)
	t.Logf("enqueue to end: median %s, worst %s", took[10], took[20])
	if took[10] > 150*time.Millisecond { // batched and polled it would be 250 ms to 1 s
		t.Errorf("the median from enqueue to end is %s", took[10])
	}
}

func waitGivesUp(t *testing.T, w World) {
	rt := w.started(t, Setup{Kinds: []jobs.Kind{kind("demo", nothing)}})
	id := enqueue(t, rt, "demo", nil, jobs.EnqueueOpts{RunAt: time.Now().Add(time.Hour)})
	before := time.Now()
	s, ok := rt.Wait(ctxOf(t), id, 200*time.Millisecond)
	if ok || s != jobs.Pending || time.Since(before) > 2*time.Second {
		t.Errorf("answers %q, %v after %s", s, ok, time.Since(before))
	}
	ctx, cancel := context.WithCancel(ctxOf(t))
	cancel()
	if _, ok := rt.Wait(ctx, id, time.Hour); ok {
		t.Error("a cancelled wait says that the job has ended")
	}
}

func waitUnawaited(t *testing.T, w World) {
	k := kind("demo", nothing)
	k.Awaited = false
	rt := w.started(t, Setup{Kinds: []jobs.Kind{k}})
	before := time.Now()
	j := ends(t, rt, enqueue(t, rt, "demo", nil, jobs.EnqueueOpts{}), jobs.Completed)
	if took := time.Since(before); took > 5*time.Second {
		t.Errorf("seen after %s", took)
	}
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
