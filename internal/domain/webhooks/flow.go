package webhooks

import (
	"context"
	"fmt"
	"time"
)

// Flow counts the attempts begun in [from, to) that delivered and those that did not, tests left out. It walks the log's
// index of each endpoint.
func (d *Domain) Flow(ctx context.Context, from, to time.Time) (delivered, failed int, err error) {
	err = d.DB.QueryRow(ctx, `
select coalesce(sum(a.delivered), 0)::int, coalesce(sum(a.failed), 0)::int from public.webhook_endpoints e
cross join lateral (
  select count(*) filter (where outcome = 'delivered') delivered, count(*) filter (where outcome not in ('delivered', 'refused', 'interrupted')) failed
  from public.webhook_attempts
  where endpoint_id = e.id and started_at >= $1 and started_at < $2 and trigger <> 'test' and not late) a`, from, to).Scan(&delivered, &failed)
	if err != nil {
		return 0, 0, fmt.Errorf("count attempts to deliver: %w", err)
	}
	return delivered, failed, nil
}
