package events_test

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gatehouse-hq/gatehouse/internal/infra/events"
	"github.com/gatehouse-hq/gatehouse/internal/infra/jobs"
	"github.com/gatehouse-hq/gatehouse/internal/infra/jobs/river"
	"github.com/gatehouse-hq/gatehouse/internal/infra/pg"
)

// policy is one that lets a subscription's jobs run in the real queue.
func policy() jobs.Policy {
	return jobs.Policy{Attempts: 3, Backoff: func(int) time.Duration { return 10 * time.Millisecond }, Timeout: 30 * time.Second}
}

// process is one server process: bus, queue and LISTEN connection on a pool of its own.
type process struct {
	bus   *events.Bus
	bell  *events.Bell
	queue *river.Runtime
	stop  func()
}

// boot starts a process of house h. What it starts ends with stop or the test.
func boot(t testing.TB, url string, subs ...events.Subscription) *process {
	t.Helper()
	db, err := pg.Open(t.Context(), url, pg.Options{MaxConns: 40, Application: t.Name()})
	if err != nil {
		t.Fatal(err)
	}
	log := slog.New(slog.DiscardHandler)
	listener := pg.NewListener(url, log)
	p := &process{bell: events.NewBell()}
	p.bus, err = events.NewBus(events.Config{DB: db, Bell: p.bell, URL: url, Listener: listener, Types: types(), Subscriptions: subs, Log: log})
	if err != nil {
		t.Fatal(err)
	}
	p.queue, err = river.New(db, url, listener, log, river.Config{Kinds: p.bus.Kinds(), Queues: jobs.Queues(5), Registry: p.bus.Registry,
		Periodics: p.bus.Periodics(), Work: true, Role: "all", Version: "test"})
	if err != nil {
		t.Fatal(err)
	}
	ctx, kill := context.WithCancel(context.Background())
	var listening sync.WaitGroup
	listening.Go(func() { listener.Run(ctx) })
	if err := p.bus.Start(ctx, p.queue); err != nil {
		t.Fatal(err)
	}
	if err := p.queue.Start(ctx); err != nil {
		t.Fatal(err)
	}
	p.stop = sync.OnceFunc(func() {
		end, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		for _, err := range []error{p.bus.Stop(end), p.queue.Stop(end)} {
			if err != nil {
				t.Error(err)
			}
		}
		kill()
		listening.Wait()
		db.Close()
	})
	t.Cleanup(p.stop)
	return p
}

// From commit to handler through the real queue, with two processes.
func TestEventsReachTheirHandlers(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	var handled sync.Map // subscription and event id → *atomic.Int64
	count := func(sub string, e events.Event) {
		n, _ := handled.LoadOrStore(sub+e.ID, new(atomic.Int64))
		n.(*atomic.Int64).Add(1)
	}
	single := events.Subscription{Name: "single", Queue: "notify", Policy: policy(), Types: []string{"thing.made"}, Awaited: true,
		Handle: func(ctx context.Context, e events.Event) error {
			if c := pg.CauseFrom(ctx); c.Event != e.ID || c.Job == 0 {
				t.Errorf("the cause in the handler of %s is %+v", e.ID, c)
			}
			count("single", e)
			return nil
		}}
	batch := events.Subscription{Name: "batch", Queue: "webhook_fanout", Policy: policy(), Types: []string{"**"},
		HandleBatch: func(_ context.Context, es []events.Event) error {
			for _, e := range es {
				count("batch", e)
			}
			return nil
		}}
	p := boot(t, h.url, single, batch)
	boot(t, h.url, single, batch)

	id := h.record(p.bell, "thing.made", "awaited")
	if !p.bus.AwaitFanout(t.Context(), []string{id}, long) {
		t.Fatal("not fanned out")
	}
	job, ok, err := p.bus.JobFor(t.Context(), id, "single")
	if err != nil || !ok {
		t.Fatalf("the task of the event: %v, error %v", ok, err)
	}
	if state, ok := p.queue.Wait(t.Context(), job, long); !ok || state != jobs.Completed {
		t.Fatalf("the task is %s, %v; want completed", state, ok)
	}
	got, err := p.queue.Get(t.Context(), job)
	if err != nil || got.Cause.Event != id || got.Subject != "awaited" {
		t.Errorf("the task shows cause %+v and subject %q, error %v", got.Cause, got.Subject, err)
	}
	h.insert(499)
	eventually(t, "each handler has had each event", func() bool {
		n := 0
		handled.Range(func(_, _ any) bool { n++; return true })
		return n == 1000
	})
	handled.Range(func(key, n any) bool {
		if n.(*atomic.Int64).Load() != 1 {
			t.Errorf("%s was handled %d times", key, n.(*atomic.Int64).Load())
		}
		return true
	})
	if ask[int64](h, `select count(distinct registry) from processes where stopped_at is null`) != 1 {
		t.Error("two processes with one list have two registry versions in their heartbeats")
	}
}

func TestPeriodicsRunInTheQueue(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	s := each()
	s.Queue, s.Policy = "notify", policy()
	p := boot(t, h.url, s)
	h.exec(`insert into events (owner_id, type, subject, fanned_out_at) values ($1::uuid, 'thing.made', 'old', clock_timestamp() - interval '15 days')`, owner)
	for _, name := range []string{"events.retention", "events.sweep"} {
		id, err := p.queue.RunPeriodic(t.Context(), name)
		if err != nil {
			t.Fatal(err)
		}
		if state, ok := p.queue.Wait(t.Context(), id, long); !ok || state != jobs.Completed {
			t.Errorf("%s is %s, %v; want completed", name, state, ok)
		}
	}
	if ask[int](h, `select count(*) from events`) != 0 {
		t.Error("the old event is still there")
	}
}
