package tasks

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/gatehouse-hq/gatehouse/internal/infra/jobs"
	"github.com/gatehouse-hq/gatehouse/internal/infra/pg"
)

// Meters count what passed from one moment up to another. All are cheap: each walks an index over that time alone. A nil
// meter counts nothing.
type Meters struct {
	Events     func(ctx context.Context, from, to time.Time) (written, relayed int, err error)
	Tasks      func(ctx context.Context, from, to time.Time) (map[State]int, error)
	Deliveries func(ctx context.Context, from, to time.Time) (delivered, failed int, err error)
}

const (
	// Interval is the time that one row of the history is about.
	Interval = 10 * time.Minute
	// historyKept bounds the table: 1,008 rows.
	historyKept = 7 * 24 * time.Hour
	// settled is how long after its end an interval is counted for good: ends of tasks are written up to 250 ms late, and a
	// transaction may take some seconds to commit.
	settled = 15 * time.Second
	// recount is how far back an interval that was not counted to its end is mended, after a stop or a crash. Completed
	// tasks are kept for 24 h: counting further back would lower what was known.
	recount = 23 * time.Hour
)

// Moment is what passed in one Interval, and the most that waited in it.
type Moment struct {
	At            time.Time `json:"at"` // its beginning
	Events        int       `json:"events"`
	Relayed       int       `json:"relayed"`
	Completed     int       `json:"completed"`
	Discarded     int       `json:"discarded"`
	Cancelled     int       `json:"cancelled"`
	Delivered     int       `json:"delivered"`
	Failed        int       `json:"failed"`         // attempts to deliver
	WaitingEvents *int      `json:"waiting_events"` // nil: nobody looked in time
	WaitingTasks  *int      `json:"waiting_tasks"`
}

func (d *Domain) periodics() []jobs.Periodic {
	return []jobs.Periodic{{
		Name: "tasks.throughput", Title: "Count what passed", Every: 5 * time.Minute, Timeout: time.Minute, Run: d.Roll,
		Description: "Counts events, tasks and deliveries of each ten minutes for the overview's charts, and deletes counts older than seven days.",
	}}
}

// Roll counts the present interval and those that were not counted to their end. Counting is done anew each time, so it
// does not matter how often it runs, in how many processes, or where the last one was killed.
func (d *Domain) Roll(ctx context.Context) error {
	now, err := pg.Now(ctx, d.DB)
	if err != nil {
		return fmt.Errorf("count what passed: %w", err)
	}
	present := now.Truncate(Interval)
	rows, err := d.DB.Query(ctx, `
select at from public.throughput
where at > $1 and at < $2 and counted_at < at + $3::interval order by at`, now.Add(-recount), present, Interval+settled)
	if err != nil {
		return fmt.Errorf("count what passed: %w", err)
	}
	open, err := pgx.CollectRows(rows, pgx.RowTo[time.Time])
	if err != nil {
		return fmt.Errorf("count what passed: %w", err)
	}
	for _, at := range append(open, present) {
		m, err := d.count(ctx, at)
		if err == nil && at.Equal(present) {
			err = d.countWaiting(ctx, &m)
		}
		if err == nil {
			err = d.keep(ctx, m, now)
		}
		if err != nil {
			return fmt.Errorf("count what passed from %s: %w", at.UTC().Format(time.TimeOnly), err)
		}
	}
	jobs.Report(ctx, map[string]int{"intervals": len(open) + 1})
	if _, err := d.DB.Exec(ctx, `delete from public.throughput where at < $1`, now.Add(-historyKept)); err != nil {
		return fmt.Errorf("delete old counts: %w", err)
	}
	return nil
}

func (d *Domain) count(ctx context.Context, from time.Time) (m Moment, err error) {
	m.At = from
	to := from.Add(Interval)
	if d.Meters.Events != nil {
		if m.Events, m.Relayed, err = d.Meters.Events(ctx, from, to); err != nil {
			return m, err
		}
	}
	if d.Meters.Deliveries != nil {
		if m.Delivered, m.Failed, err = d.Meters.Deliveries(ctx, from, to); err != nil {
			return m, err
		}
	}
	if d.Meters.Tasks != nil {
		finished, err := d.Meters.Tasks(ctx, from, to)
		if err != nil {
			return m, err
		}
		m.Completed, m.Discarded, m.Cancelled = finished["completed"], finished["discarded"], finished["cancelled"]
	}
	return m, nil
}

func (d *Domain) countWaiting(ctx context.Context, m *Moment) error {
	b, err := d.Stream.Backlog(ctx)
	if err != nil {
		return err
	}
	queues, err := d.Jobs.Queues(ctx)
	if err != nil {
		return err
	}
	waiting := 0
	for _, q := range queues {
		waiting += q.Waiting.N
	}
	m.WaitingEvents, m.WaitingTasks = &b.Waiting.N, &waiting
	return nil
}

// keep writes a count down. Of two processes that count at once the later look wins, and the higher backlog.
func (d *Domain) keep(ctx context.Context, m Moment, looked time.Time) error {
	_, err := d.DB.Exec(ctx, `
insert into public.throughput as t (at, counted_at, events, relayed, completed, discarded, cancelled, delivered, failed, waiting_events, waiting_tasks)
values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)
on conflict (at) do update set counted_at = excluded.counted_at, events = excluded.events, relayed = excluded.relayed,
  completed = excluded.completed, discarded = excluded.discarded, cancelled = excluded.cancelled,
  delivered = excluded.delivered, failed = excluded.failed,
  waiting_events = greatest(t.waiting_events, excluded.waiting_events), waiting_tasks = greatest(t.waiting_tasks, excluded.waiting_tasks)
where t.counted_at <= excluded.counted_at`,
		m.At, looked, m.Events, m.Relayed, m.Completed, m.Discarded, m.Cancelled, m.Delivered, m.Failed, m.WaitingEvents, m.WaitingTasks)
	return err
}

// Throughput is the last 24 hours, oldest first. An interval that nobody looked at is missing.
func (d *Domain) Throughput(ctx context.Context) ([]Moment, error) {
	rows, err := d.DB.Query(ctx, `
select at, events, relayed, completed, discarded, cancelled, delivered, failed, waiting_events, waiting_tasks
from public.throughput where at > clock_timestamp() - interval '24 hours' order by at`)
	if err != nil {
		return nil, fmt.Errorf("read what passed: %w", err)
	}
	out, err := pgx.CollectRows(rows, pgx.RowToStructByPos[Moment])
	if err != nil {
		return nil, fmt.Errorf("read what passed: %w", err)
	}
	return out, nil
}
