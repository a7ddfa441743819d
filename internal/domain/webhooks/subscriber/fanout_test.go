package subscriber_test

import (
	"context"
	"sync"
	"testing"

	"github.com/gatehouse-hq/gatehouse/internal/domain/webhooks"
)

// A batch that would create more deliveries than one transaction should gives each of its events a task of its own, and
// every delivery is created, once.
func TestManyMatchesAreSplit(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	id := h.endpoint("a").Endpoint.ID
	if _, err := h.domain.Pause(t.Context(), webhooks.Ref{ID: id}); err != nil {
		t.Fatal(err)
	}
	const endpoints, events = 101, 100
	_, err := h.db.Exec(t.Context(), `
with e as (
  insert into webhook_endpoints (owner_id, url, event_types, secrets_enc, enabled, disabled_reason)
  select owner_id, url, event_types, secrets_enc, enabled, disabled_reason from webhook_endpoints, generate_series(2, $1::int) returning id)
insert into webhook_endpoint_state (endpoint_id) select id from e`, endpoints)
	if err != nil {
		t.Fatal(err)
	}
	h.happen(events, "thing.made", `{}`)
	eventually(t, "every delivery is there", func() bool {
		var n int
		err := h.db.QueryRow(context.Background(), `select count(*) from webhook_deliveries where state = 'parked'`).Scan(&n)
		return err == nil && n == endpoints*events
	})
	var tasks int
	if err := h.db.QueryRow(t.Context(), `select count(*) from river.river_job where kind = $1`, webhooks.FanoutKind).Scan(&tasks); err != nil || tasks <= events {
		t.Errorf("%d tasks matched %d events: nothing was split, %v", tasks, events, err)
	}
}

// Pausing and matching at once: whatever is created either waits with a task, or is parked without one. Nothing waits for a
// task that does not exist, and an endpoint that is paused is sent nothing.
func TestPauseWhileEventsAreMatched(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	id := h.endpoint("a").Endpoint.ID
	for range 15 {
		var both sync.WaitGroup
		both.Go(func() { h.happen(20, "thing.made", `{}`) })
		both.Go(func() {
			if _, err := h.domain.Pause(t.Context(), webhooks.Ref{ID: id}); err != nil {
				t.Error(err)
			}
		})
		both.Wait()
		eventually(t, "everything is matched", func() bool { return h.unmatched() == 0 })
		eventually(t, "nothing waits", func() bool { return h.waiting(id) == 0 })
		if _, err := h.domain.Enable(t.Context(), webhooks.EnableIn{ID: id, Parked: webhooks.ParkedDeliver}); err != nil {
			t.Fatal(err)
		}
	}
	eventually(t, "all are delivered", func() bool {
		e, err := h.domain.Get(context.Background(), webhooks.GetIn{ID: id})
		return err == nil && e.Parked.N == 0 && e.Waiting.N == 0
	})
	if c := h.sink.Count("a"); c.DistinctIDs != 15*20 {
		t.Errorf("%d of %d events arrived in %d requests", c.DistinctIDs, 15*20, c.Requests)
	}
}

// unmatched is how many events are not matched to endpoints yet.
func (h *house) unmatched() (n int) {
	err := h.db.QueryRow(context.Background(), `
select (select count(*) from events where fanned_out_at is null)
  + (select count(*) from river.river_job where kind = $1 and finalized_at is null)`, webhooks.FanoutKind).Scan(&n)
	if err != nil {
		h.t.Error(err)
	}
	return n
}
