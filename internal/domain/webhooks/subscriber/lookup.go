package subscriber

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/gatehouse-hq/gatehouse/internal/domain/webhooks"
	"github.com/gatehouse-hq/gatehouse/internal/infra/pg"
)

// pair names a delivery.
type pair struct{ endpoint, event string }

// standing is what a delivery and its endpoint are like at the moment.
type standing struct {
	found     bool
	state     webhooks.DeliveryState
	settledAt *time.Time

	live      bool // the endpoint exists
	enabled   bool
	version   int64
	failing   bool
	notBefore time.Duration // from now; ≤ 0 if not set
	held      bool          // nothing may be sent at present
	givenUp   *time.Time    // what was asked for before was given up when a hold ended
	at        time.Time     // when it was asked
}

// lookup reads standings, many at once.
func lookup(db *pg.DB) *group[pair, standing] {
	return &group[pair, standing]{most: 500, run: func(ctx context.Context, in []pair) ([]standing, error) {
		at := time.Now()
		endpoints, events := make([]string, len(in)), make([]string, len(in))
		for i, p := range in {
			endpoints[i], events[i] = p.endpoint, p.event
		}
		rows, err := db.Query(ctx, `
select d.state, d.settled_at, e.deleted_at is null, e.enabled, e.version, s.failing_since is not null,
  coalesce(extract(epoch from s.not_before - clock_timestamp()), 0)::float8,
  exists (select from public.holds where released_at is null), (select max(set_at) from public.holds where choice = 'drop')
from unnest($1::uuid[], $2::uuid[]) with ordinality a (endpoint_id, event_id, n)
left join public.webhook_deliveries d on d.endpoint_id = a.endpoint_id and d.event_id = a.event_id
left join public.webhook_endpoints e on e.id = a.endpoint_id
left join public.webhook_endpoint_state s on s.endpoint_id = a.endpoint_id
order by a.n`, endpoints, events)
		if err != nil {
			return nil, fmt.Errorf("look up %d deliveries: %w", len(in), err)
		}
		out, err := pgx.CollectRows(rows, scanStanding)
		if err != nil {
			return nil, fmt.Errorf("look up %d deliveries: %w", len(in), err)
		}
		for i := range out {
			out[i].at = at
		}
		return out, nil
	}}
}

func scanStanding(row pgx.CollectableRow) (s standing, err error) {
	var state *string
	var live, enabled, failing *bool
	var version *int64
	var wait float64
	if err := row.Scan(&state, &s.settledAt, &live, &enabled, &version, &failing, &wait, &s.held, &s.givenUp); err != nil {
		return s, err
	}
	if state != nil {
		s.found, s.state = true, webhooks.DeliveryState(*state)
	}
	if version != nil {
		s.live, s.enabled, s.version = *live, *enabled, *version
	}
	s.failing = failing != nil && *failing
	s.notBefore = time.Duration(wait * float64(time.Second))
	return s, nil
}
