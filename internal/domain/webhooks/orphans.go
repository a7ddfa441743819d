package webhooks

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/gatehouse-hq/gatehouse/internal/infra/jobs"
)

// orphan is a delivery that has waited for long. Job is the task of its last attempt, 0 before the first.
type orphan struct {
	Endpoint, Event string
	Job             jobs.ID
}

// settleOrphans settles waiting deliveries whose task has ended without a word, which a crash or a task given up for its
// age can bring about: nothing waits for ever unseen.
func (d *Domain) settleOrphans(ctx context.Context) (n int, err error) {
	rows, err := d.DB.Query(ctx, `
select endpoint_id::text, event_id::text, coalesce(job_id, 0) from (
  select * from public.webhook_deliveries where state = 'waiting' and created_at < clock_timestamp() - interval '1 hour' limit 20000) w
order by random() limit 500`)
	if err != nil {
		return 0, fmt.Errorf("find deliveries without a task: %w", err)
	}
	list, err := pgx.CollectRows(rows, pgx.RowToStructByPos[orphan])
	if err != nil {
		return 0, fmt.Errorf("find deliveries without a task: %w", err)
	}
	for _, o := range list {
		state, ended, err := d.endOf(ctx, o)
		if err != nil {
			return n, err
		}
		if !ended {
			continue
		}
		tag, err := d.DB.Exec(ctx, `
update public.webhook_deliveries set state = $3, settled_at = clock_timestamp(), last_error = case when last_error = '' then $5 else last_error end
where endpoint_id = $1::uuid and event_id = $2::uuid and state = 'waiting' and coalesce(job_id, 0) = $4`,
			o.Endpoint, o.Event, state, int64(o.Job), "its task ended before it was sent")
		if err != nil {
			return n, fmt.Errorf("settle a delivery without a task: %w", err)
		}
		n += int(tag.RowsAffected())
	}
	return n, nil
}

// endOf says whether no task stands for the delivery any more, and what that makes of it.
func (d *Domain) endOf(ctx context.Context, o orphan) (state DeliveryState, ended bool, err error) {
	var last jobs.State
	if o.Job != 0 {
		j, err := d.inspect.Get(ctx, o.Job)
		if err != nil && !errors.Is(err, jobs.ErrNotFound) {
			return "", false, err
		}
		if err == nil && !j.State.Final() {
			return "", false, nil
		}
		last = j.State
	}
	// The task of the last attempt may have been one beside the schedule: look for any other.
	page, err := d.inspect.List(ctx, jobs.Filter{Args: map[string]string{"endpoint_id": o.Endpoint, "event_id": o.Event}, Limit: 100})
	if err != nil {
		return "", false, fmt.Errorf("look for the task of delivery %s: %w", o.Event, err)
	}
	for i, j := range page.Jobs {
		if !j.State.Final() {
			return "", false, nil
		}
		if i == 0 && o.Job == 0 {
			last = j.State
		}
	}
	if last == jobs.Cancelled {
		return Cancelled, true, nil
	}
	return Failed, true, nil
}
