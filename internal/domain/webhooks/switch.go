package webhooks

import (
	"context"
	"errors"
	"fmt"

	"github.com/gatehouse-hq/gatehouse/internal/infra/jobs"
	"github.com/gatehouse-hq/gatehouse/internal/infra/op"
	"github.com/gatehouse-hq/gatehouse/internal/infra/pg"
	"github.com/gatehouse-hq/gatehouse/internal/infra/seal"
)

// Pause switches an endpoint off by its owner's wish. What waits for it and what happens meanwhile is parked.
func (d *Domain) Pause(ctx context.Context, in Ref) (Endpoint, error) {
	var out Endpoint
	err := pg.InTx(ctx, d.DB, func(tx pg.Tx) error {
		r, err := d.live(ctx, tx, in, "for update of e")
		if err != nil {
			return err
		}
		if r.Enabled || r.Reason != reasonPaused {
			if err := d.disable(ctx, tx, r.ID, reasonPaused); err != nil {
				return err
			}
		}
		out, err = d.reread(ctx, tx, r.ID)
		return err
	})
	return out, err
}

// Disable switches an endpoint off because of what its receiver did: gone (410) or failing (the limits of DisableAfter). It
// changes nothing on an endpoint that is off already, and reports whether it did.
func (d *Domain) Disable(ctx context.Context, endpointID, reason string) (bool, error) {
	done := false
	err := pg.InTx(ctx, d.DB, func(tx pg.Tx) error {
		r, err := read(ctx, tx, endpointID, "for update of e")
		if err != nil || !r.Enabled || r.DeletedAt != nil {
			return err
		}
		done = true
		return d.disable(ctx, tx, endpointID, reason)
	})
	return done, err
}

// Gone and Failing are the reasons that Disable takes.
const (
	GoneReason    = reasonGone
	FailingReason = reasonFailing
)

// disable parks what waits. It takes the row of the endpoint's state first, as everyone who writes many deliveries of one
// endpoint does, so that none waits for the other in a circle.
func (d *Domain) disable(ctx context.Context, tx pg.Tx, id, reason string) error {
	if err := lockState(ctx, tx, id); err != nil {
		return err
	}
	if _, err := tx.Exec(ctx, `update public.webhook_endpoints set enabled = false, disabled_reason = $2, disabled_at = clock_timestamp() where id = $1::uuid`, id, reason); err != nil {
		return fmt.Errorf("switch endpoint %s off: %w", id, err)
	}
	if _, err := tx.Exec(ctx, `update public.webhook_deliveries set state = 'parked' where endpoint_id = $1::uuid and state = 'waiting'`, id); err != nil {
		return fmt.Errorf("park deliveries of endpoint %s: %w", id, err)
	}
	if err := d.cancelJobs(ctx, tx, id); err != nil {
		return err
	}
	return d.touch(ctx, tx, id, "enabled")
}

func lockState(ctx context.Context, tx pg.Tx, id string) error {
	if _, err := tx.Exec(ctx, `select from public.webhook_endpoint_state where endpoint_id = $1::uuid for no key update`, id); err != nil {
		return fmt.Errorf("lock the state of endpoint %s: %w", id, err)
	}
	return nil
}

// cancelJobs takes back every waiting task that would send to the endpoint. One that runs looks at its delivery once more
// before it sends.
func (d *Domain) cancelJobs(ctx context.Context, tx pg.Tx, id string) error {
	for _, kind := range []string{DeliverKind, CatchUpKind, RecoverKind} {
		if _, err := d.jobs.With(tx).CancelMatching(ctx, jobs.Match{Kind: kind, Args: map[string]any{"endpoint_id": id}}); err != nil {
			return fmt.Errorf("cancel tasks of endpoint %s: %w", id, err)
		}
	}
	return nil
}

// explainKey puts the loss of the installation's key into words.
func explainKey(err error) error {
	var lost *seal.WrongKeyError
	if errors.As(err, &lost) {
		return op.Wrap(err, op.Unavailable, "The key this endpoint's secrets are sealed under is not the one in use. Put the old key back, or delete the endpoint and create it anew.")
	}
	return err
}
