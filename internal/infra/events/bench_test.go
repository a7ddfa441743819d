package events_test

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/gatehouse-hq/gatehouse/internal/infra/events"
	"github.com/gatehouse-hq/gatehouse/internal/infra/jobs"
	"github.com/gatehouse-hq/gatehouse/internal/infra/jobs/river"
	"github.com/gatehouse-hq/gatehouse/internal/infra/pg"
	"github.com/gatehouse-hq/gatehouse/internal/infra/pg/pgtest"
)

// Benchmarks run on a durable cluster of their own: tests' clusters give up
// what a commit costs. b.N is ignored where a figure needs a fixed amount.
//
//	go test -run '^$' -bench . -benchtime 1x ./internal/infra/events

// site is a durable database with a process that relays into the real queue
// and works nothing off, so that only the relay is measured.
func site(b *testing.B, relay bool) (db *pg.DB, bell *events.Bell, bus *events.Bus) {
	b.Helper()
	cluster, err := pgtest.StartCluster(b.Context(), pgtest.DurableSettings())
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := cluster.Stop(context.Background()); err != nil {
			b.Error(err)
		}
	})
	url := cluster.URL()
	if err := pg.Migrate(b.Context(), url, pgtest.Plan()); err != nil {
		b.Fatal(err)
	}
	db, err = pg.Open(b.Context(), url, pg.Options{MaxConns: 80})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(db.Close)
	log := slog.New(slog.DiscardHandler)
	listener := pg.NewListener(url, log)
	bell = events.NewBell()
	bus, err = events.NewBus(events.Config{DB: db, Bell: bell, URL: url, Listener: listener, Types: types(), Log: log, NoRelay: !relay,
		Subscriptions: []events.Subscription{
			{Name: "fanout", Queue: "webhook_fanout", Policy: policy(), Types: []string{"**"}, HandleBatch: ignoreBatch},
			{Name: "index", Queue: "index", Policy: policy(), Types: []string{"thing.*"}, Coalesce: true, Handle: ignore},
		}})
	if err != nil {
		b.Fatal(err)
	}
	queue, err := river.New(db, url, listener, log, river.Config{Kinds: bus.Kinds(), Queues: jobs.Queues(5)})
	if err != nil {
		b.Fatal(err)
	}
	ctx, kill := context.WithCancel(context.Background())
	var listening sync.WaitGroup
	listening.Go(func() { listener.Run(ctx) })
	if err := bus.Start(ctx, queue); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		kill()
		listening.Wait()
		if err := bus.Stop(context.Background()); err != nil {
			b.Error(err)
		}
	})
	return db, bell, bus
}

// BenchmarkRelayRate relays a backlog to one batched and one coalescing
// subscription, every event about a subject of its own: the worst case.
func BenchmarkRelayRate(b *testing.B) {
	db, bell, bus := site(b, true)
	const total = 60_000
	for b.Loop() {
		b.StopTimer()
		_, err := db.Exec(b.Context(), `insert into events (owner_id, type, subject, data)
select $1::uuid, 'thing.made', 'thing/' || i, '{"op": "updated", "published": true}' from generate_series(1, $2::int) i`, owner, total)
		if err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
		started := time.Now()
		bell.Ring()
		for {
			s, err := bus.Backlog(b.Context())
			if err != nil {
				b.Fatal(err)
			}
			if s.Waiting.N == 0 {
				break
			}
			time.Sleep(20 * time.Millisecond)
		}
		b.ReportMetric(total/time.Since(started).Seconds(), "events/s")
	}
}

// BenchmarkCommitToFannedOut is the idle latency: one event at a time, as a
// request sees it that waits for its receipt.
func BenchmarkCommitToFannedOut(b *testing.B) {
	db, bell, bus := site(b, true)
	recorder := events.NewRecorder(types(), bell)
	for b.Loop() {
		var took []time.Duration
		for i := range 600 {
			time.Sleep(time.Second / 60) // 60 events/s
			var id string
			err := pg.InTx(b.Context(), db, func(tx pg.Tx) (err error) {
				id, err = recorder.With(tx).Record(b.Context(), owner, "thing.made", fmt.Sprint("thing/", i), nil)
				return err
			})
			if err != nil {
				b.Fatal(err)
			}
			started := time.Now()
			if !bus.AwaitFanout(b.Context(), []string{id}, 5*time.Second) {
				b.Fatal("an event was not fanned out within 5 s")
			}
			took = append(took, time.Since(started))
		}
		slices.Sort(took)
		b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, "p50-ms")
		b.ReportMetric(float64(took[len(took)*99/100].Microseconds())/1000, "p99-ms")
	}
}
