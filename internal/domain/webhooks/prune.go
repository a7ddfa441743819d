package webhooks

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/gatehouse-hq/gatehouse/internal/infra/jobs"
	"github.com/gatehouse-hq/gatehouse/internal/infra/pg"
)

// NeededEvents is the bus's retention guard: an event stays while one of its deliveries waits, is parked or has failed.
func NeededEvents(ctx context.Context, q pg.Querier, ids []string) ([]string, error) {
	// By the primary key of each endpoint: an index on the event alone would cost every delivery a write.
	rows, err := q.Query(ctx, `
select distinct d.event_id::text from public.webhook_endpoints e join public.webhook_deliveries d on d.endpoint_id = e.id
where d.event_id = any($1::uuid[]) and d.state in ('waiting', 'parked', 'failed')`, ids)
	if err != nil {
		return nil, fmt.Errorf("ask which events deliveries need: %w", err)
	}
	return pgx.CollectRows(rows, pgx.RowTo[string])
}

const pruneStep = 5000

// Prune ends what has been kept long enough: parked deliveries are dropped, settled ones forgotten, and deleted endpoints
// with nothing left in the log as well. Deliveries whose task was taken from them are settled.
func (d *Domain) Prune(ctx context.Context) error {
	tag, err := d.DB.Exec(ctx, `
update public.webhook_deliveries set state = 'dropped', settled_at = clock_timestamp()
where state = 'parked' and created_at < clock_timestamp() - $1::interval`, ParkedKept)
	if err != nil {
		return fmt.Errorf("drop what was parked too long: %w", err)
	}
	dropped := tag.RowsAffected()
	var deleted int64
	for ctx.Err() == nil {
		tag, err := d.DB.Exec(ctx, `
delete from public.webhook_deliveries where ctid = any(array(
  select ctid from public.webhook_deliveries where settled_at < clock_timestamp() - $1::interval and state not in ('waiting', 'parked') limit $2))`, LogKept, pruneStep)
		if err != nil {
			return fmt.Errorf("forget settled deliveries: %w", err)
		}
		deleted += tag.RowsAffected()
		if tag.RowsAffected() < pruneStep {
			break
		}
	}
	if _, err := d.DB.Exec(ctx, `
delete from public.webhook_endpoints e where deleted_at < clock_timestamp() - $1::interval
  and not exists (select from public.webhook_deliveries d where d.endpoint_id = e.id)`, LogKept); err != nil {
		return fmt.Errorf("forget deleted endpoints: %w", err)
	}
	orphans, err := d.settleOrphans(ctx)
	if err != nil {
		return err
	}
	jobs.Report(ctx, map[string]int64{"dropped_parked": dropped, "deleted": deleted, "orphans": int64(orphans)})
	return ctx.Err()
}

// settleOrphans settles waiting deliveries whose task has ended: cancelled by hand, or given up for its age.
func (d *Domain) settleOrphans(ctx context.Context) (n int, err error) {
	rows, err := d.DB.Query(ctx, `
select endpoint_id::text, event_id::text, job_id from (
  select * from public.webhook_deliveries where state = 'waiting' and job_id is not null and created_at < clock_timestamp() - interval '1 hour' limit 20000) w
order by random() limit 500`)
	if err != nil {
		return 0, fmt.Errorf("find deliveries without a task: %w", err)
	}
	type candidate struct {
		Endpoint, Event string
		Job             jobs.ID
	}
	list, err := pgx.CollectRows(rows, pgx.RowToStructByPos[candidate])
	if err != nil {
		return 0, fmt.Errorf("find deliveries without a task: %w", err)
	}
	for _, c := range list {
		j, err := d.inspect.Get(ctx, c.Job)
		if err != nil && !errors.Is(err, jobs.ErrNotFound) {
			return n, err
		}
		if err == nil && !j.State.Final() {
			continue
		}
		state := Failed
		if j.State == jobs.Cancelled {
			state = Cancelled
		}
		tag, err := d.DB.Exec(ctx, `
update public.webhook_deliveries set state = $3, settled_at = clock_timestamp()
where endpoint_id = $1::uuid and event_id = $2::uuid and state = 'waiting' and job_id = $4`, c.Endpoint, c.Event, state, int64(c.Job))
		if err != nil {
			return n, fmt.Errorf("settle a delivery without a task: %w", err)
		}
		n += int(tag.RowsAffected())
	}
	return n, nil
}
