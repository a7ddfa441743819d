package webhooks

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/gatehouse-hq/gatehouse/internal/domain"
	"github.com/gatehouse-hq/gatehouse/internal/infra/pg"
)

// Health is how an endpoint did over the last 24 hours, tests left out.
type Health struct {
	Attempts    int     `json:"attempts"`
	Delivered   int     `json:"delivered"`
	Failed      int     `json:"failed"`
	SuccessRate float64 `json:"success_rate" jsonschema:"0 to 1; -1 when there were no attempts"`
	P50MS       float64 `json:"p50_ms"`
	P95MS       float64 `json:"p95_ms"`
	Hours       []Hour  `json:"hours" jsonschema:"24 hours, oldest first"`
	// Since is set when there were more attempts than are looked at: the time of the oldest that was.
	Since *time.Time `json:"since,omitempty"`
}

// Hour is one hour of Health.
type Hour struct {
	At       time.Time `json:"at"`
	Attempts int       `json:"attempts"`
	Failed   int       `json:"failed"`
	P50MS    float64   `json:"p50_ms"`
	P95MS    float64   `json:"p95_ms"`
}

// healthSample bounds how many attempts are looked at, newest first. The page of an endpoint that is busy reads itself
// again each time something happens, and 100,000 attempts took half a second.
const healthSample = 20_000

// HealthOf reads an endpoint's last 24 hours.
func (d *Domain) HealthOf(ctx context.Context, endpointID string) (Health, error) {
	h := Health{SuccessRate: -1, Hours: []Hour{}}
	if !pg.ValidUUID(endpointID) {
		return h, errNoEndpoint
	}
	// now() and not clock_timestamp(): only what stands still within a statement bounds a scan of the index.
	rows, err := d.DB.Query(ctx, `
with sample as materialized (
  select started_at, date_trunc('hour', started_at) as hour, outcome, total_us / 1000.0::float8 as ms from public.webhook_attempts
  where endpoint_id = $1::uuid and started_at >= date_trunc('hour', now()) - interval '23 hours' and trigger <> 'test' and not late
  order by started_at desc limit $2
), hours as (
  select generate_series(date_trunc('hour', now()) - interval '23 hours', date_trunc('hour', now()), interval '1 hour') as hour
)
select hours.hour, count(s.ms), count(s.ms) filter (where s.outcome not in ('delivered', 'refused', 'interrupted')),
  count(s.ms) filter (where s.outcome = 'delivered'),
  coalesce(percentile_cont(0.5) within group (order by s.ms), 0), coalesce(percentile_cont(0.95) within group (order by s.ms), 0), min(s.started_at)
from hours left join sample s using (hour) group by grouping sets ((hours.hour), ()) order by hours.hour nulls last`, endpointID, healthSample)
	if err != nil {
		return h, fmt.Errorf("read the health of endpoint %s: %w", endpointID, err)
	}
	var at, oldest *time.Time
	var hour Hour
	var delivered int
	_, err = pgx.ForEachRow(rows, []any{&at, &hour.Attempts, &hour.Failed, &delivered, &hour.P50MS, &hour.P95MS, &oldest}, func() error {
		if at == nil { // the sum of all
			if hour.Attempts == healthSample {
				h.Since = oldest
			}
			h.Attempts, h.Failed, h.Delivered, h.P50MS, h.P95MS = hour.Attempts, hour.Failed, delivered, hour.P50MS, hour.P95MS
			return nil
		}
		hour.At = *at
		h.Hours = append(h.Hours, hour)
		return nil
	})
	if err != nil {
		return h, fmt.Errorf("read the health of endpoint %s: %w", endpointID, err)
	}
	h.rate()
	return h, nil
}

// LatestSample is how many attempts of an endpoint Latest looks at.
const LatestSample = 300

// Latest is the health of many endpoints by the newest attempts of their last 24 hours, at most LatestSample each: a list of
// busy endpoints costs no more than one of quiet ones. Hours are left out, and so are endpoints without attempts.
func (d *Domain) Latest(ctx context.Context, endpointIDs []string) (map[string]Health, error) {
	rows, err := d.DB.Query(ctx, `
select e.id::text, count(*), count(*) filter (where s.outcome not in ('delivered', 'refused', 'interrupted')), count(*) filter (where s.outcome = 'delivered'),
  percentile_cont(0.5) within group (order by s.ms), percentile_cont(0.95) within group (order by s.ms)
from unnest($1::uuid[]) e (id) cross join lateral (
  select outcome, total_us / 1000.0::float8 as ms from public.webhook_attempts
  where endpoint_id = e.id and started_at > now() - interval '24 hours' and trigger <> 'test' and not late
  order by started_at desc limit $2) s
group by e.id`, endpointIDs, LatestSample)
	if err != nil {
		return nil, fmt.Errorf("read the health of %d endpoints: %w", len(endpointIDs), err)
	}
	out := map[string]Health{}
	var id string
	var h Health
	_, err = pgx.ForEachRow(rows, []any{&id, &h.Attempts, &h.Failed, &h.Delivered, &h.P50MS, &h.P95MS}, func() error {
		h.rate()
		out[id] = h
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read the health of %d endpoints: %w", len(endpointIDs), err)
	}
	return out, nil
}

// rate works the success rate out.
func (h *Health) rate() {
	h.SuccessRate = -1
	if n := h.Delivered + h.Failed; n > 0 {
		h.SuccessRate = float64(h.Delivered) / float64(n)
	}
}

// Alerts are endpoints that have failed for half the time after which they are switched off, and those that were.
func (d *Domain) Alerts(ctx context.Context) ([]domain.Alert, error) {
	rows, err := readRows(ctx, d.DB, `
where e.deleted_at is null and ((not e.enabled and e.disabled_reason in ('gone', 'failing')) or (e.enabled and s.failing_since < clock_timestamp() - $1::interval))
order by e.created_at limit 20`, DisableAfter/2)
	if err != nil {
		return nil, err
	}
	out := []domain.Alert{}
	for _, r := range rows {
		a := domain.Alert{Link: "/admin/webhooks/" + r.ID}
		if r.Enabled {
			a.Code, a.Title = "webhook_failing", "A webhook endpoint keeps failing"
			a.Evidence = fmt.Sprintf("%s has not answered well since %s. It is switched off after five days.", r.name(), domain.Moment(ctx, *r.FailingSince))
			a.Next = "Look at its last attempts. What waits is sent when it answers again."
		} else {
			_, reason := statusOf(r.Enabled, r.Reason, r.FailingSince)
			a.Code, a.Title = "webhook_off", "A webhook endpoint was switched off"
			a.Evidence = fmt.Sprintf("%s: %s New deliveries are parked for 30 days.", r.name(), reason)
			a.Next = "Mend the receiver, then switch it on and choose what to do with the parked deliveries; or delete it."
		}
		out = append(out, a)
	}
	lost, err := d.lostKey(ctx)
	return append(out, lost...), err
}

// lostKey is one alert when secrets are sealed under another key than the one in use.
func (d *Domain) lostKey(ctx context.Context) ([]domain.Alert, error) {
	use, err := d.TryKey(ctx)
	if err != nil || len(use.Closed) == 0 {
		return nil, err
	}
	n := 0
	for _, endpoints := range use.Closed {
		n += endpoints
	}
	under := slices.Sorted(maps.Keys(use.Closed))
	return []domain.Alert{{Code: "webhook_key_lost", Title: "Webhook secrets cannot be read", Stuck: true, Link: "/admin/webhooks",
		Evidence: fmt.Sprintf("The secrets of %d endpoints are sealed under key %s; the key in use is %s. This process can send nothing to them; what happens waits, and no attempt is spent.", n, strings.Join(under, ", "), d.Sealer.KeyID()),
		Next:     "Put the old key back (GATEHOUSE_SEAL_KEY or the key file of the backup), or delete these endpoints and create them anew."}}, nil
}
