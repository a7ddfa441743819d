package river_test

import (
	"context"
	"encoding/json"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gatehouse-hq/gatehouse/internal/infra/jobs"
	"github.com/gatehouse-hq/gatehouse/internal/infra/jobs/jobstest"
	"github.com/gatehouse-hq/gatehouse/internal/infra/pg"
)

// BenchmarkWork measures jobs of a network-bound kind from claim to written
// end, with and without a report: the queue's share of webhook delivery.
func BenchmarkWork(b *testing.B) {
	for _, report := range []bool{false, true} {
		b.Run(fmt.Sprintf("report=%v", report), func(b *testing.B) {
			const many = 30_000
			w := newWorld(b)
			var n atomic.Int64
			s := jobstest.Setup{Queues: []jobs.Queue{{Name: "webhook", Workers: 200, Cooldown: 5 * time.Millisecond, NoConn: true}}}
			s.Kinds = []jobs.Kind{{Name: "deliver", Queue: "webhook", Policy: jobs.Policy{Attempts: 18, Backoff: jobs.WebhookBackoff, Timeout: 15 * time.Second},
				Handler: func(ctx context.Context, _ json.RawMessage) error {
					if report {
						jobs.Report(ctx, map[string]any{"status": 200, "ms": 1.5})
					}
					n.Add(1)
					return nil
				}}}
			for range b.N {
				n.Store(0)
				rt := w.open(b, config(s))
				in := make([]jobs.Insert, 1000)
				before := time.Now()
				for range many / len(in) {
					for i := range in {
						in[i] = jobs.Insert{Kind: "deliver", Args: map[string]string{"endpoint": fmt.Sprint(i % 10), "event": fmt.Sprintf("%d-%s", i, before)}}
					}
					if _, err := rt.EnqueueMany(context.Background(), in); err != nil {
						b.Fatal(err)
					}
				}
				inserted := time.Since(before)
				before = time.Now()
				if err := rt.Start(context.Background()); err != nil {
					b.Fatal(err)
				}
				for n.Load() < many {
					time.Sleep(5 * time.Millisecond)
				}
				if err := rt.Stop(context.Background()); err != nil { // returns once every end is written
					b.Fatal(err)
				}
				b.ReportMetric(many/inserted.Seconds(), "inserts/s")
				b.ReportMetric(many/time.Since(before).Seconds(), "jobs/s")
			}
		})
	}
}

// BenchmarkEnqueue measures one enqueue in a transaction of its own.
func BenchmarkEnqueue(b *testing.B) {
	w := newWorld(b)
	rt := w.open(b, config(plain("demo")))
	for range b.N {
		err := pg.InTx(context.Background(), w.db, func(tx pg.Tx) error {
			_, err := rt.With(tx).Enqueue(context.Background(), "demo", map[string]int{"a": 1}, jobs.EnqueueOpts{})
			return err
		})
		if err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkViews measures what the panel asks, over a million finished jobs
// and a few of each other sort.
func BenchmarkViews(b *testing.B) {
	w := newWorld(b)
	rt := w.open(b, config(plain("demo", "rare", "none")))
	if _, err := w.db.Exec(context.Background(), `
insert into river.river_job (kind, queue, state, args, attempt, attempted_at, finalized_at, max_attempts, errors)
select case when n % 1000 = 0 then 'rare' else 'demo' end, 'index',
  case when n = 17 then 'discarded' else 'completed' end::river.river_job_state, jsonb_build_object('note', 'n-' || n % 50000), 1, now(), now(), 32767,
  case when n % 500 = 0 then array['{"error": "connection refused"}'::jsonb] when n = 17 then array['{"error": "the odd one"}'::jsonb] end
from generate_series(1, 1000000) n`); err != nil {
		b.Fatal(err)
	}
	if _, err := w.db.Exec(context.Background(), `vacuum analyze river.river_job`); err != nil {
		b.Fatal(err)
	}
	for _, c := range []struct {
		name string
		f    jobs.Filter
	}{
		{"all", jobs.Filter{}},
		{"completed", jobs.Filter{States: []jobs.State{jobs.Completed}}},
		{"discarded", jobs.Filter{States: []jobs.State{jobs.Discarded}}},
		{"rare kind", jobs.Filter{Kind: "rare"}},
		{"arg", jobs.Filter{Args: map[string]string{"note": "n-4711"}}},
		{"common error", jobs.Filter{Error: "refused"}},
		{"rare error", jobs.Filter{Error: "odd"}},
		{"id", jobs.Filter{ID: 4711}},
	} {
		b.Run("list "+c.name, func(b *testing.B) {
			for range b.N {
				if _, err := rt.List(context.Background(), c.f); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	b.Run("overview", func(b *testing.B) {
		for range b.N {
			if _, err := w.open(b, config(plain("demo", "rare", "none"))).Overview(context.Background(), ""); err != nil {
				b.Fatal(err)
			}
		}
	})
}
