package river

import (
	"context"
	"strconv"
	"sync"
	"time"

	"github.com/gatehouse-hq/gatehouse/internal/infra/jobs"
	"github.com/gatehouse-hq/gatehouse/internal/infra/pg"
)

// waiters are the calls of Wait in this process, by job.
type waiters struct {
	mu sync.Mutex
	by map[jobs.ID]map[chan struct{}]bool
}

func newWaiters() *waiters { return &waiters{by: map[jobs.ID]map[chan struct{}]bool{}} }

func (w *waiters) add(id jobs.ID) (wake chan struct{}, remove func()) {
	wake = make(chan struct{}, 1)
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.by[id] == nil {
		w.by[id] = map[chan struct{}]bool{}
	}
	w.by[id][wake] = true
	return wake, func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		if delete(w.by[id], wake); len(w.by[id]) == 0 {
			delete(w.by, id)
		}
	}
}

// heard wakes those who wait for the job of a notification, and everybody
// when the connection is new (an empty payload).
func (w *waiters) heard(payload string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if payload == "" {
		for _, chans := range w.by {
			wakeAll(chans)
		}
		return
	}
	if n, err := strconv.ParseInt(payload, 10, 64); err == nil {
		wakeAll(w.by[jobs.ID(n)])
	}
}

func wakeAll(chans map[chan struct{}]bool) {
	for c := range chans {
		select {
		case c <- struct{}{}:
		default:
		}
	}
}

// Wait blocks until the job is in a final state, or max has passed, or ctx
// ends: then it says false and the last state seen. A job whose row is gone
// counts as completed. Only kinds declared as awaited wake it; the row is read
// again each second for the others and for lost notifications.
func (rt *Runtime) Wait(ctx context.Context, id jobs.ID, max time.Duration) (jobs.State, bool) {
	ctx, cancel := context.WithTimeout(ctx, max)
	defer cancel()
	wake, remove := rt.waiters.add(id) // before the first look, so that no end falls between
	defer remove()
	again := time.NewTicker(time.Second)
	defer again.Stop()
	var last jobs.State
	for {
		if s, ok := rt.stateOf(ctx, id); ok {
			if s.Final() {
				return s, true
			}
			last = s
		}
		select {
		case <-ctx.Done():
			return last, false
		case <-wake:
		case <-again.C:
		}
	}
}

func (rt *Runtime) stateOf(ctx context.Context, id jobs.ID) (jobs.State, bool) {
	var raw string
	var attempt int
	err := rt.db.QueryRow(ctx, `select state::text, attempt from river.river_job where id = $1`, id).Scan(&raw, &attempt)
	switch {
	case err == nil:
		return stateFrom(raw, attempt), true
	case pg.NoRows(err):
		issued, err := rt.issued(ctx, id)
		return jobs.Completed, err == nil && issued
	}
	return "", false // unreachable for a moment: the next look decides
}
