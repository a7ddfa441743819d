package webhooks_test

import (
	"testing"

	"github.com/gatehouse-hq/gatehouse/internal/domain/webhooks"
)

// Pages that show an endpoint hear of what another window or the receiver did to it, also when no task moves.
func TestThePulseFollowsWhatBecomesOfAnEndpoint(t *testing.T) {
	t.Parallel()
	d, db := newDomain(t)
	seen := map[string]string{}
	differs := func(after string) {
		t.Helper()
		now, err := d.Pulse(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if before, ok := seen[now["tasks"]]; ok {
			t.Errorf("after %s it is as after %s: %q", after, before, now["tasks"])
		}
		seen[now["tasks"]] = after
	}
	differs("nothing")
	one := create(t, d)
	differs("the creation of one")
	create(t, d)
	differs("the creation of another")
	note := "the shop"
	if _, err := d.Update(t.Context(), webhooks.UpdateIn{ID: one.Endpoint.ID, Description: &note}); err != nil {
		t.Fatal(err)
	}
	differs("an edit")
	exec(t, db, `update public.webhook_endpoint_state set failing_since = clock_timestamp() where endpoint_id = $1::uuid`, one.Endpoint.ID)
	differs("a failure")
}
