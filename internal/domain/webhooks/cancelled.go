package webhooks

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/gatehouse-hq/gatehouse/internal/infra/pg"
)

// TaskCancelled settles the delivery whose task a person cancelled, or it would wait for ever. A task beside the
// delivery's own schedule changes nothing: that schedule goes on.
func (d *Domain) TaskCancelled(ctx context.Context, tx pg.Tx, raw json.RawMessage) error {
	var a DeliverArgs
	if err := json.Unmarshal(raw, &a); err != nil || a.Aside || !pg.ValidUUID(a.EndpointID) || !pg.ValidUUID(a.EventID) {
		return nil // it names no delivery, or none of its own
	}
	_, err := tx.Exec(ctx, `
update public.webhook_deliveries set state = 'cancelled', settled_at = clock_timestamp()
where endpoint_id = $1::uuid and event_id = $2::uuid and state = 'waiting'`, a.EndpointID, a.EventID)
	if err != nil {
		return fmt.Errorf("settle a cancelled delivery: %w", err)
	}
	return nil
}
