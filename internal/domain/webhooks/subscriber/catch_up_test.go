package subscriber_test

import (
	"context"
	"testing"
	"time"

	"github.com/gatehouse-hq/gatehouse/internal/domain/webhooks"
	"github.com/gatehouse-hq/gatehouse/mock-stack/sink"
)

// A step of catching up that met a failing receiver waits for minutes; when the receiver answers well again before that,
// what was put off follows at once all the same.
func TestRecoveryDoesNotWaitForAStepThatWasPutOff(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.process.stop()
	h.process = h.start(func(int) time.Duration { return time.Hour })
	h.db = h.process.db
	h.sink.SetPlan("a", sink.Plan{Record: sink.RecordIDs, Steps: []sink.Step{{Status: 500, Count: 1}}})
	id := h.endpoint("a").Endpoint.ID
	first := h.happen(1, "thing.made", `{}`)
	h.status(id, webhooks.Failing)
	const n = 5
	h.happen(n, "thing.made", `{}`) // five minutes out
	eventually(t, "they are owed", func() bool { return h.waiting(id) == n+1 })
	if err := h.domain.CatchUpLater(t.Context(), id); err != nil {
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
