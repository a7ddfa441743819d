package subscriber_test

import (
	"testing"
	"time"

	"github.com/gatehouse-hq/gatehouse/internal/domain/webhooks"
	"github.com/gatehouse-hq/gatehouse/mock-stack/sink"
)

// Deliver again, pressed twice while the first request is on its way: one request at a time, one for each numbered attempt,
// all under one id (field case F15).
func TestAgainTwiceDuringAFlight(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.sink.SetPlan("a", sink.Plan{Steps: []sink.Step{{Status: 200, Delay: sink.Duration(time.Second)}}})
	id := h.endpoint("a").Endpoint.ID
	event := h.happen(1, "thing.made", `{}`)[0]
	h.arrivesInFlight("a")
	for range 2 {
		if _, err := h.domain.Redeliver(t.Context(), webhooks.RedeliverIn{EndpointID: id, EventIDs: []string{event}}); err != nil {
			t.Fatal(err)
		}
	}
	h.settles(id, event, webhooks.Delivered)
	eventually(t, "nothing is left to do", func() bool { return h.openDeliveries() == 0 })
	c := h.sink.Count("a")
	attempts := h.attempts(id, event)
	// The first answer came after both were asked for, and is what they wanted.
	if c.MaxInFlight != 1 || c.DistinctIDs != 1 || c.Requests != len(attempts) || c.Requests > 3 {
		t.Errorf("%+v with %d attempts", c, len(attempts))
	}
	for i, a := range attempts {
		if a.Number != i+1 || a.Late {
			t.Errorf("attempt %+v", a)
		}
	}
}

func (h *house) openDeliveries() (n int) {
	if err := h.db.QueryRow(h.t.Context(), `select count(*) from river.river_job where kind = 'webhook.deliver' and finalized_at is null`).Scan(&n); err != nil {
		h.t.Error(err)
	}
	return n
}

// A receiver that dislikes every fifth event is a healthy one, and stays on (field case F19).
func TestRefusalsAmongSuccessesSwitchNothingOff(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	var steps []sink.Step
	for range 10 {
		steps = append(steps, sink.Step{Status: 400, Count: 1}, sink.Step{Status: 200, Count: 4})
	}
	h.sink.SetPlan("a", sink.Plan{Record: sink.RecordIDs, Steps: steps})
	id := h.endpoint("a").Endpoint.ID
	h.happen(50, "thing.made", `{}`)
	h.arrives("a", 50)
	eventually(t, "all are settled", func() bool { return h.waiting(id) == 0 })
	e, err := h.domain.Get(t.Context(), webhooks.GetIn{ID: id})
	if err != nil || e.Status != webhooks.On || e.Failed.N != 10 {
		t.Errorf("endpoint %+v, %v", e, err)
	}
	alerts, err := h.domain.Alerts(t.Context())
	if err != nil || len(alerts) != 0 {
		t.Errorf("alerts %+v, %v", alerts, err)
	}
}
