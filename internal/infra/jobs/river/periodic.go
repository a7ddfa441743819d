package river

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/gatehouse-hq/gatehouse/internal/infra/jobs"
	"github.com/gatehouse-hq/gatehouse/internal/infra/pg"
)

const (
	periodicName    = jobs.PeriodicKind
	periodicQueue   = "maintenance"
	periodicTimeout = 10 * time.Minute
	keptTurns       = 50

	bySchedule = "schedule"
	byHand     = "hand"
	byCatchUp  = "catch-up"
)

type periodicArgs struct {
	Name string `json:"name"`
}

// periodicKind runs every periodic's turns. One attempt: a turn that failed
// waits for the next one.
func (rt *Runtime) periodicKind() jobs.Kind {
	longest := periodicTimeout
	for _, p := range rt.periodics {
		longest = max(longest, p.Timeout)
	}
	return jobs.Kind{
		Name: periodicName, Title: "Periodic work", Description: "One turn of something that comes back by itself.",
		Queue: periodicQueue, Policy: jobs.Policy{Attempts: 1, Backoff: jobs.DefaultBackoff, Timeout: longest},
		Handler: rt.runTurn,
		Subject: func(raw json.RawMessage) string {
			var a periodicArgs
			if json.Unmarshal(raw, &a) != nil {
				return ""
			}
			if p, ok := rt.periodics[a.Name]; ok && p.Title != "" {
				return p.Title
			}
			return a.Name
		},
	}
}

// registerPeriodics gives new ones their first turn, one interval from now.
// Known ones keep their schedule over a restart.
func (rt *Runtime) registerPeriodics(ctx context.Context) error {
	for _, p := range rt.periodics {
		_, err := rt.db.Exec(ctx, `
insert into public.periodic_runs (name, next_run) values ($1, clock_timestamp() + make_interval(secs => $2))
on conflict (name) do nothing`, p.Name, p.Every.Seconds())
		if err != nil {
			return fmt.Errorf("register periodic %s: %w", p.Name, err)
		}
	}
	return nil
}

// dueTurns enqueues the turns that are due. Every working process looks; the
// row's lock and the moved time let one of them win.
func (rt *Runtime) dueTurns(ctx context.Context) {
	names := make([]string, 0, len(rt.periodics))
	for n := range rt.periodics {
		names = append(names, n)
	}
	err := pg.InTx(ctx, rt.db, func(tx pg.Tx) error {
		rows, err := tx.Query(ctx, `
select name, extract(epoch from clock_timestamp() - next_run)::float8 from public.periodic_runs
where name = any ($1) and not paused and next_run <= clock_timestamp() for update skip locked`, names)
		if err != nil {
			return err
		}
		late := map[string]time.Duration{}
		var name string
		var secs float64
		if _, err := pgx.ForEachRow(rows, []any{&name, &secs}, func() error {
			late[name] = time.Duration(secs * float64(time.Second))
			return nil
		}); err != nil {
			return err
		}
		for name, by := range late {
			if err := rt.takeTurn(ctx, tx, rt.periodics[name], by); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil && ctx.Err() == nil {
		rt.log.Warn("cannot look for due periodics; the next look follows", "error", err)
	}
}

// takeTurn enqueues one turn. After a gap of more than one interval it is the
// one that catches up, and the rhythm starts anew.
func (rt *Runtime) takeTurn(ctx context.Context, tx pg.Tx, p jobs.Periodic, late time.Duration) error {
	trigger, next := bySchedule, p.Every-late
	if late >= p.Every {
		trigger, next = byCatchUp, p.Every
	}
	if _, err := rt.enqueueTurn(ctx, tx, p.Name, trigger); err != nil {
		return err
	}
	_, err := tx.Exec(ctx, `
update public.periodic_runs set next_run = clock_timestamp() + make_interval(secs => $2), updated_at = clock_timestamp() where name = $1`,
		p.Name, next.Seconds())
	return err
}

func (rt *Runtime) enqueueTurn(ctx context.Context, tx pg.Tx, name, trigger string) (jobs.ID, error) {
	out, err := rt.insert(ctx, tx, []jobs.Insert{{
		Kind: periodicName, Args: periodicArgs{name}, EnqueueOpts: jobs.EnqueueOpts{UniqueByArgs: true},
	}}, trigger)
	if err != nil {
		return 0, err
	}
	return out[0].ID, nil
}

// runTurn is the handler of a turn: it keeps what happened in the periodic's
// history, which outlives the job's row.
func (rt *Runtime) runTurn(ctx context.Context, raw json.RawMessage) error {
	var a periodicArgs
	if err := json.Unmarshal(raw, &a); err != nil {
		return jobs.Discard(err)
	}
	p, ok := rt.periodics[a.Name]
	if !ok {
		return jobs.Discard(fmt.Errorf("this version of the program has no periodic %q", a.Name))
	}
	run, _ := jobs.Current(ctx)
	var trigger *string
	err := rt.db.QueryRow(ctx, `
with t as (select metadata ->> 'trigger' as trigger from river.river_job where id = $2), u as (
  update public.periodic_runs set running = $2, updated_at = clock_timestamp() where name = $1)
select trigger from t`, a.Name, run.ID).Scan(&trigger)
	if err != nil && !pg.NoRows(err) {
		return fmt.Errorf("note that periodic %s runs: %w", a.Name, err)
	}
	turn := jobs.PeriodicRun{At: time.Now().UTC(), Trigger: bySchedule, Job: run.ID}
	if trigger != nil && *trigger != "" {
		turn.Trigger = *trigger
	}
	err = callPeriodic(ctx, p)
	if ctx.Err() != nil && !errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return err // the process stops: another one runs this turn
	}
	turn.Duration, turn.OK = time.Since(turn.At), err == nil
	if err != nil {
		turn.Error = clean(err.Error(), 1<<10)
	}
	return errors.Join(err, rt.keepTurn(ctx, a.Name, turn))
}

func callPeriodic(ctx context.Context, p jobs.Periodic) (err error) {
	limit := p.Timeout
	if limit == 0 {
		limit = periodicTimeout
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	defer func() {
		if v := recover(); v != nil {
			err = &panicked{value: v, stack: string(debug.Stack())}
		}
	}()
	return p.Run(ctx)
}

func (rt *Runtime) keepTurn(ctx context.Context, name string, turn jobs.PeriodicRun) error {
	b, err := json.Marshal(turn)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	_, err = rt.db.Exec(ctx, `
update public.periodic_runs set running = null, last_run = $3, updated_at = clock_timestamp(), history = (
  select jsonb_agg(e order by n) from jsonb_array_elements(jsonb_build_array($2::jsonb) || history) with ordinality t(e, n) where n <= $4)
where name = $1`, name, b, turn.At, keptTurns)
	if err != nil {
		return fmt.Errorf("keep the history of periodic %s: %w", name, err)
	}
	return nil
}
