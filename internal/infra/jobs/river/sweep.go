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

// freeCrashes is how many deaths of its process a job is not blamed for: it
// was one of many running ones. The next ones may well be its own doing
// (field case F12: a handler that exits the process).
const freeCrashes = 3

// sweep takes over the running jobs of dead processes. Every process does it,
// so that the last one alive is enough.
func (rt *Runtime) sweep(ctx context.Context) {
	owners, err := rt.deadOwners(ctx)
	if err != nil {
		if ctx.Err() == nil {
			rt.log.Warn("cannot look for dead processes; the next look follows", "error", err)
		}
		return
	}
	for _, id := range owners {
		n, err := rt.takeOver(ctx, id)
		switch {
		case err != nil && ctx.Err() == nil:
			rt.log.Warn("cannot take over the jobs of a dead process; the next look follows", "process", id, "error", err)
		case n > 0:
			rt.log.Warn("took over the running jobs of a dead process", "process", id, "jobs", n)
		}
	}
	rt.findLost(ctx)
	rt.forgetProcesses(ctx)
}

// suspects: owners of running jobs whose heartbeat is old, who signed off, or
// whose row is gone. Whether they are dead is for the lock to say.
const suspects = `
with owners as (
  select distinct attempted_by[array_upper(attempted_by, 1)] as id from river.river_job where state = 'running'
)
select o.id from owners o left join public.processes p on p.id::text = o.id
where o.id is not null and o.id <> $1
  and (p.id is null or p.stopped_at is not null or p.beat_at < clock_timestamp() - make_interval(secs => $2))`

func (rt *Runtime) deadOwners(ctx context.Context) ([]string, error) {
	rows, err := rt.db.Query(ctx, suspects, rt.cfg.ProcessID, deadAfter.Seconds())
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowTo[string])
}

// orphan is a running job that nobody runs.
type orphan struct {
	id        int64
	kind      string
	queue     string
	attempt   int
	startedAt time.Time
	meta      meta
}

func (rt *Runtime) takeOver(ctx context.Context, owner string) (n int, err error) {
	err = pg.InTx(ctx, rt.db, func(tx pg.Tx) error {
		dead, err := provenDead(ctx, tx, owner)
		if err != nil || !dead {
			return err
		}
		found, err := held(ctx, tx, owner, 0)
		if err != nil {
			return err
		}
		b := &pgx.Batch{}
		var queues []string
		for _, o := range found {
			if err := rt.rescue(b, o, owner, "the process ended during this attempt"); err != nil {
				return err
			}
			queues = append(queues, o.queue)
		}
		b.Queue(`update public.processes set stopped_at = coalesce(stopped_at, clock_timestamp()) where id::text = $1`, owner)
		if err := tx.SendBatch(ctx, b).Close(); err != nil {
			return err
		}
		n = len(found)
		tx.AfterCommit(func() { rt.poke(union(queues, nil)...) })
		return nil
	})
	return n, err
}

// provenDead takes the owner's lock: only a process that is gone, or that lost
// its connection and therefore stopped claiming, leaves it free. Whoever never
// registered cannot be asked.
func provenDead(ctx context.Context, tx pg.Tx, owner string) (bool, error) {
	var key int64
	err := tx.QueryRow(ctx, `
select lock_key from public.processes
where id::text = $1 and (stopped_at is not null or beat_at < clock_timestamp() - make_interval(secs => $2))
for update skip locked`, owner, deadAfter.Seconds()).Scan(&key)
	if pg.NoRows(err) {
		var known bool
		err := tx.QueryRow(ctx, `select exists (select from public.processes where id::text = $1)`, owner).Scan(&known)
		return !known, err
	}
	if err != nil {
		return false, err
	}
	var free bool
	err = tx.QueryRow(ctx, `select pg_try_advisory_xact_lock($1)`, key).Scan(&free)
	return free, err
}

// held lists the jobs that owner claimed at least so long ago and that count as running.
func held(ctx context.Context, tx pg.Tx, owner string, since time.Duration) ([]orphan, error) {
	rows, err := tx.Query(ctx, `
select id, kind, queue, attempt, coalesce(attempted_at, created_at), metadata from river.river_job
where state = 'running' and attempted_by[array_upper(attempted_by, 1)] = $1
  and coalesce(attempted_at, created_at) <= clock_timestamp() - make_interval(secs => $2) order by id for update skip locked`, owner, since.Seconds())
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (orphan, error) {
		var o orphan
		var metadata []byte
		err := row.Scan(&o.id, &o.kind, &o.queue, &o.attempt, &o.startedAt, &metadata)
		o.meta = readMeta(metadata)
		return o, err
	})
}

// rescue decides what becomes of one orphan and queues the write.
func (rt *Runtime) rescue(b *pgx.Batch, o orphan, owner, text string) error {
	kind, known := rt.kinds[o.kind]
	state, attempt, wait, outcome := "available", o.attempt, time.Duration(0), outCrashed
	switch {
	case o.meta.CancelAt != nil:
		state, outcome = "cancelled", outCancelled
	case o.meta.Crashes < freeCrashes:
		attempt = max(o.attempt-1, 0)
	case known && o.attempt >= kind.Policy.Attempts:
		state = "discarded"
	default:
		if wait = jitter(backoff(kind.Policy, o.attempt)); wait > soon {
			state = "retryable"
		}
	}
	e := entry{At: o.startedAt.UTC(), Took: time.Since(o.startedAt).Microseconds(), Outcome: outcome, Error: text, Process: owner}
	updates, err := json.Marshal(map[string]any{"crashes": o.meta.Crashes + 1, "ledger": o.meta.with(e)})
	if err != nil {
		return fmt.Errorf("marshal the ledger of task %d: %w", o.id, err)
	}
	failed, err := json.Marshal(map[string]any{"at": e.At, "attempt": o.attempt, "error": text, "trace": ""})
	if err != nil {
		return err
	}
	final := jobs.State(state).Final()
	b.Queue(`
update river.river_job set state = $2::river.river_job_state, attempt = $3, metadata = metadata || $4, errors = array_append(errors, $5),
  scheduled_at = clock_timestamp() + make_interval(secs => $6), finalized_at = case when $7 then clock_timestamp() end
where id = $1 and state = 'running'`, o.id, state, attempt, updates, failed, wait.Seconds(), final)
	return nil
}

// forgetProcesses keeps the table of processes small.
func (rt *Runtime) forgetProcesses(ctx context.Context) {
	_, err := rt.db.Exec(ctx, `delete from public.processes where beat_at < clock_timestamp() - interval '7 days'`)
	if err != nil && ctx.Err() == nil {
		rt.log.Warn("cannot delete old processes", "error", err)
	}
}
