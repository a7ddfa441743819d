package webhooks

import (
	"context"
	"fmt"

	"github.com/gatehouse-hq/gatehouse/internal/infra/egress"
	"github.com/gatehouse-hq/gatehouse/internal/infra/pg"
)

// DeleteOut says what the deletion took back.
type DeleteOut struct {
	Cancelled int `json:"cancelled" jsonschema:"deliveries that were waiting or parked"`
}

// Delete forgets an endpoint's address and secrets, and cancels its open deliveries with their tasks, all at once. Its log
// stays readable as long as any other's.
func (d *Domain) Delete(ctx context.Context, in Ref) (DeleteOut, error) {
	var out DeleteOut
	err := pg.InTx(ctx, d.DB, func(tx pg.Tx) error {
		r, err := d.live(ctx, tx, in, "for update of e")
		if err != nil {
			return err
		}
		if err := lockState(ctx, tx, r.ID); err != nil {
			return err
		}
		tag, err := tx.Exec(ctx, `
update public.webhook_deliveries set state = 'cancelled', settled_at = clock_timestamp()
where endpoint_id = $1::uuid and state in ('waiting', 'parked')`, r.ID)
		if err != nil {
			return fmt.Errorf("cancel deliveries of endpoint %s: %w", r.ID, err)
		}
		out.Cancelled = int(tag.RowsAffected())
		if err := d.cancelJobs(ctx, tx, r.ID); err != nil {
			return err
		}
		_, err = tx.Exec(ctx, `
update public.webhook_endpoints set url = $2, headers = '[]', secrets_enc = null, enabled = false, deleted_at = clock_timestamp()
where id = $1::uuid`, r.ID, egress.Redact(r.URL))
		if err != nil {
			return fmt.Errorf("delete endpoint %s: %w", r.ID, err)
		}
		return d.touch(ctx, tx, r.ID, "enabled")
	})
	return out, err
}
