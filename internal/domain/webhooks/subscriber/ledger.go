package subscriber

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/gatehouse-hq/gatehouse/internal/domain/webhooks"
	"github.com/gatehouse-hq/gatehouse/internal/infra/events/webhook"
	"github.com/gatehouse-hq/gatehouse/internal/infra/jobs"
	"github.com/gatehouse-hq/gatehouse/internal/infra/pg"
)

// entry is one attempt to be written: for the log, for its delivery, and for its endpoint.
type entry struct {
	pair
	token   string
	job     jobs.ID
	trigger webhooks.Trigger
	actor   string
	result  webhook.Result
	outcome webhook.Outcome
	// state is what the delivery becomes; empty leaves it as it is.
	state webhooks.DeliveryState
	// counts is whether the outcome says something about the endpoint's health: tests do not.
	counts bool
	// wasFailing is whether a success has something to clear.
	wasFailing bool
}

// written is what became of an entry.
type written struct {
	number  int  // of the attempt, counted over everything that was tried for this delivery
	current bool // false: the lease had passed to another; the attempt is logged and changed nothing
	health  health
}

// health is an endpoint's record of failure after a group was written. It is only filled where the group changed it.
type health struct {
	since    *time.Time
	attempts int
	days     int
	limit    bool // past everything that DisableAfter, DisableAttempts and DisableDays ask for
}

// writeSQL logs attempts and settles their deliveries, only where the lease's token still is the row's. All rows of
// endpoints are locked first and in order: whoever parks or cancels the deliveries of an endpoint does the same, so that
// neither waits for the other in a circle. It commits synchronously, once for the group: a database that dies may forget
// an asynchronous commit, and the process that survives it would still write that the task is done.
const writeSQL = `
with r as materialized (
  select * from unnest($1::uuid[], $2::uuid[], $3::uuid[], $4::bigint[], $5::text[], $6::text[], $7::text[], $8::text[], $9::integer[],
    $10::text[], $11::text[], $12::integer[], $13::text[], $14::timestamptz[], $15::integer[], $16::integer[], $17::integer[], $18::integer[],
    $19::integer[], $20::boolean[], $21::text[], $22::text[], $23::boolean[], $24::text[], $25::boolean[], $26::text[]) with ordinality
  as r (endpoint_id, event_id, token, job_id, trigger, actor, state, outcome, status,
    error_class, error, wait_seconds, location, started_at, dns_us, connect_us, tls_us, first_byte_us,
    total_us, reused, remote_ip, headers, headers_truncated, excerpt, excerpt_truncated, key_ids, n)
), held as materialized (
  select s.endpoint_id, s.lease_token from public.webhook_endpoint_state s
  where s.endpoint_id in (select endpoint_id from r) order by s.endpoint_id for no key update
), ready as materialized (
  select count(*) as n from held
), settled as (
  update public.webhook_deliveries d set
    attempts = d.attempts + 1,
    job_id = r.job_id,
    last_status = r.status,
    last_error = r.error,
    state = case when r.state = '' or h.lease_token is distinct from r.token or (d.state = 'delivered' and r.state <> 'delivered') then d.state else r.state end,
    settled_at = case when r.state = '' or h.lease_token is distinct from r.token or (d.state = 'delivered' and r.state <> 'delivered') then d.settled_at
      else clock_timestamp() end
  from r left join held h on h.endpoint_id = r.endpoint_id
  where d.endpoint_id = r.endpoint_id and d.event_id = r.event_id and (select n from ready) >= 0
  returning r.n, d.attempts, h.lease_token is not distinct from r.token as current
), logged as (
  insert into public.webhook_attempts (endpoint_id, event_id, number, started_at, trigger, actor, job_id, outcome, status, error_class, error,
    wait_seconds, location, dns_us, connect_us, tls_us, first_byte_us, total_us, reused, remote_ip, headers, headers_truncated,
    excerpt, excerpt_truncated, key_ids, late)
  select r.endpoint_id, r.event_id, s.attempts, r.started_at, r.trigger, r.actor, nullif(r.job_id, 0), r.outcome, r.status, r.error_class, r.error,
    r.wait_seconds, r.location, r.dns_us, r.connect_us, r.tls_us, r.first_byte_us, r.total_us, r.reused, r.remote_ip, nullif(r.headers, '')::jsonb,
    r.headers_truncated, r.excerpt, r.excerpt_truncated, string_to_array(r.key_ids, ' '), not s.current
  from r join settled s using (n)
)
select n, attempts, current from settled`

// healthSQL writes what a group's outcomes mean for their endpoints; it runs only when there is something to write.
const healthSQL = `
with r as (
  select * from unnest($1::uuid[], $2::uuid[], $3::boolean[], $4::integer[], $5::float8[]) r (endpoint_id, token, cleared, failures, wait)
), was as materialized (
  select s.endpoint_id, s.failing_since from public.webhook_endpoint_state s join r on s.endpoint_id = r.endpoint_id and s.lease_token = r.token
  order by s.endpoint_id for no key update of s
)
update public.webhook_endpoint_state s set
  failing_since = case when r.failures = 0 and r.cleared then null when r.failures = 0 then s.failing_since
    when r.cleared then clock_timestamp() else coalesce(s.failing_since, clock_timestamp()) end,
  failed_attempts = case when r.cleared then 0 else s.failed_attempts end + r.failures,
  failed_days = case when r.cleared then 0 else s.failed_days end
    + (r.failures > 0 and (r.cleared or s.failed_on is distinct from (clock_timestamp() at time zone 'UTC')::date))::integer,
  failed_on = case when r.failures > 0 then (clock_timestamp() at time zone 'UTC')::date when r.cleared then null else s.failed_on end,
  not_before = case when r.wait > 0 then greatest(s.not_before, clock_timestamp() + make_interval(secs => r.wait)) else s.not_before end
from r join was on was.endpoint_id = r.endpoint_id
where s.endpoint_id = r.endpoint_id
returning s.endpoint_id::text, was.failing_since is not null and s.failing_since is null, s.failing_since, s.failed_attempts, s.failed_days,
  coalesce(s.failing_since < clock_timestamp() - $6::interval, false) and s.failed_attempts >= $7 and s.failed_days >= $8`

// ledger writes entries, many at once. Two of one delivery never go into one group: each gets its number.
func ledger(d *webhooks.Domain) *group[entry, written] {
	return &group[entry, written]{most: 250, apart: func(e entry) string { return e.endpoint + e.event },
		run: func(ctx context.Context, in []entry) ([]written, error) { return record(ctx, d, in) }}
}

// record writes a group. Where it ends an endpoint's failing, what was put off meanwhile is sent for in the same
// transaction: a process killed in between would leave it to its own hour.
func record(ctx context.Context, d *webhooks.Domain, in []entry) (out []written, err error) {
	t := tally(in)
	if !slices.Contains(t.cleared, true) {
		out, _, err = write(ctx, d.DB, in, t)
		return out, err
	}
	err = pg.InTx(ctx, d.DB, func(tx pg.Tx) error {
		var recovered []string
		if out, recovered, err = write(ctx, tx, in, t); err != nil {
			return err
		}
		for _, id := range recovered {
			if err := d.CatchUpLater(ctx, tx, id); err != nil {
				return err
			}
		}
		return nil
	})
	return out, err
}

// write runs the statements of a group and names the endpoints, in order, that fail no more.
func write(ctx context.Context, q pg.Querier, in []entry, t tallied) (out []written, recovered []string, err error) {
	out = make([]written, len(in))
	healths := map[string]health{}
	// Outside of a transaction both statements are one all the same: a batch ends with one Sync.
	var b pgx.Batch
	b.Queue(writeSQL, columns(in)...).Query(func(rows pgx.Rows) error {
		var n, attempts int
		var current bool
		_, err := pgx.ForEachRow(rows, []any{&n, &attempts, &current}, func() error {
			out[n-1].number, out[n-1].current = attempts, current
			return nil
		})
		return err
	})
	if len(t.ids) > 0 {
		b.Queue(healthSQL, t.ids, t.tokens, t.cleared, t.failures, t.waits, webhooks.DisableAfter, webhooks.DisableAttempts, webhooks.DisableDays).
			Query(func(rows pgx.Rows) error {
				var id string
				var h health
				var well bool
				_, err := pgx.ForEachRow(rows, []any{&id, &well, &h.since, &h.attempts, &h.days, &h.limit}, func() error {
					if healths[id] = h; well {
						recovered = append(recovered, id)
					}
					return nil
				})
				return err
			})
	}
	if err := q.SendBatch(ctx, &b).Close(); err != nil {
		return nil, nil, fmt.Errorf("write %d attempts: %w", len(in), err)
	}
	for i, e := range in {
		out[i].health = healths[e.endpoint]
	}
	slices.Sort(recovered) // whoever enqueues for several endpoints does so in order
	return out, recovered, nil
}

// tallied is what a group's outcomes mean for endpoints, for those that they change anything for.
type tallied struct {
	ids, tokens []string
	cleared     []bool
	failures    []int32
	waits       []float64
}

func tally(in []entry) tallied {
	var t tallied
	for _, e := range in {
		success := e.outcome.Class == webhook.Delivered
		if !e.counts || (!e.outcome.Failure() && !(success && e.wasFailing)) && !slices.Contains(t.ids, e.endpoint) {
			continue
		}
		i := slices.Index(t.ids, e.endpoint)
		if i < 0 {
			i = len(t.ids)
			t.ids, t.tokens = append(t.ids, e.endpoint), append(t.tokens, e.token)
			t.cleared, t.failures, t.waits = append(t.cleared, false), append(t.failures, 0), append(t.waits, 0)
		}
		switch {
		case success:
			t.cleared[i], t.failures[i] = true, 0
		case e.outcome.Failure():
			t.failures[i]++
		}
		if e.outcome.Class == webhook.Snoozed {
			t.waits[i] = max(t.waits[i], e.outcome.Wait.Seconds())
		}
	}
	return t
}

// columns turns entries into one array for each column of writeSQL.
func columns(in []entry) []any {
	n := len(in)
	texts := func() []string { return make([]string, n) }
	numbers := func() []int32 { return make([]int32, n) }
	flags := func() []bool { return make([]bool, n) }
	endpoints, events, triggers, actors, states, outcomes := texts(), texts(), texts(), texts(), texts(), texts()
	tokens := make([]*string, n)
	jobIDs, started := make([]int64, n), make([]time.Time, n)
	statuses, waits, dns, connect, tls, first, total := numbers(), numbers(), numbers(), numbers(), numbers(), numbers(), numbers()
	classes, errs, locations, remotes, headers, excerpts, keys := texts(), texts(), texts(), texts(), texts(), texts(), texts()
	reused, headersCut, excerptCut := flags(), flags(), flags()
	for i, e := range in {
		r := e.result
		endpoints[i], events[i], jobIDs[i] = e.endpoint, e.event, int64(e.job)
		if e.token != "" {
			tokens[i] = &in[i].token
		}
		triggers[i], actors[i], states[i], outcomes[i] = string(e.trigger), e.actor, string(e.state), string(e.outcome.Class)
		statuses[i], waits[i] = int32(r.Status), int32(e.outcome.Wait/time.Second)
		if r.Err != nil {
			classes[i], errs[i] = string(r.Kind), r.Err.Error()
		}
		locations[i], started[i] = r.Location, r.Started
		dns[i], connect[i], tls[i], first[i], total[i] = us(r.Times.DNS), us(r.Times.Connect), us(r.Times.TLS), us(r.Times.FirstByte), us(r.Total)
		reused[i] = r.Times.Reused
		if r.Remote.IsValid() {
			remotes[i] = r.Remote.String()
		}
		if len(r.Headers) > 0 {
			if raw, err := json.Marshal(r.Headers); err == nil { // clean strings always marshal
				headers[i] = string(raw)
			}
		}
		headersCut[i], excerpts[i], excerptCut[i] = r.HeadersTruncated, r.Excerpt, r.ExcerptTruncated
		keys[i] = strings.Join(r.KeyIDs, " ")
	}
	return []any{endpoints, events, tokens, jobIDs, triggers, actors, states, outcomes, statuses, classes, errs, waits, locations, started,
		dns, connect, tls, first, total, reused, remotes, headers, headersCut, excerpts, excerptCut, keys}
}

func us(d time.Duration) int32 { return int32(min(d.Microseconds(), 1<<31-1)) }
