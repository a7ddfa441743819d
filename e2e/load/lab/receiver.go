package lab

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/gatehouse-hq/gatehouse/mock-stack/sink"
)

// Receiver is the other side of every delivery. It costs little: on shared
// cores its price is part of what is measured.
type Receiver struct {
	*sink.Sink
	lean *sink.Lean

	mu    sync.Mutex
	times map[string]time.Time
}

// Listen starts a receiver on addr of this machine.
func Listen(addr string) (*Receiver, error) {
	r := &Receiver{Sink: sink.New()}
	var err error
	r.lean, err = r.ListenLean(addr)
	return r, err
}

// Hook is the name of the n-th hook.
func Hook(n int) string { return fmt.Sprintf("h%d", n) }

// URL is where a hook lives.
func (r *Receiver) URL(hook string) string { return r.lean.URL() + hook }

// Close stops listening.
func (r *Receiver) Close() { r.lean.Close() }

// Plan makes a hook count, remember ids, and take that long to answer.
func (r *Receiver) Plan(hook string, delay time.Duration) {
	p := sink.Plan{Record: sink.RecordIDs}
	if delay > 0 {
		p.Steps = []sink.Step{{Delay: sink.Duration(delay)}}
	}
	r.SetPlan(hook, p)
}

// Watch notes from now on when each webhook-id came first, at any hook.
func (r *Receiver) Watch() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.times = map[string]time.Time{}
	r.lean.Watch(func(_, id string) {
		now := time.Now()
		r.mu.Lock()
		defer r.mu.Unlock()
		if _, known := r.times[id]; !known {
			r.times[id] = now
		}
	})
}

// Arrived is when an id came first.
func (r *Receiver) Arrived(id string) (time.Time, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	t, ok := r.times[id]
	return t, ok
}

// WaitAll returns once each of the first n hooks has had requests of its own.
func (r *Receiver) WaitAll(ctx context.Context, n, requests int) error {
	for i := range n {
		if err := r.Wait(ctx, Hook(i), requests); err != nil {
			return fmt.Errorf("hook %d has %d of %d: %w", i, r.Count(Hook(i)).Requests, requests, err)
		}
	}
	return nil
}
