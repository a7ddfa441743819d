package webhooks

import (
	"context"
	"fmt"
	"time"

	"github.com/gatehouse-hq/gatehouse/internal/infra/jobs"
	"github.com/gatehouse-hq/gatehouse/internal/infra/op"
	"github.com/gatehouse-hq/gatehouse/internal/infra/pg"
)

// testWait is how long SendTest waits: longer than an attempt may take.
const testWait = 13 * time.Second

// TestIn names the endpoint to test; it may be paused or off.
type TestIn struct {
	ID string `json:"id"`
}

// TestOut is what the receiver answered.
type TestOut struct {
	EventID string   `json:"event_id"`
	Attempt *Attempt `json:"attempt,omitempty" jsonschema:"absent while it is still under way"`
}

// SendTest sends one webhook.test to the endpoint, once, and waits for the answer. It says nothing about the endpoint's
// health, is never repeated, and its task completes whatever the receiver says. While the receiver has asked for no request
// it is refused.
func (d *Domain) SendTest(ctx context.Context, in TestIn) (TestOut, error) {
	var out TestOut
	var job jobs.ID
	err := pg.InTx(ctx, d.DB, func(tx pg.Tx) error {
		if err := unlessHeld(ctx, tx); err != nil {
			return err
		}
		r, err := d.live(ctx, tx, Ref{ID: in.ID}, "for share of e")
		if err != nil {
			return err
		}
		if _, err := d.Open(r.ID, r.Sealed); err != nil {
			return explainKey(err)
		}
		if r.NotBefore != nil { // it would wait unseen, for up to ten hours
			return op.Errorf(op.Conflict, "The receiver asked for no request before %s. Send the test then; nothing was sent now.", r.NotBefore.UTC().Format("2 January 15:04:05 UTC"))
		}
		if out.EventID, err = recordTest(ctx, d.Recorder.With(tx), r.OwnerID, r.ID); err != nil {
			return err
		}
		_, err = tx.Exec(ctx, `
insert into public.webhook_deliveries (endpoint_id, event_id, state, trigger) values ($1::uuid, $2::uuid, 'waiting', 'test')`, r.ID, out.EventID)
		if err != nil {
			return fmt.Errorf("insert test delivery: %w", err)
		}
		job, err = d.jobs.With(tx).Enqueue(ctx, TestKind, DeliverArgs{EndpointID: r.ID, EventID: out.EventID, Trigger: Test,
			Actor: pg.CauseFrom(ctx).Actor}, jobs.EnqueueOpts{})
		return err
	})
	if err != nil {
		return out, err
	}
	if _, ended := d.wait(ctx, job, testWait); !ended {
		return out, nil
	}
	list, err := attempts(ctx, d.DB, in.ID, out.EventID)
	if err == nil && len(list) > 0 {
		out.Attempt = &list[len(list)-1]
	}
	return out, err
}
