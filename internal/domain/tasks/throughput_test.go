package tasks_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/gatehouse-hq/gatehouse/internal/domain/tasks"
	"github.com/gatehouse-hq/gatehouse/internal/domain/tasks/taskstest"
	"github.com/gatehouse-hq/gatehouse/internal/infra/events"
	"github.com/gatehouse-hq/gatehouse/internal/infra/jobs"
	"github.com/gatehouse-hq/gatehouse/internal/infra/pg"
	"github.com/gatehouse-hq/gatehouse/internal/infra/pg/pgtest"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

// metered is a domain whose meters count n of everything in each interval.
func metered(t *testing.T, q *taskstest.Queue, s *taskstest.Stream, n *int) (*tasks.Domain, *pg.DB) {
	t.Helper()
	db := pgtest.New(t)
	d := tasks.New(tasks.Sources{Jobs: q, Queue: q, Stream: s, DB: db, Meters: tasks.Meters{
		Events: func(context.Context, time.Time, time.Time) (int, int, error) { return *n, *n - 1, nil },
		Tasks: func(_ context.Context, from, to time.Time) (map[tasks.State]int, error) {
			if to.Sub(from) != tasks.Interval {
				t.Errorf("asked for %s", to.Sub(from))
			}
			return map[tasks.State]int{"completed": *n, "discarded": 1}, nil
		},
		Deliveries: func(context.Context, time.Time, time.Time) (int, int, error) { return *n, 2, nil },
	}})
	return d, db
}

func roll(t *testing.T, d *tasks.Domain) []tasks.Moment {
	t.Helper()
	if err := d.Roll(t.Context()); err != nil {
		t.Fatal(err)
	}
	out, err := d.Throughput(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func exec(t *testing.T, db *pg.DB, sql string, args ...any) {
	t.Helper()
	if _, err := db.Exec(t.Context(), sql, args...); err != nil {
		t.Fatal(err)
	}
}

func TestWhatPassedIsCountedOnceHoweverOftenItIsLookedAt(t *testing.T) {
	t.Parallel()
	q := &taskstest.Queue{AllQueues: []jobs.QueueStatus{{Name: "a", Waiting: jobs.Count{N: 4}}, {Name: "b", Waiting: jobs.Count{N: 3}}}}
	s := &taskstest.Stream{Size: events.Backlog{Waiting: jobs.Count{N: 9}}}
	n := 5
	d, _ := metered(t, q, s, &n)
	roll(t, d)
	// Later in the same ten minutes more has passed and less waits: the count is replaced, the most that waited stays.
	n, s.Size.Waiting.N, q.AllQueues = 6, 2, nil
	last := roll(t, d)
	m := last[len(last)-1]
	if m.Events != 6 || m.Relayed != 5 || m.Completed != 6 || m.Discarded != 1 || m.Delivered != 6 || m.Failed != 2 {
		t.Errorf("counted %+v", m)
	}
	// Ten minutes may end between the two looks.
	if len(last) == 1 && (*m.WaitingEvents != 9 || *m.WaitingTasks != 7) {
		t.Errorf("waited %d and %d", *m.WaitingEvents, *m.WaitingTasks)
	}
}

func TestTwoProcessesCountTheSame(t *testing.T) {
	t.Parallel()
	n := 5
	d, db := metered(t, &taskstest.Queue{}, &taskstest.Stream{}, &n)
	var both sync.WaitGroup
	for range 8 {
		both.Go(func() {
			if err := d.Roll(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
	both.Wait()
	var rows, wrong int
	if err := db.QueryRow(t.Context(), `select count(*), count(*) filter (where events <> 5) from throughput`).Scan(&rows, &wrong); err != nil {
		t.Fatal(err)
	}
	if rows < 1 || rows > 2 || wrong > 0 {
		t.Errorf("%d rows, %d of them wrong", rows, wrong)
	}
}

// A process that died in the middle leaves a count that is too low: the next one mends it. What was counted to its end is
// left alone, and what nobody looked at stays a gap.
func TestAnIntervalThatWasNotCountedToItsEndIsCountedAgain(t *testing.T) {
	t.Parallel()
	n := 5
	d, db := metered(t, &taskstest.Queue{}, &taskstest.Stream{}, &n)
	const row = `
insert into throughput (at, counted_at, events, relayed, completed, discarded, cancelled, delivered, failed, waiting_events)
select b, b + $2::interval, 1, 1, 1, 1, 1, 1, 1, 77 from (select to_timestamp(floor(extract(epoch from clock_timestamp()) / 600) * 600) - $1::interval) x (b)`
	exec(t, db, row, 3*time.Hour, 4*time.Minute)          // cut short
	exec(t, db, row, 5*time.Hour, 11*time.Minute)         // whole
	exec(t, db, row, 30*time.Hour, 4*time.Minute)         // too long ago to be counted well
	exec(t, db, row, 7*24*time.Hour+time.Hour, time.Hour) // old
	out := roll(t, d)
	if len(out) != 3 || out[0].Events != 1 || out[1].Events != 5 || out[2].Events != 5 {
		t.Fatalf("history is %+v", out)
	}
	if out[1].WaitingEvents == nil || *out[1].WaitingEvents != 77 || out[0].WaitingTasks != nil {
		t.Errorf("what waited is %+v and %+v", out[1], out[0])
	}
	var kept, untouched int
	if err := db.QueryRow(t.Context(), `select count(*), count(*) filter (where at < clock_timestamp() - interval '29 hours' and events = 1) from throughput`).Scan(&kept, &untouched); err != nil {
		t.Fatal(err)
	}
	if kept != 4 || untouched != 1 {
		t.Errorf("%d rows are kept, want 4; %d too old to count again, want 1", kept, untouched)
	}
}
