package river

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/gatehouse-hq/gatehouse/internal/infra/jobs"
	"github.com/gatehouse-hq/gatehouse/internal/infra/pg"
)

// usualSample is how many finished jobs Usual looks at.
const usualSample = 200

// Finished counts the jobs that reached a final state in [from, to) and are in it still, by that state.
func (rt *Runtime) Finished(ctx context.Context, from, to time.Time) (map[jobs.State]int, error) {
	rows, err := rt.db.Query(ctx, `
select s.state, (select count(*) from river.river_job
  where state = s.state::river.river_job_state and finalized_at is not null and finalized_at >= $1 and finalized_at < $2)
from unnest(array['completed', 'discarded', 'cancelled']) s (state)`, from, to)
	if err != nil {
		return nil, fmt.Errorf("count finished tasks: %w", err)
	}
	out := map[jobs.State]int{}
	var state string
	var n int
	_, err = pgx.ForEachRow(rows, []any{&state, &n}, func() error {
		out[jobs.State(state)] = n
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("count finished tasks: %w", err)
	}
	return out, nil
}

// Usual is the time that 99 of 100 completed jobs of a kind took in their last attempt, and how many it was taken from:
// the newest 200 at most, found along the index (kind, state, id).
func (rt *Runtime) Usual(ctx context.Context, kind string) (took time.Duration, of int, err error) {
	var seconds float64
	err = rt.bounded(ctx, func(tx pg.Tx) error {
		return tx.QueryRow(ctx, `
select coalesce(extract(epoch from percentile_disc(0.99) within group (order by took)), 0)::float8, count(*) from (
  select finalized_at - attempted_at as took from river.river_job
  where kind = $1 and state = 'completed' order by id desc limit $2) j`, kind, usualSample).Scan(&seconds, &of)
	})
	if err != nil {
		return 0, 0, fmt.Errorf("see how long tasks of kind %s take: %w", kind, err)
	}
	return time.Duration(seconds * float64(time.Second)), of, nil
}
