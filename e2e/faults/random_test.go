package faults

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/gatehouse-hq/gatehouse/e2e/blackbox"
	"github.com/gatehouse-hq/gatehouse/mock-stack/sink"
)

var (
	faultCount = flag.Int("faults", 12, "faults of a random schedule")
	faultTime  = flag.Duration("fault-time", 45*time.Second, "after this a random schedule ends early")
)

// mishap is one thing that can go wrong. It returns once the thing is over, or
// leaves the healing to heal.
type mishap struct {
	name string
	do   func(w *world, r *rand.Rand)
}

// mishaps is everything a random schedule draws from.
func mishaps() []mishap {
	return []mishap{
		{"kill -9 of a server", func(w *world, r *rand.Rand) { w.end(w.any(r), syscall.SIGKILL) }},
		{"SIGTERM of a server", func(w *world, r *rand.Rand) { w.end(w.any(r), syscall.SIGTERM) }},
		{"a server paused", func(w *world, r *rand.Rand) {
			s := w.any(r)
			w.must(s.Tell(syscall.SIGSTOP))
			time.Sleep(some(r, 3*time.Second))
			w.must(s.Tell(syscall.SIGCONT))
		}},
		{"PostgreSQL restarted", func(w *world, r *rand.Rand) { w.endPostgres(syscall.SIGINT, some(r, time.Second)) }},
		{"PostgreSQL crashed", func(w *world, r *rand.Rand) { w.endPostgres(syscall.SIGQUIT, some(r, time.Second)) }},
		{"PostgreSQL killed", func(w *world, r *rand.Rand) { w.endPostgres(syscall.SIGKILL, some(r, time.Second)) }},
		{"all backends terminated", func(w *world, _ *rand.Rand) { w.terminate(`true`) }},
		{"LISTEN ended", func(w *world, _ *rand.Rand) { w.terminate(`query ilike 'listen%'`) }},
		{"heartbeats ended", func(w *world, _ *rand.Rand) { w.terminate(`application_name = 'gatehouse presence'`) }},
		{"connections cut", func(w *world, _ *rand.Rand) { w.link.Cut() }},
		{"the database refused", func(w *world, r *rand.Rand) {
			w.link.Refuse(true)
			w.link.Cut()
			time.Sleep(some(r, 2*time.Second))
			w.link.Refuse(false)
		}},
		{"traffic swallowed", func(w *world, r *rand.Rand) {
			w.link.Stall(true)
			time.Sleep(some(r, 3*time.Second))
			w.link.Stall(false)
		}},
		{"the index locked", func(w *world, r *rand.Rand) { w.locked("search_documents", r) }},
		{"the queue locked", func(w *world, r *rand.Rand) { w.locked("river.river_job", r) }},
		{"events locked", func(w *world, r *rand.Rand) { w.locked("events", r) }},
		{"deliveries locked", func(w *world, r *rand.Rand) { w.locked("webhook_deliveries", r) }},
		{"a receiver drops a request", func(w *world, r *rand.Rand) { w.receiver(r, sink.Step{Drop: true, Count: 1}) }},
		{"a receiver fails once", func(w *world, r *rand.Rand) { w.receiver(r, sink.Step{Status: 500, Count: 1}) }},
		{"a receiver asks for patience", func(w *world, r *rand.Rand) {
			w.receiver(r, sink.Step{Status: 503, RetryAfter: "1", Count: 1 + r.IntN(3)})
		}},
		{"a receiver is slow", func(w *world, r *rand.Rand) {
			w.receiver(r, sink.Step{Status: 200, Delay: sink.Duration(some(r, 2*time.Second)), Count: 3})
		}},
	}
}

// Two servers, one PostgreSQL, two receivers, four writers, and a random
// sequence of everything that can go wrong. Afterwards the ledgers agree.
func TestRandomFaults(t *testing.T) {
	eachSchedule(t, *schedules, fmt.Sprintf(" -faults %d", *faultCount), randomFaults)
}

func randomFaults(t *testing.T, n uint64) {
	r := rand.New(rand.NewPCG(n, 11))
	w := newWorld(t, setup{servers: 2, hooks: 2, own: true, durable: true})
	w.load(4, n)
	all, began := mishaps(), time.Now()
	for i := 0; i < *faultCount && time.Since(began) < *faultTime; i++ {
		time.Sleep(some(r, time.Second))
		m := all[r.IntN(len(all))]
		t.Logf("%5.1f s: %s", time.Since(began).Seconds(), m.name)
		m.do(w, r)
	}
	w.heal()
	w.more(20)
	w.stop()
	w.clickRetry()
	w.finish()
}

// clickRetry is the owner who sees deliveries that failed twice and would be
// tried again in five minutes: one click, and the rest of their receiver's
// follow.
func (w *world) clickRetry() {
	w.Helper()
	w.must(blackbox.Eventually(w.Context(), 60*time.Second, func() error {
		rows, err := w.pool.Query(w.Context(), `select id, state::text, attempt from river.river_job
			where kind = 'webhook.deliver' and state = 'retryable' and scheduled_at > clock_timestamp() + interval '15 seconds'`)
		if err != nil {
			return err
		}
		type task struct {
			ID      int64
			State   string
			Attempt int
		}
		late, err := pgx.CollectRows(rows, pgx.RowToStructByPos[task])
		if err != nil || len(late) == 0 {
			return err
		}
		for _, l := range late {
			in := map[string]any{"id": l.ID, "expected_state": l.State, "expected_attempt": l.Attempt}
			if err := w.owner.Call(w.Context(), w.servers[0], "tasks.retry", in, nil); err != nil {
				return err
			}
			w.Logf("the owner retries task %d", l.ID)
		}
		return errors.New("just retried")
	}))
}

// heal waits until all answer. Nobody starts a server again: one that was started while the database was away has waited.
func (w *world) heal() {
	w.Helper()
	for _, s := range w.servers {
		w.must(blackbox.Eventually(w.Context(), 60*time.Second, func() error {
			if code, err := s.Ended(0); err == nil {
				w.Fatalf("%s has given up with %d: %s", s.URL, code, s.Log(2000))
			}
			return s.Answers(w.Context())
		}))
	}
}

func some(r *rand.Rand, most time.Duration) time.Duration {
	return time.Duration(r.Int64N(int64(most)))
}

func (w *world) any(r *rand.Rand) *blackbox.Server { return w.servers[r.IntN(len(w.servers))] }

// end ends a server and starts it again, without waiting until it is ready:
// the next fault may meet it while it starts.
func (w *world) end(s *blackbox.Server, sig syscall.Signal) {
	w.Helper()
	s.Signal(sig)
	again(w.T, s)
}

func (w *world) endPostgres(sig syscall.Signal, away time.Duration) {
	w.Helper()
	w.must(w.cluster.Hurt(w.Context(), sig))
	time.Sleep(away)
	ctx, cancel := context.WithTimeout(w.Context(), time.Minute)
	defer cancel()
	w.must(w.cluster.Again(ctx))
}

func (w *world) locked(table string, r *rand.Rand) {
	w.Helper()
	f := w.hold(table, "access exclusive")
	time.Sleep(some(r, 3*time.Second))
	f.release()
}

// receiver makes one receiver answer the next requests in a way of its own.
func (w *world) receiver(r *rand.Rand, steps ...sink.Step) {
	w.sink.SetPlan(w.hooks[r.IntN(len(w.hooks))], sink.Plan{Steps: append(steps, sink.Step{Status: 200})})
}
