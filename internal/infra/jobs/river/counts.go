package river

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/gatehouse-hq/gatehouse/internal/infra/jobs"
	"github.com/gatehouse-hq/gatehouse/internal/infra/pg"
)

// countLimit is where counting stops: COUNT over a big table is slow, and
// nobody acts differently on 1,001 than on 1,000,000.
const countLimit = 1000

// steer keeps the planner on the index (kind, state, id), together with kind
// = any (array[…]), by which an equality stays part of the order asked for. Most
// rows share a state, so it would rather take the index of what is fetched
// next, and sort: over a million completed jobs it read all of them for every
// kind that has few. It must not be in force for other statements.
const (
	steer   = `set local enable_sort = off`
	unsteer = `set local enable_sort = on`
)

const countSQL = `
select p.kind, p.shown, least(sum(n)::int, $6), min(oldest), sum(tries)::bigint from unnest($1::text[], $2::text[], $3::text[], $4::int[], $5::int[]) as p(kind, shown, state, least, most)
cross join lateral (
  select count(*) n, sum(attempt) tries, min(scheduled_at) filter (where p.shown in ('pending', 'retryable') and scheduled_at <= now()) oldest from (
    select scheduled_at, attempt from river.river_job
    where kind = any (array[p.kind]) and state = p.state::river.river_job_state and attempt between p.least and p.most
    order by kind, id limit $6) j) c
where n > 0 group by 1, 2`

// cacheFor is how old shown counts may be.
const cacheFor = time.Second

// countCache keeps the overview for the many views that ask at once.
type countCache struct {
	mu   sync.Mutex
	at   time.Time
	kept []jobs.KindCount
}

func newCountCache() *countCache { return &countCache{} }

func bounded(n int) jobs.Count {
	return jobs.Count{N: min(n, countLimit), AtLeast: n > countLimit}
}

// Overview counts by kind and state, up to 1,000 each and up to a second old.
func (rt *Runtime) Overview(ctx context.Context, kind string) ([]jobs.KindCount, error) {
	all, err := rt.overview(ctx)
	if err != nil {
		return nil, fmt.Errorf("count tasks: %w", err)
	}
	if kind == "" {
		return all, nil
	}
	for _, k := range all {
		if k.Kind == kind {
			return []jobs.KindCount{k}, nil
		}
	}
	return nil, jobs.ErrNotFound
}

func (rt *Runtime) overview(ctx context.Context) ([]jobs.KindCount, error) {
	c := rt.counts
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.kept != nil && time.Since(c.at) < cacheFor {
		return c.kept, nil
	}
	var out []jobs.KindCount
	err := rt.bounded(ctx, func(tx pg.Tx) (err error) {
		out, err = rt.countKinds(ctx, tx)
		return err
	})
	if err != nil {
		return nil, err
	}
	c.kept, c.at = out, time.Now()
	return out, nil
}

func (rt *Runtime) countKinds(ctx context.Context, tx pg.Tx) ([]jobs.KindCount, error) {
	kinds, err := rt.allKinds(ctx, tx)
	if err != nil {
		return nil, err
	}
	out := make([]jobs.KindCount, len(kinds))
	at := map[string]int{}
	var ks, states, raws []string
	var mins, maxs []int
	for i, k := range kinds {
		at[k] = i
		out[i] = jobs.KindCount{Kind: k, States: map[jobs.State]jobs.Count{}}
		for _, s := range jobs.States() {
			out[i].States[s] = jobs.Count{}
			for _, b := range bands([]jobs.State{s}) {
				ks, states, raws, mins, maxs = append(ks, k), append(states, string(s)), append(raws, b.raw), append(mins, b.min), append(maxs, b.max)
			}
		}
	}
	if _, err := tx.Exec(ctx, steer); err != nil { // the transaction ends with this statement
		return nil, err
	}
	rows, err := tx.Query(ctx, countSQL, ks, states, raws, mins, maxs, countLimit+1)
	if err != nil {
		return nil, err
	}
	var k, s string
	var n int
	var oldest *time.Time
	var tries int64
	_, err = pgx.ForEachRow(rows, []any{&k, &s, &n, &oldest, &tries}, func() error {
		kc := &out[at[k]]
		kc.Moves += tries
		kc.States[jobs.State(s)] = bounded(n)
		if oldest != nil && (kc.Oldest == nil || oldest.Before(*kc.Oldest)) {
			t := *oldest
			kc.Oldest = &t
		}
		return nil
	})
	return out, err
}

// Queues tells each queue's load against its workers over all live processes.
func (rt *Runtime) Queues(ctx context.Context) ([]jobs.QueueStatus, error) {
	var out []jobs.QueueStatus
	err := rt.bounded(ctx, func(tx pg.Tx) error {
		rows, err := tx.Query(ctx, `
with live as (
  select key as queue, sum(value::int)::int as workers from public.processes p, jsonb_each_text(p.queues)
  where p.stopped_at is null and p.beat_at > clock_timestamp() - make_interval(secs => $2) group by key
)
select q.name, coalesce(live.workers, 0), r.n, w.n, w.oldest
from unnest($1::text[]) with ordinality q(name, place) left join live on live.queue = q.name
cross join lateral (select count(*)::int n from (select 1 from river.river_job where state = 'running' and queue = q.name limit $3) x) r
cross join lateral (select count(*)::int n, min(scheduled_at) filter (where scheduled_at <= now()) oldest from (
  select scheduled_at from river.river_job where state in ('available', 'retryable', 'scheduled') and queue = q.name
  order by scheduled_at limit $3) x) w
order by q.place`, rt.queueNames(), deadAfter.Seconds(), countLimit+1)
		if err != nil {
			return err
		}
		out, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (jobs.QueueStatus, error) {
			var s jobs.QueueStatus
			var waiting int
			err := row.Scan(&s.Name, &s.Limit, &s.Running, &waiting, &s.Oldest)
			s.Waiting = bounded(waiting)
			return s, err
		})
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read the queues' load: %w", err)
	}
	return out, nil
}

// Processes lists the processes that live and those of the last day, newest first.
func (rt *Runtime) Processes(ctx context.Context) ([]jobs.Process, error) {
	rows, err := rt.db.Query(ctx, `
select id, role, version, registry, started_at, beat_at,
  stopped_at is null and beat_at > clock_timestamp() - make_interval(secs => $1), skew_ms, stopped_at
from public.processes where beat_at > clock_timestamp() - interval '1 day' order by started_at desc limit 100`, deadAfter.Seconds())
	if err != nil {
		return nil, fmt.Errorf("list processes: %w", err)
	}
	out, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (jobs.Process, error) {
		var p jobs.Process
		return p, row.Scan(&p.ID, &p.Role, &p.Version, &p.Registry, &p.StartedAt, &p.BeatAt, &p.Alive, &p.SkewMS, &p.StoppedAt)
	})
	if err != nil {
		return nil, fmt.Errorf("list processes: %w", err)
	}
	return out, nil
}
