// Package grown measures a site that has been used for long: what an event
// costs beside many finished ones, and how quick the panel stays.
package grown

import (
	"context"
	"fmt"

	"github.com/gatehouse-hq/gatehouse/e2e/load/product"
)

// seedEvents and seedJobs add rows $1+1 to $2 that are all done with. Their
// ends lie within what retention keeps ($2 of them evenly over 10 days and 20
// hours), or the server would clear them away meanwhile.
const (
	seedEvents = `
insert into events (owner_id, type, subject, data, occurred_at, fanned_out_at, fanout)
select o.id, (array['corpus.note.changed', 'corpus.note.changed', 'writing.unpublished', 'vault.imported', 'owner.login'])[1 + i % 5],
  'wiki://seeded-' || i % 5000, '{"op": "updated", "note_id": "0197d0f0-5f2c-7c3e-9d50-1c9a7f0a4b11"}', t.at, t.at + interval '3 milliseconds', '{"webhook.fanout": 1}'
from owners o, generate_series($1::int + 1, $2::int) i, lateral (select clock_timestamp() - (($2 - i)::float8 / $2) * interval '10 days' as at) t
order by i`
	seedJobs = `
insert into river.river_job (kind, queue, state, args, metadata, attempt, attempted_by, created_at, scheduled_at, attempted_at, finalized_at, max_attempts, errors)
select (array['webhook.deliver', 'webhook.deliver', 'webhook.deliver', 'webhook.fanout', 'corpus.index'])[1 + i % 5],
  (array['webhook', 'webhook', 'webhook', 'webhook_fanout', 'index'])[1 + i % 5],
  (case when i % 5000 = 17 then 'discarded' when i % 5000 = 18 then 'cancelled' else 'completed' end)::river.river_job_state,
  jsonb_build_object('event_id', '0197d0f0-5f2c-7c3e-9d50-' || lpad(to_hex(i), 12, '0'), 'endpoint_id', '0197d0f0-5f2c-7c3e-9d50-1c9a7f0a4b' || lpad(to_hex(i % 10), 2, '0')),
  '{}', 1, array['seed'], t.at, t.at, t.at, t.at + interval '20 milliseconds', 25,
  case when i % 5000 = 17 then array['{"at": "2026-01-01T00:00:00Z", "attempt": 1, "error": "the receiver answered 500", "trace": ""}'::jsonb]
       when i % 500 = 0 then array['{"at": "2026-01-01T00:00:00Z", "attempt": 1, "error": "connection refused", "trace": ""}'::jsonb] end
from generate_series($1::int + 1, $2::int) i, lateral (select clock_timestamp() - (($2 - i)::float8 / $2) * interval '20 hours' as at) t
order by i`
	// seedOpen are jobs that wait for a time beyond the run, some after a failure.
	seedOpen = `
insert into river.river_job (kind, queue, state, args, attempt, scheduled_at, max_attempts, errors)
select 'webhook.deliver', 'webhook', (case when i % 2 = 0 then 'retryable' else 'scheduled' end)::river.river_job_state,
  jsonb_build_object('event_id', '0197d0f0-5f2c-7c3e-9d50-' || lpad(to_hex(-i), 12, 'f'), 'endpoint_id', '0197d0f0-5f2c-7c3e-9d50-1c9a7f0a4b11'),
  i % 2, clock_timestamp() + interval '5 hours', 25, case when i % 2 = 0 then array['{"at": "2026-01-01T00:00:00Z", "attempt": 1, "error": "connection refused", "trace": ""}'::jsonb] end
from generate_series(1, 500) i`
)

// seed brings both tables from so many rows to so many. The index over the
// arguments is made anew, which takes a tenth of keeping it up to date.
func seed(ctx context.Context, s *product.Site, from, to int) error {
	const index = "river.river_job_args_index"
	var definition string
	if err := s.Pool.QueryRow(ctx, `select pg_get_indexdef($1::regclass)`, index).Scan(&definition); err != nil {
		return fmt.Errorf("read the queue's index: %w", err)
	}
	for _, step := range []struct {
		sql  string
		args []any
	}{
		{"set synchronous_commit = off", nil}, // the rows are only scenery
		{"drop index " + index, nil},
		{seedEvents, []any{from, to}},
		{seedJobs, []any{from, to}},
		{definition, nil},
		{"vacuum analyze events", nil},
		{"vacuum analyze river.river_job", nil},
		{"checkpoint", nil},
	} {
		if err := s.Exec(ctx, step.sql, step.args...); err != nil {
			return fmt.Errorf("seed %d rows: %w", to, err)
		}
	}
	return nil
}
