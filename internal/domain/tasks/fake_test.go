package tasks_test

import (
	"context"
	"sync"
	"time"

	"github.com/gatehouse-hq/gatehouse/internal/domain/tasks"
	"github.com/gatehouse-hq/gatehouse/internal/infra/events"
	"github.com/gatehouse-hq/gatehouse/internal/infra/jobs"
	"github.com/gatehouse-hq/gatehouse/internal/infra/pg"
)

// queue is a queue in memory that keeps the ports' promises about expected
// states; what River does is held to the same in jobstest.
type queue struct {
	mu        sync.Mutex
	rows      []jobs.Job // newest first
	kinds     []jobs.Kind
	queues    []jobs.QueueStatus
	processes []jobs.Process
	periodics []jobs.PeriodicStatus
	enqueued  []any
	broken    error
}

func (q *queue) With(pg.Tx) jobs.Jobs { return q }

func (q *queue) Enqueue(_ context.Context, kind string, args any, _ jobs.EnqueueOpts) (jobs.ID, error) {
	q.enqueued = append(q.enqueued, args)
	id := jobs.ID(len(q.rows) + 1000)
	q.rows = append([]jobs.Job{{ID: id, Kind: kind, State: jobs.Pending}}, q.rows...)
	return id, nil
}

func (q *queue) EnqueueMany(context.Context, []jobs.Insert) ([]jobs.Result, error) { return nil, nil }
func (q *queue) CancelMatching(context.Context, jobs.Match) (int, error)           { return 0, nil }
func (q *queue) RescheduleMatching(context.Context, jobs.Match, time.Time) (int, error) {
	return 0, nil
}

func (q *queue) Overview(_ context.Context, kind string) ([]jobs.KindCount, error) {
	if q.broken != nil {
		return nil, q.broken
	}
	var out []jobs.KindCount
	for _, k := range q.kinds {
		if kind != "" && k.Name != kind {
			continue
		}
		c := jobs.KindCount{Kind: k.Name, States: map[jobs.State]jobs.Count{}}
		for _, j := range q.rows {
			if j.Kind == k.Name {
				n := c.States[j.State]
				n.N++
				c.States[j.State] = n
			}
		}
		out = append(out, c)
	}
	if kind != "" && len(out) == 0 {
		return nil, jobs.ErrUnknownKind
	}
	return out, nil
}

func (q *queue) List(_ context.Context, f jobs.Filter) (jobs.Page, error) {
	if q.broken != nil {
		return jobs.Page{}, q.broken
	}
	var p jobs.Page
	for _, j := range q.rows {
		if len(f.States) > 0 && !contains(f.States, j.State) || f.Kind != "" && f.Kind != j.Kind || f.ID != 0 && f.ID != j.ID {
			continue
		}
		p.Jobs = append(p.Jobs, j)
	}
	return p, nil
}

func contains(all []jobs.State, s jobs.State) bool {
	for _, one := range all {
		if one == s {
			return true
		}
	}
	return false
}

func (q *queue) Get(_ context.Context, id jobs.ID) (jobs.Job, error) {
	for _, j := range q.rows {
		if j.ID == id {
			return j, q.broken
		}
	}
	return jobs.Job{}, jobs.ErrNotFound
}

func (q *queue) move(id jobs.ID, want jobs.Expected, to jobs.State) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	for i, j := range q.rows {
		if j.ID != id {
			continue
		}
		if j.State != want.State || want.Attempt != 0 && j.Attempt != want.Attempt {
			return jobs.ErrConflict
		}
		q.rows[i].State = to
		return nil
	}
	return jobs.ErrNotFound
}

func (q *queue) Retry(_ context.Context, id jobs.ID, want jobs.Expected) error {
	return q.move(id, want, jobs.Pending)
}

func (q *queue) Cancel(_ context.Context, id jobs.ID, want jobs.Expected) error {
	return q.move(id, want, jobs.Cancelled)
}

func (q *queue) Periodic(context.Context) ([]jobs.PeriodicStatus, error) {
	return q.periodics, q.broken
}

func (q *queue) RunPeriodic(_ context.Context, name string) (jobs.ID, error) {
	if name != "known" {
		return 0, jobs.ErrNotFound
	}
	return 7, nil
}

func (q *queue) PausePeriodic(_ context.Context, name string, _ bool) error {
	if name != "known" {
		return jobs.ErrNotFound
	}
	return nil
}
func (q *queue) Queues(context.Context) ([]jobs.QueueStatus, error) { return q.queues, q.broken }
func (q *queue) Processes(context.Context) ([]jobs.Process, error)  { return q.processes, q.broken }
func (q *queue) Kinds() []jobs.Kind                                 { return q.kinds }

// stream is a stream in memory.
type stream struct {
	entries []events.Entry
	backlog events.Backlog
}

func (s *stream) List(_ context.Context, f events.Filter) (events.Page, error) {
	if f.Cursor == "bad" {
		return events.Page{}, events.ErrBadFilter
	}
	return events.Page{Events: s.entries}, nil
}

func (s *stream) Get(_ context.Context, id string) (events.Entry, error) {
	for _, e := range s.entries {
		if e.ID == id {
			return e, nil
		}
	}
	return events.Entry{}, events.ErrNotFound
}

func (s *stream) Requeue(_ context.Context, id string) error {
	for i, e := range s.entries {
		if e.ID != id {
			continue
		}
		if e.State != events.Poisoned {
			return events.ErrNotPoisoned
		}
		s.entries[i].State = events.Waiting
		return nil
	}
	return events.ErrNotFound
}

func (s *stream) Backlog(context.Context) (events.Backlog, error) { return s.backlog, nil }

func (s *stream) Types() []events.Type {
	return []events.Type{{Name: "b.happened", Example: []byte(`{}`)}, {Name: "a.happened", Example: []byte(`{}`)}}
}

func house(q *queue, s *stream) *tasks.Domain {
	return tasks.New(tasks.Sources{Jobs: q, Queue: q, Stream: s, Now: func() time.Time { return noon }})
}

var noon = time.Date(2027, 3, 1, 12, 0, 0, 0, time.UTC)
