package jobstest

import (
	"context"
	"encoding/json"
	"sync"
	"testing"
	"time"

	"github.com/gatehouse-hq/gatehouse/internal/infra/jobs"
)

func processCases() []Case {
	return []Case{
		{"two processes run each job once", eachOnce},
		{"a process that does not work enqueues, waits and inspects", idleProcess},
		{"processes and the queues' limits add up", processesAddUp},
		{"a cancel reaches the other process", cancelAcross},
	}
}

func eachOnce(t *testing.T, w World) {
	var mu sync.Mutex
	runs := map[jobs.ID]int{}
	k := kind("demo", func(ctx context.Context, _ json.RawMessage) error {
		r, _ := jobs.Current(ctx)
		mu.Lock()
		defer mu.Unlock()
		runs[r.ID]++
		return nil
	})
	a, b := w.started(t, Setup{Kinds: []jobs.Kind{k}}), w.started(t, Setup{Kinds: []jobs.Kind{k}})
	var all []jobs.ID
	for i := range 200 {
		all = append(all, enqueue(t, []jobs.Runtime{a, b}[i%2], "demo", nil, jobs.EnqueueOpts{}))
	}
	for _, id := range all {
		ends(t, a, id, jobs.Completed)
	}
	mu.Lock()
	defer mu.Unlock()
	for _, id := range all {
		if runs[id] != 1 {
			t.Errorf("job %d ran %d times", id, runs[id])
		}
	}
}

func idleProcess(t *testing.T, w World) {
	setup := Setup{Kinds: []jobs.Kind{kind("demo", nothing)}}
	working := w.started(t, setup)
	setup.Idle = true
	idle := w.started(t, setup)
	ends(t, idle, enqueue(t, idle, "demo", nil, jobs.EnqueueOpts{}), jobs.Completed)
	must(t, working.Stop(ctxOf(t)))
	id := enqueue(t, idle, "demo", nil, jobs.EnqueueOpts{})
	if s, ok := idle.Wait(ctxOf(t), id, time.Second); ok {
		t.Errorf("with no worker left the job ended %s", s)
	}
}

func processesAddUp(t *testing.T, w World) {
	q := []jobs.Queue{{Name: "index", Workers: 3, Cooldown: 5 * time.Millisecond}, {Name: "spare", Workers: 1, Cooldown: 5 * time.Millisecond}}
	running, let := make(chan bool, 8), make(chan bool)
	k := kind("demo", func(context.Context, json.RawMessage) error {
		running <- true
		<-let
		return nil
	})
	a := w.started(t, Setup{Kinds: []jobs.Kind{k}, Queues: q})
	b := w.started(t, Setup{Kinds: []jobs.Kind{k}, Queues: q})
	idle := w.started(t, Setup{Kinds: []jobs.Kind{k}, Queues: q, Idle: true})
	for range 8 {
		enqueue(t, idle, "demo", nil, jobs.EnqueueOpts{})
	}
	for range 6 {
		receive(t, "six run", running)
	}
	s := value(idle.Queues(ctxOf(t)))(t)
	if s[0].Name != "index" || s[0].Limit != 6 || s[0].Running != 6 || s[0].Waiting.N != 2 || s[0].Oldest == nil || s[1].Limit != 2 || s[1].Running != 0 {
		t.Errorf("queues: %+v", s)
	}
	alive := func() (n int) {
		for _, p := range value(idle.Processes(ctxOf(t)))(t) {
			if p.Alive {
				n++
			}
			if p.ID == "" || p.Role == "" || p.StartedAt.IsZero() || p.SkewMS > 5000 || p.SkewMS < -5000 {
				t.Errorf("process %+v", p)
			}
		}
		return n
	}
	equal(t, "live processes", alive(), 3)
	close(let)
	must(t, b.Stop(ctxOf(t)))
	equal(t, "live processes", alive(), 2)
	equal(t, "limit", value(a.Queues(ctxOf(t)))(t)[0].Limit, 3)
}

func cancelAcross(t *testing.T, w World) {
	running := make(chan bool, 1)
	k := kind("demo", func(ctx context.Context, _ json.RawMessage) error {
		running <- true
		<-ctx.Done()
		return ctx.Err()
	})
	w.started(t, Setup{Kinds: []jobs.Kind{k}})
	idle := w.started(t, Setup{Kinds: []jobs.Kind{k}, Idle: true})
	id := enqueue(t, idle, "demo", nil, jobs.EnqueueOpts{})
	receive(t, "it runs", running)
	must(t, idle.Cancel(ctxOf(t), id, jobs.Expected{State: jobs.Running}))
	ends(t, idle, id, jobs.Cancelled)
}
