package events_test

import (
	"context"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/gatehouse-hq/gatehouse/internal/infra/events"
)

// Field case F01: ids are handed out at insert and become visible at commit.
func TestEventCommittedLateIsRelayed(t *testing.T) {
	t.Parallel()
	for _, end := range []string{"commit", "rollback"} {
		t.Run(end, func(t *testing.T) {
			t.Parallel()
			h := newHouse(t)
			cfg := h.config(each())
			h.start(cfg)

			late, err := h.db.Begin(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = late.Rollback(context.Background()) }()
			var first int64
			err = late.QueryRow(t.Context(), `insert into events (owner_id, type, subject) values ($1::uuid, 'thing.made', 'late') returning seq`, owner).Scan(&first)
			if err != nil {
				t.Fatal(err)
			}
			h.record(cfg.Bell, "thing.made", "early")
			eventually(t, "the later event is relayed first", func() bool { return len(h.args("each")) == 1 })
			if second := ask[int64](h, `select seq from events where subject = 'early'`); second <= first {
				t.Fatalf("the late event has number %d, the early one %d: the case is not the one to test", first, second)
			}

			want := []string{"early"}
			if end == "commit" {
				if err := late.Commit(t.Context()); err != nil { // rings no bell: the poll finds it
					t.Fatal(err)
				}
				want = append(want, "late")
			} else if err := late.Rollback(t.Context()); err != nil {
				t.Fatal(err)
			}
			h.record(cfg.Bell, "thing.made", "after the hole")
			eventually(t, "all committed events are relayed", func() bool { return len(h.args("each")) == len(want)+1 && h.drained() })
			got := map[string]bool{}
			for _, a := range h.args("each") {
				got[a.Subject] = true
			}
			for _, s := range append(want, "after the hole") {
				if !got[s] {
					t.Errorf("no task for %q; there are %v", s, got)
				}
			}
		})
	}
}

// A row that somebody else has locked holds up no other.
func TestLockedRowIsSkipped(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.insert(10)
	elsewhere, err := h.db.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = elsewhere.Rollback(context.Background()) }()
	if _, err := elsewhere.Exec(t.Context(), `select from events where subject = 'thing/1' for update`); err != nil {
		t.Fatal(err)
	}
	h.start(h.config(each()))
	eventually(t, "the others are relayed", func() bool { return len(h.args("each")) == 9 })
	if err := elsewhere.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the freed row is relayed", func() bool { return len(h.args("each")) == 10 })
}

// A commit far below the floor of a relay that has gone on for many passes.
func TestFloorNeverPassesAnOpenTransaction(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	cfg := h.config(each())
	h.start(cfg)
	late, err := h.db.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = late.Rollback(context.Background()) }()
	if _, err := late.Exec(t.Context(), `insert into events (owner_id, type, subject) values ($1::uuid, 'thing.made', 'late')`, owner); err != nil {
		t.Fatal(err)
	}
	for range 30 {
		h.record(cfg.Bell, "thing.made", "on time")
		eventually(t, "the event on time is relayed", h.drained)
	}
	if err := late.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the late event is relayed", func() bool { return len(h.args("each")) == 31 })
}

// Two relays, their connections cut and their processes killed at random.
func TestEachEventIsFannedOutOnce(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	coalesced := events.Subscription{Name: "latest", Types: []string{"thing.*"}, Coalesce: true, Handle: ignore}
	batched := events.Subscription{Name: "batch", Types: []string{"**"}, HandleBatch: ignoreBatch}
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	dice := rand.New(rand.NewPCG(seed, 1))

	const total = 12_000
	relay := func() (kill func()) {
		cfg := h.config(each(), coalesced, batched)
		cfg.DB = h.open()
		_, kill = h.start(cfg)
		return kill
	}
	kills := []func(){relay(), relay()}
	for written := 0; written < total; written += 200 {
		h.insert(200)
		switch dice.IntN(4) {
		case 0: // a process dies and its successor starts
			i := dice.IntN(2)
			kills[i]()
			kills[i] = relay()
		case 1: // connections break in mid-pass
			h.exec(`select pg_terminate_backend(pid) from pg_stat_activity
where datname = current_database() and pid <> pg_backend_pid() and query like '%events%'`)
		}
	}
	// Cut relays back off for seconds; fresh ones need not wait for that.
	kills = append(kills, relay())
	eventually(t, "everything is fanned out", h.drained)
	for _, kill := range kills {
		kill()
	}
	if n := ask[int](h, `select count(*) from events where fanned_out_at is not null`); n != total {
		t.Errorf("%d events are fanned out, want %d", n, total)
	}
	if n := ask[int](h, `select count(*) from tasks where kind = 'each'`); n != total {
		t.Errorf("there are %d single tasks, want one for each of %d events", n, total)
	}
	if n := ask[int](h, `select count(distinct args ->> 'event_id') from tasks where kind = 'each'`); n != total {
		t.Errorf("single tasks name %d events, want %d", n, total)
	}
	counted := ask[int](h, `select count(*) from tasks t, lateral (
  select jsonb_array_elements_text(coalesce(t.args -> 'event_ids', jsonb_build_array(t.args ->> 'event_id'))) id) e where kind = 'batch'`)
	if counted != total {
		t.Errorf("batches carry %d events, want %d", counted, total)
	}
	if n := ask[int](h, `select count(*) from events e where not exists (select from tasks t where t.id = (e.fanout ->> 'each')::bigint and t.args ->> 'event_id' = e.id::text)`); n != 0 {
		t.Errorf("the fan-out of %d events names another task than their own", n)
	}
	if n := ask[int](h, `select count(*) from events where attempts > 0`); n != 0 {
		t.Errorf("a lost connection was held against %d events", n)
	}
}

func TestRelayFindsWhatNobodyAnnounced(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.start(h.config(each()))
	eventually(t, "the relay is idle", h.drained)
	h.insert(3)
	eventually(t, "the poll finds the rows", func() bool { return len(h.args("each")) == 3 })
}

func TestEventWithoutSubscriptionIsDone(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	s := each()
	s.Types = []string{"thing.moved"}
	cfg := h.config(s)
	b, _ := h.start(cfg)
	id := h.record(cfg.Bell, "secret.kept", "s")
	if !b.AwaitFanout(t.Context(), []string{id}, 30*time.Second) {
		t.Fatal("an event that nobody wants is not fanned out")
	}
	e, err := b.Get(t.Context(), id)
	if err != nil || e.State != events.Delivered || len(e.Fanout) != 0 {
		t.Errorf("got state %s, fan-out %v, error %v; want delivered to nobody", e.State, e.Fanout, err)
	}
}

func TestSweepRelaysWithoutTheLoop(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	b, stop := h.start(h.config(each()))
	stop()
	h.insert(450)
	if err := b.Sweep(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := len(h.args("each")); n != 450 {
		t.Errorf("the sweep made %d tasks of 450 events", n)
	}
}

func TestFencedProcessClaimsNothing(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	cfg := h.config(each())
	cfg.Alive = func() bool { return false }
	b, _ := h.start(cfg)
	h.insert(1)
	if err := b.Sweep(t.Context()); err != nil {
		t.Fatal(err)
	}
	if h.drained() {
		t.Error("a process without its hold on the database relayed an event")
	}
}

// The relay's own commits ring no bell: it would wake itself and others for ever.
func TestRelayDoesNotWakeItself(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	heard := make(chan string, 100)
	h.listen(func(payload string) {
		if payload != "" {
			heard <- payload
		}
	})
	cfg := h.config(each())
	cfg.URL = h.url
	h.start(cfg)
	h.insert(300)
	eventually(t, "the rows are relayed", h.drained)
	h.exec(`select pg_notify('gatehouse_events', 'end')`)
	if got := <-heard; got != "end" {
		t.Errorf("the relay's commits sent a notification")
	}
}
