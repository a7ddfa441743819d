package webhooks

import (
	"context"
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
