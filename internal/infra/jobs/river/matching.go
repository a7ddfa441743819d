package river

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/gatehouse-hq/gatehouse/internal/infra/jobs"
	"github.com/gatehouse-hq/gatehouse/internal/infra/pg"
)

// matching locks waiting rows in the order of their ids, so that two callers
// cannot wait for each other.
const matching = `
with waiting as (
  select id from river.river_job
  where kind = $1 and args @> $2 and state in ('available', 'scheduled', 'pending', 'retryable')
    and ($3::timestamptz is null or scheduled_at > $3)
  order by id limit nullif($4::bigint, 0) for update
)`

func (b *bound) CancelMatching(ctx context.Context, m jobs.Match) (int, error) {
	sub, err := b.rt.matchArgs(m)
	if err != nil {
		return 0, err
	}
	tag, err := b.tx.Exec(ctx, matching+`
update river.river_job j set state = 'cancelled', finalized_at = clock_timestamp() from waiting where j.id = waiting.id`, m.Kind, sub, dueAfter(m), m.Limit)
	if err != nil {
		return 0, fmt.Errorf("cancel waiting tasks of kind %s: %w", m.Kind, err)
	}
	return int(tag.RowsAffected()), nil
}

func (b *bound) RescheduleMatching(ctx context.Context, m jobs.Match, at time.Time) (int, error) {
	sub, err := b.rt.matchArgs(m)
	if err != nil {
		return 0, err
	}
	rows, err := b.tx.Query(ctx, matching+`
update river.river_job j set scheduled_at = $5, state = case
  when $5 <= clock_timestamp() + make_interval(secs => $6) then 'available'
  when j.state = 'retryable' or j.attempt > 0 then 'retryable'
  else 'scheduled' end::river.river_job_state
from waiting where j.id = waiting.id returning j.queue`, m.Kind, sub, dueAfter(m), m.Limit, at, soon.Seconds())
	if err != nil {
		return 0, fmt.Errorf("reschedule waiting tasks of kind %s: %w", m.Kind, err)
	}
	return b.pokeQueuesOf(m.Kind, rows)
}

// PullForward goes by the index of what is fetched next: the one of arguments holds finished jobs too, and adding an empty
// object keeps the planner from it. Priority 1 is the only one in use.
func (b *bound) PullForward(ctx context.Context, m jobs.Match, within time.Duration, most int) (int, error) {
	sub, err := b.rt.matchArgs(m)
	if err != nil {
		return 0, err
	}
	rows, err := b.tx.Query(ctx, `
with soon as (
  select id from river.river_job
  where state in ('available', 'scheduled') and queue = any($1) and priority = 1
    and scheduled_at > clock_timestamp() and scheduled_at <= clock_timestamp() + $2::interval
    and kind = $3 and args || '{}' @> $4
  order by scheduled_at limit $5 for update skip locked
)
update river.river_job j set scheduled_at = clock_timestamp(), state = 'available' from soon where j.id = soon.id returning j.queue`,
		b.rt.queueNames(), within, m.Kind, sub, most)
	if err != nil {
		return 0, fmt.Errorf("pull forward tasks of kind %s: %w", m.Kind, err)
	}
	return b.pokeQueuesOf(m.Kind, rows)
}

// pokeQueuesOf wakes the workers of the queues that rows name, once they are committed, and counts the rows.
func (b *bound) pokeQueuesOf(kind string, rows pgx.Rows) (int, error) {
	queues, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return 0, fmt.Errorf("reschedule waiting tasks of kind %s: %w", kind, err)
	}
	if distinct := union(queues, nil); len(distinct) > 0 {
		b.tx.AfterCommit(func() { b.rt.poke(distinct...) })
	}
	return len(queues), nil
}

func dueAfter(m jobs.Match) *time.Time {
	if m.DueAfter.IsZero() {
		return nil
	}
	return &m.DueAfter
}

// CancelMatching works in a transaction of its own.
func (rt *Runtime) CancelMatching(ctx context.Context, m jobs.Match) (n int, err error) {
	err = pg.InTx(ctx, rt.db, func(tx pg.Tx) error {
		n, err = rt.With(tx).CancelMatching(ctx, m)
		return err
	})
	return n, err
}

// RescheduleMatching works in a transaction of its own.
func (rt *Runtime) RescheduleMatching(ctx context.Context, m jobs.Match, at time.Time) (n int, err error) {
	err = pg.InTx(ctx, rt.db, func(tx pg.Tx) error {
		n, err = rt.With(tx).RescheduleMatching(ctx, m, at)
		return err
	})
	return n, err
}

// PullForward works in a transaction of its own.
func (rt *Runtime) PullForward(ctx context.Context, m jobs.Match, within time.Duration, most int) (n int, err error) {
	err = pg.InTx(ctx, rt.db, func(tx pg.Tx) error {
		n, err = rt.With(tx).PullForward(ctx, m, within, most)
		return err
	})
	return n, err
}

func (rt *Runtime) matchArgs(m jobs.Match) (json.RawMessage, error) {
	if _, ok := rt.kinds[m.Kind]; !ok {
		return nil, fmt.Errorf("%w: %q", jobs.ErrUnknownKind, m.Kind)
	}
	return canonical(m.Args)
}
