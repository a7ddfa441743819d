package events_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/gatehouse-hq/gatehouse/internal/infra/events"
	"github.com/gatehouse-hq/gatehouse/internal/infra/pg"
)

const long = 30 * time.Second

func TestAwaitFanout(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	cfg := h.config(each())
	b, stop := h.start(cfg)
	other, _ := h.start(func() events.Config { c := h.config(each()); c.NoRelay = true; return c }())

	one, two := h.record(cfg.Bell, "thing.made", "1"), h.record(cfg.Bell, "thing.made", "2")
	if !b.AwaitFanout(t.Context(), []string{one, two}, long) {
		t.Error("the relay of this process: not fanned out")
	}
	if !b.AwaitFanout(t.Context(), []string{one, two}, long) {
		t.Error("asked again afterwards: not fanned out")
	}
	three := h.record(cfg.Bell, "thing.made", "3")
	if !other.AwaitFanout(t.Context(), []string{one, three}, long) {
		t.Error("the relay of another process: not fanned out")
	}
	if !b.AwaitFanout(t.Context(), nil, 0) {
		t.Error("no events: not fanned out")
	}
	stop()
	four := h.record(cfg.Bell, "thing.made", "4")
	if b.AwaitFanout(t.Context(), []string{three, four}, 30*time.Millisecond) {
		t.Error("without a relay: fanned out")
	}
	h.exec(`update events set poisoned_at = clock_timestamp() where id = $1::uuid`, four)
	if b.AwaitFanout(t.Context(), []string{four}, time.Hour) {
		t.Error("a poisoned event: fanned out")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	five := h.record(cfg.Bell, "thing.made", "5")
	if b.AwaitFanout(ctx, []string{five}, time.Hour) {
		t.Error("a caller that has gone: fanned out")
	}
}

// The 65th waiter in a process gets its receipt at once, and later ones may
// wait again when some have left.
func TestWaitersAreBounded(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	cfg := h.config(each())
	cfg.NoRelay = true
	b, _ := h.start(cfg)
	id := h.record(cfg.Bell, "thing.made", "1")
	ctx, leave := context.WithCancel(t.Context())
	var waiting sync.WaitGroup
	answers := make(chan bool, 100)
	for range 80 {
		waiting.Go(func() { answers <- b.AwaitFanout(ctx, []string{id}, time.Hour) })
	}
	for range 80 - 64 {
		if <-answers {
			t.Error("an answer says fanned out")
		}
	}
	select {
	case <-answers:
		t.Error("fewer than 64 wait")
	case <-time.After(50 * time.Millisecond):
	}
	leave()
	waiting.Wait()
	if err := b.Sweep(t.Context()); err != nil {
		t.Fatal(err)
	}
	if !b.AwaitFanout(t.Context(), []string{id}, long) {
		t.Error("after all have left nobody can wait")
	}
}

// Receipts find the events of a transaction whoever wrote them, under
// savepoints too, before and after the commit.
func TestEventsOfTx(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	cfg := h.config(each())
	b, _ := h.start(cfg)
	h.record(cfg.Bell, "thing.made", "another transaction")
	var txid uint64
	recorder := events.NewRecorder(types(), cfg.Bell)
	undo := errors.New("undo")
	err := pg.InTx(t.Context(), h.db, func(tx pg.Tx) (err error) {
		if txid, err = events.TxID(t.Context(), tx); err != nil {
			return err
		}
		write := func(subject string, fail error) error {
			err := pg.Nested(t.Context(), tx, func(tx pg.Tx) error {
				if _, err := recorder.With(tx).Record(t.Context(), owner, "thing.made", subject, nil); err != nil {
					return err
				}
				return fail
			})
			if errors.Is(err, fail) {
				return nil
			}
			return err
		}
		for subject, fail := range map[string]error{"a": nil, "b": undo} {
			if err := write(subject, fail); err != nil {
				return err
			}
		}
		inside, err := b.EventsOfTx(t.Context(), tx, txid)
		if err != nil || len(inside) != 1 {
			t.Errorf("inside the transaction: %d events, error %v; want 1", len(inside), err)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	es, err := b.EventsOfTx(t.Context(), h.db, txid)
	if err != nil || len(es) != 1 || es[0].Subject != "a" {
		t.Fatalf("after the commit: %v, error %v; want the event about a", es, err)
	}
	if !b.AwaitFanout(t.Context(), []string{es[0].ID}, long) {
		t.Fatal("not fanned out")
	}
	job, ok, err := b.JobFor(t.Context(), es[0].ID, "each")
	if err != nil || !ok || int64(job) != ask[int64](h, `select id from tasks where args ->> 'event_id' = $1`, es[0].ID) {
		t.Errorf("its task: %d, %v, error %v", job, ok, err)
	}
	if _, ok, err := b.JobFor(t.Context(), es[0].ID, "nobody"); ok || err != nil {
		t.Errorf("a task for a subscription that does not exist: %v, error %v", ok, err)
	}
	if _, _, err := b.JobFor(t.Context(), owner, "each"); !errors.Is(err, events.ErrNotFound) {
		t.Errorf("a task of an event that does not exist: %v", err)
	}
}
