package subscriber_test

import (
	"testing"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"github.com/gatehouse-hq/gatehouse/internal/domain/webhooks"
)

func TestDelivers(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	c := h.endpoint("a")
	ids := h.happen(1, "thing.made", `{"text":"ü < \u2028"}`)
	got := h.arrives("a", 1)
	hook, err := standardwebhooks.NewWebhook(c.Secret)
	if err != nil {
		t.Fatal(err)
	}
	if err := hook.Verify(got[0].Body, got[0].Headers); err != nil {
		t.Errorf("signature: %v", err)
	}
	if id := got[0].Headers.Get("Webhook-Id"); id != ids[0] {
		t.Errorf("webhook-id %s, not the event's %s", id, ids[0])
	}
	h.settles(c.Endpoint.ID, ids[0], webhooks.Delivered)
	a, err := h.domain.Attempt(t.Context(), webhooks.AttemptIn{EndpointID: c.Endpoint.ID, EventID: ids[0], Number: 1})
	if err != nil {
		t.Fatal(err)
	}
	if a.Status != 200 || a.Outcome != "delivered" || a.Trigger != webhooks.Automatic || len(a.KeyIDs) != 1 || a.Late {
		t.Errorf("attempt: %+v", a)
	}
}
