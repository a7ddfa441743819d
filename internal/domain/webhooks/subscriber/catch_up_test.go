package subscriber_test

import (
	"context"
	"testing"

	"github.com/gatehouse-hq/gatehouse/internal/domain/webhooks"
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
