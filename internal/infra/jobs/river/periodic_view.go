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

// overdueBy is how late a turn may be before it is called overdue: looks for
// due turns, a busy maintenance lane and a restart all take their time.
const overdueBy = time.Minute

// Periodic lists what this version declares, in the order of declaration.
func (rt *Runtime) Periodic(ctx context.Context) ([]jobs.PeriodicStatus, error) {
	rows, err := rt.db.Query(ctx, `
select r.name, r.paused, r.next_run, r.history, not r.paused and r.next_run < clock_timestamp() - make_interval(secs => $1), coalesce(j.state = 'running', false)
from public.periodic_runs r left join river.river_job j on j.id = r.running`, overdueBy.Seconds())
	if err != nil {
		return nil, fmt.Errorf("list periodics: %w", err)
	}
	stored := map[string]jobs.PeriodicStatus{}
	var s jobs.PeriodicStatus
	var next time.Time
	var history []byte
	_, err = pgx.ForEachRow(rows, []any{&s.Name, &s.Paused, &next, &history, &s.Overdue, &s.Running}, func() error {
		one := s
		one.History = []jobs.PeriodicRun{}
		if err := json.Unmarshal(history, &one.History); err != nil {
			return fmt.Errorf("history of %s: %w", one.Name, err)
		}
		if !one.Paused {
			t := next
			one.NextRun = &t
		}
		stored[one.Name] = one
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("list periodics: %w", err)
	}
	out := make([]jobs.PeriodicStatus, 0, len(rt.cfg.Periodics))
	for _, p := range rt.cfg.Periodics {
		s := stored[p.Name]
		s.Name, s.Title, s.Description, s.Every = p.Name, p.Title, p.Description, p.Every
		out = append(out, s)
	}
	return out, nil
}

// RunPeriodic enqueues one turn now and leaves the schedule alone. While a
// turn waits or runs, its id is answered and no second one is added.
func (rt *Runtime) RunPeriodic(ctx context.Context, name string) (id jobs.ID, err error) {
	if _, ok := rt.periodics[name]; !ok {
		return 0, jobs.ErrNotFound
	}
	err = pg.InTx(ctx, rt.db, func(tx pg.Tx) error {
		id, err = rt.enqueueTurn(ctx, tx, name, byHand)
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("run periodic %s: %w", name, err)
	}
	return id, nil
}

// PausePeriodic stops or resumes the schedule. Resumed, it goes on one
// interval from now.
func (rt *Runtime) PausePeriodic(ctx context.Context, name string, paused bool) error {
	p, ok := rt.periodics[name]
	if !ok {
		return jobs.ErrNotFound
	}
	_, err := rt.db.Exec(ctx, `
update public.periodic_runs set updated_at = clock_timestamp(), paused = $2,
  next_run = case when paused and not $2 then clock_timestamp() + make_interval(secs => $3) else next_run end
where name = $1`, name, paused, p.Every.Seconds())
	if err != nil {
		return fmt.Errorf("pause periodic %s: %w", name, err)
	}
	return nil
}
