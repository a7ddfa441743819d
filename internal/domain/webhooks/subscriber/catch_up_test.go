package subscriber_test

import (
	"context"
	"testing"
	"time"

	"github.com/gatehouse-hq/gatehouse/internal/domain/webhooks"
	"github.com/gatehouse-hq/gatehouse/internal/infra/jobs"
	"github.com/gatehouse-hq/gatehouse/internal/infra/pg"
)

// A step of catching up that met a failing receiver waits for minutes; when the receiver answers well again before that,
// what was put off follows at once all the same.
func TestRecoveryDoesNotWaitForAStepThatWasPutOff(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	id, first := h.failingOnce()
	const n = 5
	h.happen(n, "thing.made", `{}`) // five minutes out
	eventually(t, "they are owed", func() bool { return h.waiting(id) == n+1 })
	err := pg.InTx(t.Context(), h.db, func(tx pg.Tx) error { return h.domain.CatchUpLater(t.Context(), tx, id) })
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, "the step is put off", func() bool {
		var away int
		err := h.db.QueryRow(context.Background(), `select count(*) from river.river_job where kind = 'webhook.catch_up' and state = 'scheduled' and (metadata ->> 'snoozed')::int > 0`).Scan(&away)
		return err == nil && away == 1
	})
	if _, err := h.domain.Redeliver(t.Context(), webhooks.RedeliverIn{EndpointID: id, EventIDs: first}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "all are delivered", func() bool { return h.sink.Count("a").DistinctIDs == n+1 })
}

// A process that dies between the success that ends an endpoint's failing and the word to catch up leaves nothing behind
// that waits for its own hour: both happen or neither.
func TestRecoveryIsWrittenWithItsCatchingUp(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	id, first := h.failingOnce()
	const n = 5
	h.happen(n, "thing.made", `{}`) // five minutes out
	eventually(t, "they are owed", func() bool { return h.waiting(id) == n+1 })
	// The database ends the session at that very point, once.
	_, err := h.db.Exec(t.Context(), `
create sequence public.deaths;
create function public.die_once() returns trigger language plpgsql as $$
begin
  if new.kind = 'webhook.catch_up' and nextval('public.deaths') = 1 then perform pg_terminate_backend(pg_backend_pid()); end if;
  return new;
end $$;
create trigger die_once before insert on river.river_job for each row execute function public.die_once()`)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := h.domain.Redeliver(t.Context(), webhooks.RedeliverIn{EndpointID: id, EventIDs: first}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "all are delivered", func() bool {
		// The repetition that met the dead session would be tried again in an hour.
		m := jobs.Match{Kind: webhooks.DeliverKind, Args: map[string]any{"trigger": webhooks.Manual}, DueAfter: time.Now().Add(time.Minute)}
		if _, err := h.runtime.RescheduleMatching(context.Background(), m, time.Now()); err != nil {
			t.Fatal(err)
		}
		return h.sink.Count("a").DistinctIDs == n+1 && h.waiting(id) == 0
	})
	var died bool
	if err := h.db.QueryRow(t.Context(), `select is_called from public.deaths`).Scan(&died); err != nil || !died {
		t.Errorf("no session died: %v", err)
	}
}
