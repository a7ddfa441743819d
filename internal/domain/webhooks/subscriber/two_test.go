package subscriber_test

import (
	"context"
	"testing"
	"time"

	"github.com/gatehouse-hq/gatehouse/internal/domain/webhooks"
	"github.com/gatehouse-hq/gatehouse/mock-stack/sink"
)

// Two processes on one database: one request at a time for each endpoint, everything once.
func TestTwoProcesses(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.start(nil)
	h.sink.SetPlan("a", sink.Plan{Steps: []sink.Step{{Delay: sink.Duration(2 * time.Millisecond)}}})
	h.endpoint("a")
	h.endpoint("b")
	const n = 300
	for range 6 {
		h.happen(n/6, "thing.made", `{}`)
	}
	for _, hook := range []string{"a", "b"} {
		h.arrives(hook, n)
		c := h.sink.Count(hook)
		if c.MaxInFlight != 1 || c.DistinctIDs != n || c.Requests != n {
			t.Errorf("%s: %+v", hook, c)
		}
	}
}

// A change made in one process is known in the other before its next request.
func TestChangeIsHeardElsewhere(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	other := h.start(nil)
	c := h.endpoint("a")
	h.happen(1, "thing.made", `{}`)
	h.arrives("a", 1)
	url := h.hook + "b"
	if _, err := other.domain.Update(t.Context(), webhooks.UpdateIn{ID: c.Endpoint.ID, URL: &url}); err != nil {
		t.Fatal(err)
	}
	h.happen(3, "thing.made", `{}`)
	h.arrives("b", 3)
	if n := h.sink.Count("a").Requests; n != 1 {
		t.Errorf("%d requests at the old address", n)
	}
}

// A process that lost its lease while it waited for the answer writes it down and changes nothing (field case F15).
func TestLateFinisher(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.sink.SetPlan("a", sink.Plan{Steps: []sink.Step{{Status: 400, Count: 1, Delay: sink.Duration(5 * time.Second)}}})
	c := h.endpoint("a")
	id := h.happen(1, "thing.made", `{}`)[0]
	eventually(t, "the request is on its way", func() bool { return h.sink.Count("a").InFlight == 1 })
	// Another process takes over, as it may once the term has passed, and has delivered meanwhile.
	_, err := h.db.Exec(t.Context(), `update webhook_endpoint_state set lease_token = gen_random_uuid(), busy_until = clock_timestamp() + interval '500 milliseconds'`)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := h.db.Exec(t.Context(), `update webhook_deliveries set state = 'delivered', settled_at = clock_timestamp()`); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the late attempt is logged", func() bool { return len(h.attempts(c.Endpoint.ID, id)) == 1 })
	if a := h.attempts(c.Endpoint.ID, id)[0]; !a.Late || a.Outcome != "rejected" {
		t.Errorf("attempt %+v", a)
	}
	h.settles(c.Endpoint.ID, id, webhooks.Delivered)
	e, err := h.domain.Get(t.Context(), webhooks.GetIn{ID: c.Endpoint.ID})
	if err != nil || e.FailingSince != nil {
		t.Errorf("the late answer counts as a failure: %+v, %v", e, err)
	}
	eventually(t, "the task is over without another request", func() bool {
		var open int
		err := h.db.QueryRow(context.Background(), `select count(*) from river.river_job where kind = 'webhook.deliver' and finalized_at is null`).Scan(&open)
		return err == nil && open == 0
	})
	if n := h.sink.Count("a").Requests; n != 1 {
		t.Errorf("%d requests", n)
	}
}

// One slow endpoint holds nobody up, and is asked once at a time (field case F15).
func TestSlowEndpointHoldsNobodyUp(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	// Asked for 30 events one after the other, it would take four minutes.
	h.sink.SetPlan("slow", sink.Plan{Steps: []sink.Step{{Delay: sink.Duration(8 * time.Second)}}})
	h.endpoint("slow")
	h.happen(30, "thing.made", `{}`)
	h.arrivesInFlight("slow")
	h.endpoint("fast", webhooks.NoteChangedType)
	h.happen(20, webhooks.NoteChangedType, `{"genre":"wiki","published":true}`)
	h.arrives("fast", 20)
	if c := h.sink.Count("slow"); c.MaxInFlight != 1 || c.Requests == 30 {
		t.Errorf("slow endpoint: %+v", c)
	}
}

// Failing sets the time, a success clears it and pulls retries forward; the limits need time, attempts and days (F19).
func TestFailingAndRecovering(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	id, first := h.failingOnce()
	second := h.happen(3, "thing.made", `{}`) // starts five minutes out
	eventually(t, "it is owed", func() bool { return h.waiting(id) == 4 })
	if n := h.sink.Count("a").Requests; n != 1 {
		t.Errorf("%d requests into the wall", n)
	}
	if _, err := h.domain.Redeliver(t.Context(), webhooks.RedeliverIn{EndpointID: id, EventIDs: first}); err != nil {
		t.Fatal(err)
	}
	for _, e := range append(first, second...) {
		h.settles(id, e, webhooks.Delivered)
	}
	h.status(id, webhooks.On)
}

func TestSwitchedOffAtTheLimit(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.sink.SetPlan("a", sink.Plan{Steps: []sink.Step{{Status: 400}}})
	c := h.endpoint("a")
	id := c.Endpoint.ID
	h.happen(1, "thing.made", `{}`)
	h.status(id, webhooks.Failing)
	age := func(days string, attempts, on int) {
		_, err := h.db.Exec(t.Context(), `update webhook_endpoint_state set failing_since = clock_timestamp() - $1::interval, failed_attempts = $2, failed_days = $3`, days, attempts, on)
		if err != nil {
			t.Fatal(err)
		}
	}
	fail := func() {
		t.Helper()
		e := h.happen(1, "thing.made", `{}`)[0]
		h.settles(id, e, webhooks.Waiting)
		if _, err := h.domain.Redeliver(t.Context(), webhooks.RedeliverIn{EndpointID: id, EventIDs: []string{e}}); err != nil {
			t.Fatal(err)
		}
		eventually(t, "it failed", func() bool { return len(h.attempts(id, e)) == 1 })
	}
	age("6 days", 1, 2) // two failures six days apart
	fail()
	h.status(id, webhooks.Failing)
	alerts, err := h.domain.Alerts(t.Context())
	if err != nil || len(alerts) != 1 || alerts[0].Code != "webhook_failing" {
		t.Errorf("alerts %+v, %v", alerts, err)
	}
	age("6 days", 9, 3)
	fail()
	h.status(id, webhooks.Off)
	if n := h.waiting(id); n != 0 {
		t.Errorf("%d still wait", n)
	}
}

func (h *house) status(endpoint string, want webhooks.Status) {
	h.t.Helper()
	eventually(h.t, "endpoint is "+string(want), func() bool {
		e, err := h.domain.Get(context.Background(), webhooks.GetIn{ID: endpoint})
		return err == nil && e.Status == want
	})
}

func (h *house) waiting(endpoint string) (n int) {
	if err := h.db.QueryRow(context.Background(), `select count(*) from webhook_deliveries where endpoint_id = $1::uuid and state = 'waiting'`, endpoint).Scan(&n); err != nil {
		h.t.Error(err)
	}
	return n
}

func (h *house) arrivesInFlight(hook string) {
	h.t.Helper()
	eventually(h.t, "a request in flight", func() bool { return h.sink.Count(hook).InFlight > 0 })
}
