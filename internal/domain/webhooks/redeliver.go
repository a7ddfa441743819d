package webhooks

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/gatehouse-hq/gatehouse/internal/infra/jobs"
	"github.com/gatehouse-hq/gatehouse/internal/infra/op"
	"github.com/gatehouse-hq/gatehouse/internal/infra/pg"
)

// RedeliverIn names deliveries of one endpoint to send again.
type RedeliverIn struct {
	EndpointID string   `json:"endpoint_id"`
	EventIDs   []string `json:"event_ids" jsonschema:"1 to 100 events"`
}

// RedeliverOut says what was queued.
type RedeliverOut struct {
	Queued int       `json:"queued"`
	Jobs   []jobs.ID `json:"jobs"`
}

// again is one delivery to be sent again, with its state as it was. An empty state means that there was none.
type again struct {
	Event string
	State DeliveryState
}

// Redeliver sends deliveries again, each as a task of its own, under the id they always had. A delivery that still waits
// for its own turn keeps it.
func (d *Domain) Redeliver(ctx context.Context, in RedeliverIn) (RedeliverOut, error) {
	out := RedeliverOut{Jobs: []jobs.ID{}}
	if len(in.EventIDs) < 1 || len(in.EventIDs) > 100 {
		return out, op.Invalidf("event_ids", "Name 1 to 100 deliveries.")
	}
	for _, id := range in.EventIDs {
		if !pg.ValidUUID(id) {
			return out, errNoDelivery
		}
	}
	err := pg.InTx(ctx, d.DB, func(tx pg.Tx) error {
		if err := unlessHeld(ctx, tx); err != nil {
			return err
		}
		r, err := d.sendable(ctx, tx, in.EndpointID)
		if err != nil {
			return err
		}
		rows, err := tx.Query(ctx, `
select d.event_id::text, d.state from public.webhook_deliveries d join public.events ev on ev.id = d.event_id
where d.endpoint_id = $1::uuid and d.event_id = any($2::uuid[]) and d.trigger <> 'test' order by d.event_id for update of d`, r.ID, in.EventIDs)
		if err != nil {
			return fmt.Errorf("read deliveries: %w", err)
		}
		list, err := pgx.CollectRows(rows, pgx.RowToStructByPos[again])
		if err != nil {
			return fmt.Errorf("read deliveries: %w", err)
		}
		if len(list) == 0 {
			return op.Errorf(op.Conflict, "None of these can be sent again: their events are no longer kept, or they were tests.")
		}
		made, err := d.sendAgain(ctx, tx, r.ID, list, Manual)
		for _, m := range made {
			out.Jobs = append(out.Jobs, m.ID)
		}
		out.Queued = len(made)
		return err
	})
	return out, err
}

// sendable reads an endpoint that can be sent to.
func (d *Domain) sendable(ctx context.Context, tx pg.Tx, id string) (row, error) {
	r, err := d.live(ctx, tx, Ref{ID: id}, "for share of e")
	if err != nil {
		return r, err
	}
	if !r.Enabled {
		return r, op.Errorf(op.Conflict, "The endpoint is switched off. Switch it on first.")
	}
	return r, lockState(ctx, tx, r.ID)
}

// sendAgain gives each delivery a task with a request of its own. What was settled waits again, save what was delivered:
// it stays so, whatever comes of the repetition.
func (d *Domain) sendAgain(ctx context.Context, tx pg.Tx, endpointID string, list []again, trigger Trigger) ([]jobs.Result, error) {
	now, err := pg.Now(ctx, tx)
	if err != nil {
		return nil, err
	}
	ids := make([]string, len(list))
	inserts := make([]jobs.Insert, len(list))
	actor := pg.CauseFrom(ctx).Actor
	for i, a := range list {
		ids[i] = a.Event
		inserts[i] = jobs.Insert{Kind: DeliverKind, Cause: pg.Cause{Actor: actor, Event: a.Event},
			Args: DeliverArgs{EndpointID: endpointID, EventID: a.Event, RequestID: requestID(now, i), Trigger: trigger,
				RequestedAt: &now, Actor: actor, Aside: a.State == Waiting || a.State == Delivered}}
		if trigger == ByRecovery {
			inserts[i].Queue = BacklogQueue
		}
	}
	_, err = tx.Exec(ctx, `
insert into public.webhook_deliveries as d (endpoint_id, event_id, state, trigger)
select $1::uuid, id, 'waiting', $3 from unnest($2::uuid[]) id
on conflict (endpoint_id, event_id) do update set state = 'waiting', settled_at = null where d.state not in ('waiting', 'delivered')`,
		endpointID, ids, trigger)
	if err != nil {
		return nil, fmt.Errorf("queue deliveries again: %w", err)
	}
	return d.jobs.With(tx).EnqueueMany(ctx, inserts)
}

// requestID tells one wish from another; it only has to differ within a delivery.
func requestID(now time.Time, i int) string { return fmt.Sprintf("%d-%d", now.UnixMicro(), i) }
