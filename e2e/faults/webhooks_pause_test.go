package faults

import (
	"fmt"
	"net/http/httptest"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/gatehouse-hq/gatehouse/e2e/blackbox"
	"github.com/gatehouse-hq/gatehouse/internal/infra/pg/pgtest"
	"github.com/gatehouse-hq/gatehouse/mock-stack/sink"
)

// A process is suspended in the middle of a request, past its lease, while
// another works on the same database (field case F15). The other takes the
// endpoint over and delivers; the two requests overlap once, under the same
// id; what the first one finds out when it wakes is written down and changes
// nothing.
func TestSuspendedPastItsLease(t *testing.T) {
	t.Parallel()
	receiver := sink.New()
	web := httptest.NewServer(receiver)
	t.Cleanup(web.Close)
	// The first answer comes when all is over: its sender is asleep till then.
	receiver.SetPlan("shop", sink.Plan{Steps: []sink.Step{{Status: 400, Count: 1, Delay: sink.Duration(3 * time.Minute)}}})
	dbURL := pgtest.URL(t)
	pool := open(t, dbURL)
	sleeper := start(t, dbURL, shared()...)
	o, err := blackbox.SetUp(t.Context(), sleeper)
	if err != nil {
		t.Fatal(err)
	}
	call := func(s *blackbox.Server, operation string, in, out any) {
		t.Helper()
		if err := o.Call(t.Context(), s, operation, in, out); err != nil {
			t.Fatal(err)
		}
	}
	var made struct{ Endpoint struct{ ID string } }
	call(sleeper, "webhooks.create", map[string]any{"url": web.URL + "/hook/shop", "event_types": []string{"corpus.note.changed"}}, &made)
	endpoint := made.Endpoint.ID
	call(sleeper, "corpus.create", map[string]any{"genre": "wiki", "title": "In flight", "published": true}, nil)
	waitFor(t, "the request is on its way", func() error { return inFlight(receiver, 1) })
	sleeper.Signal(syscall.SIGSTOP)
	t.Cleanup(func() { sleeper.Signal(syscall.SIGCONT) }) // or it could not be ended
	var first string
	if err := pool.QueryRow(t.Context(), `select event_id::text from webhook_deliveries`).Scan(&first); err != nil {
		t.Fatal(err)
	}

	other := start(t, dbURL, shared()...)
	call(other, "webhooks.redeliver", map[string]any{"endpoint_id": endpoint, "event_ids": []string{first}}, nil)
	for n := range 3 {
		call(other, "corpus.create", map[string]any{"genre": "wiki", "title": fmt.Sprintf("Later %d", n), "published": true}, nil)
	}
	waitFor(t, "the other process has delivered everything", func() error { return delivered(t, pool, 4) })
	if c := receiver.Count("shop"); c.InFlight != 1 || c.MaxInFlight != 2 || receiver.IDs("shop")[first] != 2 {
		t.Errorf("%+v, the first event came %d times", c, receiver.IDs("shop")[first])
	}
	before := standing(t, pool)

	sleeper.Signal(syscall.SIGCONT)
	waitFor(t, "the late attempt is written down", func() error { return lateAttempts(t, pool, 1) })
	waitFor(t, "no task is open", func() error { return nothingWaits(t, pool) })
	waitFor(t, "no task is left", func() error {
		var open int
		err := pool.QueryRow(t.Context(), `select count(*) from river.river_job where kind = 'webhook.deliver' and finalized_at is null`).Scan(&open)
		if err == nil && open > 0 {
			err = fmt.Errorf("%d tasks are open", open)
		}
		return err
	})
	if after := standing(t, pool); after != before {
		t.Errorf("the late result changed %s to %s", before, after)
	}
	// The ledgers: what was owed, what the receiver has, what the log says.
	c := receiver.Count("shop")
	var attempts, numbers int
	err = pool.QueryRow(t.Context(), `select count(*), count(distinct (event_id, number)) from webhook_attempts`).Scan(&attempts, &numbers)
	if err != nil || c.Requests != 5 || c.DistinctIDs != 4 || c.MaxInFlight != 2 || attempts != 5 || numbers != 5 {
		t.Errorf("receiver %+v, %d attempts in the log (%d numbers), %v", c, attempts, numbers, err)
	}
}

func inFlight(receiver *sink.Sink, want int) error {
	if n := receiver.Count("shop").InFlight; n != want {
		return fmt.Errorf("%d requests are in flight", n)
	}
	return nil
}

func delivered(t *testing.T, pool *pgxpool.Pool, want int) error {
	t.Helper()
	var n int
	if err := pool.QueryRow(t.Context(), `select count(*) from webhook_deliveries where state = 'delivered'`).Scan(&n); err != nil {
		return err
	}
	if n != want {
		return fmt.Errorf("%d of %d deliveries are delivered", n, want)
	}
	return nil
}

func lateAttempts(t *testing.T, pool *pgxpool.Pool, want int) error {
	t.Helper()
	var n int
	if err := pool.QueryRow(t.Context(), `select count(*) from webhook_attempts where late`).Scan(&n); err != nil {
		return err
	}
	if n != want {
		return fmt.Errorf("%d late attempts", n)
	}
	return nil
}

// standing is what a late result must not change.
func standing(t *testing.T, pool *pgxpool.Pool) (text string) {
	t.Helper()
	err := pool.QueryRow(t.Context(), `
		select string_agg(format('%s %s settled %s', event_id, state, settled_at), '; ' order by event_id)
			|| (select format(' failing since %s after %s', failing_since, failed_attempts) from webhook_endpoint_state)
		from webhook_deliveries`).Scan(&text)
	if err != nil {
		t.Fatal(err)
	}
	return text
}
