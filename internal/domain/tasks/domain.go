package tasks

import (
	"context"
	"time"

	"github.com/gatehouse-hq/gatehouse/internal/infra/jobs"
	"github.com/gatehouse-hq/gatehouse/internal/infra/pg"
)

// The panel's words for what the queue returns, so that pages need not know
// the queue.
type (
	// Task is one job.
	Task = jobs.Job
	// Attempt is one run of a task.
	Attempt = jobs.Attempt
	// State is where a task is in its life.
	State = jobs.State
	// ID is the number of a task.
	ID = jobs.ID
	// Periodic is what comes back by itself.
	Periodic = jobs.PeriodicStatus
	// Queue is the load of one queue.
	Queue = jobs.QueueStatus
	// Count is a bounded count.
	Count = jobs.Count
	// Kind is a declared sort of task.
	Kind = jobs.Kind
)

// Engine is what health asks of the search engine.
type Engine interface {
	Name() string
	// Check says what is wrong with reaching it, or nil.
	Check(ctx context.Context) error
}

// Check finds further reasons to worry: what another domain knows.
type Check func(ctx context.Context) ([]Reason, error)

// Sources are what the domain reads and mends. Search may be nil.
type Sources struct {
	Jobs   jobs.Inspector
	Queue  jobs.Jobs // takes the bulk actions
	Stream Stream
	DB     pg.Querier // table sizes, and the history of what passed
	Search Engine
	Checks []Check
	Meters Meters
	// Usual says how long 99 of 100 finished tasks of a kind took, and how many it looked at. Nil: unknown.
	Usual func(ctx context.Context, kind string) (took time.Duration, of int, err error)
	Now   func() time.Time // time.Now when nil
}

// Domain reads and mends the queue and the bus.
type Domain struct {
	Sources
}

// New builds the domain on the queue and the bus of this process.
func New(s Sources) *Domain {
	if s.Now == nil {
		s.Now = time.Now
	}
	return &Domain{Sources: s}
}

// States lists every state in the order the panel shows them.
func States() []State { return jobs.States() }

// Kinds lists every declared kind, also those that never ran.
func (d *Domain) Kinds() []Kind { return d.Jobs.Kinds() }

// KindOf returns the declaration of a kind; false for one that this program no
// longer declares, of which old tasks may still be kept.
func (d *Domain) KindOf(name string) (Kind, bool) {
	for _, k := range d.Jobs.Kinds() {
		if k.Name == name {
			return k, true
		}
	}
	return Kind{}, false
}

// None is the input of an operation that needs none.
type None struct{}

func orEmpty[T any](s []T) []T {
	if s == nil {
		return []T{}
	}
	return s
}
