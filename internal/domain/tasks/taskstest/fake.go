// Package taskstest is a queue and a stream in memory, for tests of what is built on tasks.
package taskstest

import (
	"cmp"
	"context"
	"math"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/gatehouse-hq/gatehouse/internal/domain/tasks"
	"github.com/gatehouse-hq/gatehouse/internal/infra/events"
	"github.com/gatehouse-hq/gatehouse/internal/infra/jobs"
	"github.com/gatehouse-hq/gatehouse/internal/infra/pg"
)

// Queue is a queue in memory that keeps the ports' promises about expected
// states; what River does is held to the same in jobstest.
type Queue struct {
	mu           sync.Mutex
	Rows         []jobs.Job // newest first
	AllKinds     []jobs.Kind
	AllQueues    []jobs.QueueStatus
	AllProcesses []jobs.Process
	Periodics    []jobs.PeriodicStatus
	Enqueued     []any
	Broken       error
}

func (q *Queue) With(pg.Tx) jobs.Jobs { return q }

func (q *Queue) Enqueue(_ context.Context, kind string, args any, _ jobs.EnqueueOpts) (jobs.ID, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.Enqueued = append(q.Enqueued, args)
	id := jobs.ID(len(q.Rows) + 1000)
	q.Rows = append([]jobs.Job{{ID: id, Kind: kind, State: jobs.Pending}}, q.Rows...)
	return id, nil
}

func (q *Queue) EnqueueMany(context.Context, []jobs.Insert) ([]jobs.Result, error) { return nil, nil }
func (q *Queue) CancelMatching(context.Context, jobs.Match) (int, error)           { return 0, nil }
func (q *Queue) RescheduleMatching(context.Context, jobs.Match, time.Time) (int, error) {
	return 0, nil
}

// PullForward is not used by tasks.
func (q *Queue) PullForward(context.Context, jobs.Match, time.Duration, int) (int, error) {
	return 0, nil
}

func (q *Queue) Overview(_ context.Context, kind string) ([]jobs.KindCount, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.Broken != nil {
		return nil, q.Broken
	}
	var out []jobs.KindCount
	for _, k := range q.AllKinds {
		if kind != "" && k.Name != kind {
			continue
		}
		c := jobs.KindCount{Kind: k.Name, States: map[jobs.State]jobs.Count{}}
		for _, j := range q.Rows {
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

func (q *Queue) List(_ context.Context, f jobs.Filter) (jobs.Page, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.Broken != nil {
		return jobs.Page{}, q.Broken
	}
	var p jobs.Page
	before, err := strconv.ParseInt(cmp.Or(f.Cursor, strconv.FormatInt(math.MaxInt64, 10)), 10, 64)
	if err != nil {
		return p, jobs.ErrBadFilter
	}
	for _, j := range q.Rows {
		if int64(j.ID) >= before || len(f.IDs) > 0 && !slices.Contains(f.IDs, j.ID) {
			continue
		}
		if len(f.States) > 0 && !contains(f.States, j.State) || f.Kind != "" && f.Kind != j.Kind || f.ID != 0 && f.ID != j.ID || j.ID <= f.AfterID {
			continue
		}
		if len(p.Jobs) == cmp.Or(f.Limit, 50) {
			p.Next = strconv.FormatInt(int64(p.Jobs[len(p.Jobs)-1].ID), 10)
			break
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

func (q *Queue) Get(_ context.Context, id jobs.ID) (jobs.Job, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, j := range q.Rows {
		if j.ID == id {
			return j, q.Broken
		}
	}
	return jobs.Job{}, jobs.ErrNotFound
}

func (q *Queue) move(id jobs.ID, want jobs.Expected, to jobs.State) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	for i, j := range q.Rows {
		if j.ID != id {
			continue
		}
		if j.State != want.State || want.Attempt != 0 && j.Attempt != want.Attempt {
			return jobs.ErrConflict
		}
		q.Rows[i].State = to
		return nil
	}
	return jobs.ErrNotFound
}

func (q *Queue) Retry(_ context.Context, id jobs.ID, want jobs.Expected) error {
	return q.move(id, want, jobs.Pending)
}

func (q *Queue) Cancel(_ context.Context, id jobs.ID, want jobs.Expected) error {
	return q.move(id, want, jobs.Cancelled)
}

func (q *Queue) Periodic(context.Context) ([]jobs.PeriodicStatus, error) {
	return q.Periodics, q.Broken
}

func (q *Queue) RunPeriodic(_ context.Context, name string) (jobs.ID, error) {
	if name != "known" {
		return 0, jobs.ErrNotFound
	}
	return 7, nil
}

func (q *Queue) PausePeriodic(_ context.Context, name string, _ bool) error {
	if name != "known" {
		return jobs.ErrNotFound
	}
	return nil
}
func (q *Queue) Queues(context.Context) ([]jobs.QueueStatus, error) { return q.AllQueues, q.Broken }
func (q *Queue) Processes(context.Context) ([]jobs.Process, error)  { return q.AllProcesses, q.Broken }
func (q *Queue) Kinds() []jobs.Kind                                 { return q.AllKinds }

// Stream is a stream in memory.
type Stream struct {
	Entries []events.Entry
	Size    events.Backlog
}

func (s *Stream) List(_ context.Context, f events.Filter) (events.Page, error) {
	if f.Cursor == "bad" {
		return events.Page{}, events.ErrBadFilter
	}
	var p events.Page
	for _, e := range s.Entries {
		if len(f.Seqs) == 0 || slices.Contains(f.Seqs, e.Seq) {
			p.Events = append(p.Events, e)
		}
	}
	return p, nil
}

func (s *Stream) Get(_ context.Context, id string) (events.Entry, error) {
	for _, e := range s.Entries {
		if e.ID == id {
			return e, nil
		}
	}
	return events.Entry{}, events.ErrNotFound
}

func (s *Stream) Requeue(_ context.Context, id string) error {
	for i, e := range s.Entries {
		if e.ID != id {
			continue
		}
		if e.State != events.Poisoned {
			return events.ErrNotPoisoned
		}
		s.Entries[i].State = events.Waiting
		return nil
	}
	return events.ErrNotFound
}

func (s *Stream) Backlog(context.Context) (events.Backlog, error) { return s.Size, nil }

func (s *Stream) Types() []events.Type {
	return []events.Type{{Name: "b.happened", Example: []byte(`{}`)}, {Name: "a.happened", Example: []byte(`{}`)}}
}

// New returns a domain on the two, at Noon.
func New(q *Queue, s *Stream) *tasks.Domain {
	return tasks.New(tasks.Sources{Jobs: q, Queue: q, Stream: s, Now: func() time.Time { return Noon }})
}

// Noon is the moment it is.
var Noon = time.Date(2027, 3, 1, 12, 0, 0, 0, time.UTC)
