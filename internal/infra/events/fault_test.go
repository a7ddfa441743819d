package events_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/gatehouse-hq/gatehouse/internal/infra/events"
	"github.com/gatehouse-hq/gatehouse/internal/infra/jobs"
	"github.com/gatehouse-hq/gatehouse/internal/infra/pg"
)

// Field case F04: one bad row must not stop everything behind it.
func TestBadRowsArePoisonedAndHoldNobodyUp(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.exec(`insert into events (owner_id, type, subject, data) values
  ($1::uuid, 'note.teleported', 'unknown', '{}'), ($1::uuid, 'thing.made', 'array', '[1, 2]')`, owner)
	h.insert(100)
	b, _ := h.start(h.config(each()))
	eventually(t, "the good ones are relayed", func() bool { return len(h.args("each")) == 100 })
	eventually(t, "the bad ones are set aside", func() bool { return ask[int](h, `select count(*) from events where poisoned_at is not null`) == 2 })

	page, err := b.List(t.Context(), events.Filter{State: events.Poisoned})
	if err != nil || len(page.Events) != 2 {
		t.Fatalf("got %d poisoned events, error %v; want 2", len(page.Events), err)
	}
	for _, e := range page.Events {
		want := map[string]string{"unknown": "note.teleported", "array": "not a JSON object"}[e.Subject]
		if e.Faults != 5 || !strings.Contains(e.LastError, want) {
			t.Errorf("%s: %d faults, error %q; want 5 and one that says %q", e.Subject, e.Faults, e.LastError, want)
		}
	}
	backlog, err := b.Backlog(t.Context())
	if err != nil || backlog.Poisoned.N != 2 || backlog.Waiting.N != 0 || !backlog.Alarming() {
		t.Errorf("backlog is %+v, error %v; want 2 poisoned, none waiting, an alarm", backlog, err)
	}

	// The relay's floor has to be past them, as it is by the time a person looks.
	h.insert(1)
	eventually(t, "a later event is relayed", func() bool { return len(h.args("each")) == 101 })

	// Mended and requeued, they go out; not mended, they come back.
	h.exec(`update events set data = '{"list": [1, 2]}' where subject = 'array'`)
	for _, e := range page.Events {
		if err := b.Requeue(t.Context(), e.ID); err != nil {
			t.Fatal(err)
		}
	}
	eventually(t, "the mended one is relayed", func() bool { return len(h.args("each")) == 102 })
	eventually(t, "the other is set aside again", func() bool { return ask[int](h, `select count(*) from events where poisoned_at is not null`) == 1 })
}

func TestRequeueRefuses(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	cfg := h.config(each())
	b, _ := h.start(cfg)
	id := h.record(cfg.Bell, "thing.made", "fine")
	for in, want := range map[string]error{
		id:      events.ErrNotPoisoned,
		owner:   events.ErrNotFound,
		"x' --": events.ErrNotFound,
		"":      events.ErrNotFound,
	} {
		if err := b.Requeue(t.Context(), in); !errors.Is(err, want) {
			t.Errorf("requeue %q: got %v, want %v", in, err, want)
		}
	}
}

// onEnqueue makes the queue fail for batches that name a subject.
func (h *house) onEnqueue(subject string, fail func(tx pg.Tx) error) {
	f := func(tx pg.Tx, in []jobs.Insert) error {
		for _, i := range in {
			if a, ok := i.Args.(events.Args); ok && a.Subject == subject {
				return fail(tx)
			}
		}
		return nil
	}
	h.queue.fail = &f
}

func TestFaultOfOneRowIsItsOwn(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		fail   func(tx pg.Tx) error
		counts bool
	}{
		"data exception breaks the transaction": {func(tx pg.Tx) error {
			_, err := tx.Exec(context.Background(), `select 1 / 0`)
			return err
		}, true},
		"refused arguments":            {func(pg.Tx) error { return fmt.Errorf("enqueue: %w", jobs.ErrBadArgs) }, true},
		"an error nobody foresaw":      {func(pg.Tx) error { return errors.New("a trigger raised") }, false},
		"a queue that is not declared": {func(pg.Tx) error { return jobs.ErrUnknownKind }, false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHouse(t)
			h.insert(20)
			h.onEnqueue("thing/7", test.fail)
			h.start(h.config(each()))
			eventually(t, "the others are relayed", func() bool { return len(h.args("each")) == 19 })
			if !test.counts {
				if n := ask[int](h, `select attempts from events where subject = 'thing/7'`); n != 0 {
					t.Errorf("%d faults are held against a row that has none", n)
				}
				if text := ask[string](h, `select last_error from events where subject = 'thing/7'`); text == "" {
					t.Error("the row does not tell why it waits")
				}
				return
			}
			eventually(t, "the row is set aside", func() bool {
				return ask[bool](h, `select poisoned_at is not null and attempts = 5 from events where subject = 'thing/7'`)
			})
		})
	}
}

// A full disk or a lost connection poisons nothing, however often.
func TestFaultOfTheSurroundingsPoisonsNothing(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.insert(20)
	var failing atomic.Bool
	var failed atomic.Int64
	failing.Store(true)
	f := func(pg.Tx, []jobs.Insert) error {
		if !failing.Load() {
			return nil
		}
		failed.Add(1)
		return &pgconn.PgError{Code: "53100", Message: "could not extend file: No space left on device"}
	}
	h.queue.fail = &f
	cfg := h.config(each())
	cfg.NoRelay = true // the test's own sweeps are the passes to count
	b, _ := h.start(cfg)
	for range 10 {
		if err := b.Sweep(t.Context()); err == nil {
			t.Fatal("a sweep on a full disk says that it succeeded")
		}
	}
	if n := ask[int](h, `select count(*) from events where attempts > 0 or retry_at is not null`); n != 0 {
		t.Errorf("a full disk was held against %d events", n)
	}
	if failed.Load() > 10 {
		t.Errorf("%d tries for 10 sweeps: rows were tried one by one on a full disk", failed.Load())
	}
	failing.Store(false)
	if err := b.Sweep(t.Context()); err != nil || !h.drained() {
		t.Errorf("after space was freed: error %v, drained %v", err, h.drained())
	}
}

// When nothing goes through at all, rows are not blamed one by one.
func TestFailureOfEveryRowIsOneFailure(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.insert(20)
	f := func(pg.Tx, []jobs.Insert) error { return errors.New("the queue's tables are gone") }
	h.queue.fail = &f
	cfg := h.config(each())
	cfg.NoRelay = true
	b, _ := h.start(cfg)
	if err := b.Sweep(t.Context()); err == nil {
		t.Fatal("a sweep in which no row goes through says that it succeeded")
	}
	if n := ask[int](h, `select count(*) from events where retry_at is not null`); n != 0 {
		t.Errorf("%d rows were set aside", n)
	}
}

func TestPoisoningTakesFiveSpacedFaults(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.exec(`insert into events (owner_id, type, subject) values ($1::uuid, 'note.teleported', 'x')`, owner)
	cfg := h.config(each())
	cfg.NoRelay = true
	cfg.FaultPause = func(n int) time.Duration { return time.Duration(n) * time.Hour }
	b, _ := h.start(cfg)
	for n := 1; n <= 5; n++ {
		for range 2 { // the second sweep must find it not due
			if err := b.Sweep(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		if got := ask[int](h, `select attempts from events`); got != n {
			t.Fatalf("%d faults counted, want %d", got, n)
		}
		hours := ask[float64](h, `select round(extract(epoch from retry_at - clock_timestamp()) / 3600)::float8 from events`)
		if hours != float64(n) {
			t.Errorf("after fault %d the row waits %v h, want %d", n, hours, n)
		}
		h.exec(`update events set retry_at = clock_timestamp()`)
	}
	if !ask[bool](h, `select poisoned_at is not null from events`) {
		t.Error("the fifth fault did not poison")
	}
}

// A failing pass is done again after 2 s, then 4 s, and says so.
func TestFailingPassBacksOff(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.insert(2)
	f := func(pg.Tx, []jobs.Insert) error { return &pgconn.PgError{Code: "53100", Message: "disk full"} }
	h.queue.fail = &f
	pauses := make(chan time.Duration, 10)
	cfg := h.config(each())
	cfg.Log = slog.New(pauseHandler{slog.DiscardHandler, pauses})
	started := time.Now() // before the first pass can have failed
	_, stop := h.start(cfg)
	for _, want := range []time.Duration{2 * time.Second, 4 * time.Second} {
		cfg.Bell.Ring() // a bell does not shorten it
		if got := <-pauses; got != want {
			t.Errorf("the relay waits %s, want %s", got, want)
		}
	}
	if took := time.Since(started); took < 2*time.Second {
		t.Errorf("the second try came after %s", took)
	}
	stop()
}

// pauseHandler hands on the attribute again_in of what is logged.
type pauseHandler struct {
	slog.Handler
	pauses chan time.Duration
}

func (h pauseHandler) Enabled(context.Context, slog.Level) bool { return true }

func (h pauseHandler) Handle(_ context.Context, r slog.Record) error {
	r.Attrs(func(a slog.Attr) bool {
		if a.Key == "again_in" {
			h.pauses <- a.Value.Duration()
		}
		return true
	})
	return nil
}

// The server ends the claim of a process that was stopped in mid-pass, so that
// another can have its rows.
func TestClaimOfAStoppedProcessIsBounded(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.insert(1)
	bound := make(chan string, 1)
	f := func(tx pg.Tx, _ []jobs.Insert) error {
		var s string
		err := tx.QueryRow(context.Background(), `show idle_in_transaction_session_timeout`).Scan(&s)
		bound <- s
		return err
	}
	h.queue.fail = &f
	h.start(h.config(each()))
	if got := <-bound; got != "15s" {
		t.Errorf("a claim may be held for %q, want 15s", got)
	}
	eventually(t, "the row is relayed", h.drained)
}
