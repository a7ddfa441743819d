package subscriber_test

import (
	"context"
	"testing"
	"time"

	"github.com/gatehouse-hq/gatehouse/internal/domain/webhooks"
	"github.com/gatehouse-hq/gatehouse/mock-stack/sink"
)

// The owner's limit holds also for a burst.
func TestMaxPerSecond(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	if _, err := h.domain.Create(t.Context(), webhooks.CreateIn{URL: h.hook + "a", EventTypes: []string{"thing.made"}, MaxPerSecond: 10}); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	h.happen(15, "thing.made", `{}`)
	got := h.arrives("a", 15)
	// Each is due a tenth of a second after the one before at the earliest. How long one is on its way differs, so that two
	// may arrive close to each other; none arrives before it was due.
	for i, r := range got {
		if after := r.ReceivedAt.Sub(began); after < time.Duration(i)*100*time.Millisecond {
			t.Errorf("request %d came %s after the beginning", i+1, after)
		}
	}
}

// A backlog at a slow receiver is drained one at a time, without a storm of snoozes.
func TestBacklogWithoutAStorm(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.sink.SetPlan("a", sink.Plan{Record: sink.RecordIDs, Steps: []sink.Step{{Delay: sink.Duration(20 * time.Millisecond)}}})
	h.endpoint("a")
	const n = 200
	h.happen(n, "thing.made", `{}`)
	h.arrives("a", n)
	if c := h.sink.Count("a"); c.MaxInFlight != 1 || c.DistinctIDs != n || c.Requests != n {
		t.Errorf("%+v", c)
	}
	var snoozes int
	err := h.db.QueryRow(context.Background(), `select coalesce(sum((metadata ->> 'snoozed')::int), 0) from river.river_job where kind = 'webhook.deliver'`).Scan(&snoozes)
	if err != nil || snoozes > 6*n {
		t.Errorf("%d snoozes for %d deliveries, %v", snoozes, n, err)
	}
}

// A test goes before a backlog: whoever pressed the button is looking on.
func TestATestGoesBeforeABacklog(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	other := h.start(nil)
	h.sink.SetPlan("a", sink.Plan{Record: sink.RecordIDs, Steps: []sink.Step{{Delay: sink.Duration(100 * time.Millisecond)}}})
	id := h.endpoint("a").Endpoint.ID
	const n = 200
	h.happen(n, "thing.made", `{}`)
	h.arrives("a", 5)
	for _, p := range []*process{h.process, other} { // one of them is not the one that is at it
		out, err := p.domain.SendTest(t.Context(), webhooks.TestIn{ID: id})
		if err != nil {
			t.Fatal(err)
		}
		h.settles(id, out.EventID, webhooks.Delivered)
	}
	if c := h.sink.Count("a"); c.Requests > n/2 || c.MaxInFlight != 1 {
		t.Errorf("two tests were through after %d of %d requests, %d at once", c.Requests, n, c.MaxInFlight)
	}
}
