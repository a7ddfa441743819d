package webhooks

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/gatehouse-hq/gatehouse/internal/infra/jobs"
	"github.com/gatehouse-hq/gatehouse/internal/infra/pg"
)

// CatchUpArgs are the arguments of a step of catching up.
type CatchUpArgs struct {
	EndpointID string `json:"endpoint_id"`
	Step       int    `json:"step"`
}

const (
	// catchUpEvery is the pause between two steps; step n sends 2^n deliveries: one probe, then 1/s doubling.
	catchUpEvery = time.Second
	// catchUpMost bounds a step. From there on the line's own pacing is what keeps the receiver from being flooded.
	catchUpMost = 1000
	// catchUpFailing is when a step that met a failing receiver looks again. Soon: the receiver may recover at that moment,
	// and whoever notices finds the step running, its twin. A look costs two reads.
	catchUpFailing = 30 * time.Second
)

// CatchUpLater pulls an endpoint's retries forward once tx, which records that it has answered well again, has committed.
func (d *Domain) CatchUpLater(ctx context.Context, tx pg.Tx, endpointID string) error {
	return d.catchUpAt(ctx, d.jobs.With(tx), endpointID, time.Now().Add(catchUpEvery))
}

func (d *Domain) startCatchUp(ctx context.Context, tx pg.Tx, endpointID string) error {
	return d.catchUpAt(ctx, d.jobs.With(tx), endpointID, time.Now())
}

// catchUpAt begins at that time. A step that met a failing receiver and waits for minutes would swallow a new one, being
// its twin: it is what begins instead.
func (d *Domain) catchUpAt(ctx context.Context, queue jobs.Jobs, endpointID string, at time.Time) error {
	_, err := queue.Enqueue(ctx, CatchUpKind, CatchUpArgs{EndpointID: endpointID}, jobs.EnqueueOpts{UniqueByArgs: true, RunAt: at})
	if err == nil {
		_, err = queue.RescheduleMatching(ctx, jobs.Match{Kind: CatchUpKind, Args: map[string]any{"endpoint_id": endpointID}, DueAfter: at.Add(catchUpEvery), Limit: 10}, at)
	}
	if err != nil {
		return fmt.Errorf("catch up with endpoint %s: %w", endpointID, err)
	}
	return nil
}

// CatchUp is one step: parked deliveries first, oldest first, then retries that wait for a late turn. While the receiver
// fails nothing is pushed at it; when the endpoint is off the steps end, and its deliveries stay parked.
func (d *Domain) CatchUp(ctx context.Context, raw json.RawMessage) error {
	var a CatchUpArgs
	if err := json.Unmarshal(raw, &a); err != nil || !pg.ValidUUID(a.EndpointID) || a.Step < 0 {
		return jobs.Discard(errors.New("the arguments name no endpoint"))
	}
	n := catchUpMost
	if a.Step < 10 {
		n = 1 << a.Step
	}
	if off, err := held(ctx, d.DB); err != nil || off {
		return orPutOff(err)
	}
	return pg.InTx(ctx, d.DB, func(tx pg.Tx) error {
		r, err := read(ctx, tx, a.EndpointID, "for share of e")
		if err != nil {
			return jobs.Discard(err)
		}
		if !r.Enabled {
			return nil
		}
		if r.FailingSince != nil {
			return jobs.Snooze(catchUpFailing)
		}
		if err := lockState(ctx, tx, r.ID); err != nil {
			return err
		}
		released, err := d.release(ctx, tx, r.ID, n)
		if err != nil {
			return err
		}
		if released == 0 {
			if released, err = d.pullForward(ctx, tx, r.ID, n); err != nil {
				return err
			}
		}
		jobs.Report(ctx, map[string]int{"deliveries": released})
		if released == 0 {
			return nil
		}
		_, err = d.jobs.With(tx).Enqueue(ctx, CatchUpKind, CatchUpArgs{EndpointID: r.ID, Step: a.Step + 1},
			jobs.EnqueueOpts{UniqueByArgs: true, RunAt: time.Now().Add(catchUpEvery)})
		return err
	})
}

// release gives the oldest parked deliveries a task.
func (d *Domain) release(ctx context.Context, tx pg.Tx, id string, n int) (int, error) {
	rows, err := tx.Query(ctx, `
update public.webhook_deliveries d set state = 'waiting' from (
  select event_id from public.webhook_deliveries where endpoint_id = $1::uuid and state = 'parked' order by event_id limit $2
) p where d.endpoint_id = $1::uuid and d.event_id = p.event_id returning d.event_id::text`, id, n)
	if err != nil {
		return 0, fmt.Errorf("release parked deliveries: %w", err)
	}
	ids, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return 0, fmt.Errorf("release parked deliveries: %w", err)
	}
	inserts := make([]jobs.Insert, len(ids))
	for i, event := range ids {
		inserts[i] = jobs.Insert{Kind: DeliverKind, Args: DeliverArgs{EndpointID: id, EventID: event}, Cause: pg.Cause{Event: event},
			EnqueueOpts: jobs.EnqueueOpts{Queue: BacklogQueue}}
	}
	if len(inserts) == 0 {
		return 0, nil
	}
	_, err = d.jobs.With(tx).EnqueueMany(ctx, inserts)
	return len(ids), err
}

// pullForward brings to now what waits for a later turn, oldest task first.
func (d *Domain) pullForward(ctx context.Context, tx pg.Tx, id string, n int) (int, error) {
	now := time.Now()
	moved, err := d.jobs.With(tx).RescheduleMatching(ctx, jobs.Match{Kind: DeliverKind, Args: map[string]any{"endpoint_id": id}, DueAfter: now, Limit: n}, now)
	if err != nil {
		return 0, fmt.Errorf("pull retries forward: %w", err)
	}
	return moved, nil
}
