package events

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/gatehouse-hq/gatehouse/internal/infra/pg"
)

// maxWaiters is how many calls of AwaitFanout wait at once in a process; the
// next gets its answer at once. Waiting holds no database connection.
const maxWaiters = 64

// Pauses between looks at the database while waiting. A relay in this process
// ends the wait by itself; these are for one elsewhere.
const (
	firstWaitPoll = 20 * time.Millisecond
	mostWaitPoll  = 250 * time.Millisecond
)

// AwaitFanout waits until all events are fanned out, at most max, and says
// whether they are. It answers false early when one of them is poisoned, when
// ctx ends, when too many wait already or when the database cannot be asked:
// the caller then promises only what is committed.
func (b *Bus) AwaitFanout(ctx context.Context, eventIDs []string, max time.Duration) bool {
	if len(eventIDs) == 0 {
		return true
	}
	w, ok := b.waiters.enter(eventIDs)
	if !ok {
		return false
	}
	defer b.waiters.leave(w)
	// Entered first, then looked: what was relayed before that is remembered.
	for _, id := range eventIDs {
		if _, ok := b.recent.get(id); ok {
			b.waiters.settle([]Event{{ID: id}})
		}
	}
	ctx, cancel := context.WithTimeout(ctx, max)
	defer cancel()
	for poll := firstWaitPoll; ; poll = min(2*poll, mostWaitPoll) {
		pause(ctx, poll, w.done)
		select {
		case <-w.done:
			return true
		case <-ctx.Done():
			return false
		default:
		}
		left, poisoned, err := b.unsettled(ctx, eventIDs)
		if err != nil || poisoned {
			return false
		}
		if !left {
			return true
		}
	}
}

func (b *Bus) unsettled(ctx context.Context, ids []string) (left, poisoned bool, err error) {
	err = b.cfg.DB.QueryRow(ctx, `
select coalesce(bool_or(fanned_out_at is null), false), coalesce(bool_or(poisoned_at is not null), false)
from public.events where id = any($1::uuid[])`, ids).Scan(&left, &poisoned)
	return left, poisoned, err
}

// waiters are the calls of AwaitFanout in flight.
type waiters struct {
	mu   sync.Mutex
	n    int
	byID map[string]map[*waiter]struct{}
}

type waiter struct {
	pending map[string]struct{}
	done    chan struct{}
}

func newWaiters() *waiters { return &waiters{byID: map[string]map[*waiter]struct{}{}} }

func (ws *waiters) enter(ids []string) (*waiter, bool) {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	if ws.n >= maxWaiters {
		return nil, false
	}
	ws.n++
	w := &waiter{pending: map[string]struct{}{}, done: make(chan struct{})}
	for _, id := range ids {
		w.pending[id] = struct{}{}
		if ws.byID[id] == nil {
			ws.byID[id] = map[*waiter]struct{}{}
		}
		ws.byID[id][w] = struct{}{}
	}
	return w, true
}

func (ws *waiters) leave(w *waiter) {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	ws.n--
	for id := range w.pending {
		delete(ws.byID[id], w)
		if len(ws.byID[id]) == 0 {
			delete(ws.byID, id)
		}
	}
}

func (ws *waiters) settle(es []Event) {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	if ws.n == 0 {
		return
	}
	for _, e := range es {
		for w := range ws.byID[e.ID] {
			delete(w.pending, e.ID)
			if len(w.pending) == 0 {
				close(w.done)
			}
		}
		delete(ws.byID, e.ID)
	}
}

// TxID is the id of the running transaction, under which EventsOfTx finds the
// events born in it, by triggers too.
func TxID(ctx context.Context, tx pg.Tx) (uint64, error) {
	var id uint64
	err := tx.QueryRow(ctx, `select pg_current_xact_id()`).Scan(&id)
	return id, err
}

// EventsOfTx are the events written by the transaction txid, oldest first,
// except those set aside since. q may be that transaction itself, before its
// commit.
func (b *Bus) EventsOfTx(ctx context.Context, q pg.Querier, txid uint64) ([]Event, error) {
	// Each half has an index of its own.
	es, err := readEvents(ctx, q, `id in (
  select id from public.events where txid = $1 and `+waiting+`
  union all select id from public.events where txid = $1 and fanned_out_at is not null)`, txid)
	if err != nil {
		return nil, fmt.Errorf("read events of transaction %d: %w", txid, err)
	}
	return es, nil
}
