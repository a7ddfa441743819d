package jobs

import (
	"context"
	"encoding/json"
	"time"

	"github.com/gatehouse-hq/gatehouse/internal/infra/pg"
)

// ID is a job's number. It is never reused.
type ID int64

// Handler does one attempt of a job. It must be idempotent: the contract is at
// least once. It never retries; see the failure classes in class.go.
type Handler func(ctx context.Context, args json.RawMessage) error

// EnqueueOpts are the choices of one Enqueue.
type EnqueueOpts struct {
	// RunAt is the earliest time; zero means now.
	RunAt time.Time
	// Queue overrides the kind's queue; it must be a declared one.
	Queue string
	// UniqueByArgs: at most one job of this kind and these args among waiting
	// and running ones. A change after completion queues again.
	UniqueByArgs bool
}

// Insert is one job to enqueue.
type Insert struct {
	Kind string
	Args any // marshalled with encoding/json; json.RawMessage is taken as it is
	EnqueueOpts
	// Cause overrides the cause carried by the context when not zero.
	Cause pg.Cause
}

// Result says which job stands for an Insert. Skipped means that a waiting or
// running twin already did, and ID is the twin's.
type Result struct {
	ID      ID
	Skipped bool
}

// Match selects waiting jobs of a kind whose args contain Args (jsonb @>).
type Match struct {
	Kind string
	Args map[string]any
	// DueAfter keeps only jobs that are due later than that; zero keeps all.
	DueAfter time.Time
	// Limit is how many at most, lowest id first; 0 means all.
	Limit int
}

// Jobs puts work into the queue. Bound to a transaction by With, the job
// exists if and only if that transaction commits.
type Jobs interface {
	With(tx pg.Tx) Jobs
	// Enqueue adds one job. Unknown kinds, unknown queues and args holding a
	// NUL character are refused.
	Enqueue(ctx context.Context, kind string, args any, o EnqueueOpts) (ID, error)
	// EnqueueMany adds many in one statement per 1,000; results are in the
	// order of the inserts. Duplicates within the batch are merged.
	EnqueueMany(ctx context.Context, in []Insert) ([]Result, error)
	// CancelMatching cancels waiting jobs (not running ones) and says how many.
	CancelMatching(ctx context.Context, m Match) (int, error)
	// RescheduleMatching moves waiting jobs to run at the given time.
	RescheduleMatching(ctx context.Context, m Match, at time.Time) (int, error)
	// PullForward makes due now what is due within the given time and never
	// failed, soonest first and at most that many. It skips rows that others
	// hold, and says how many it moved.
	PullForward(ctx context.Context, m Match, within time.Duration, most int) (int, error)
}

// Expected is what the caller saw when it decided to act. If the job has moved
// on, Retry and Cancel answer ErrConflict and change nothing. A zero Attempt
// matches any.
type Expected struct {
	State   State `json:"state"`
	Attempt int   `json:"attempt,omitempty"`
}

// Inspector reads and mends what is in the queue.
type Inspector interface {
	// Overview counts jobs by kind and state; counts are bounded (see Count).
	// An empty kind means every declared kind, also those that never ran.
	Overview(ctx context.Context, kind string) ([]KindCount, error)
	List(ctx context.Context, f Filter) (Page, error)
	// Get answers ErrNotFound for an id that never was and a Job with
	// Pruned set for one whose row is gone after completion.
	Get(ctx context.Context, id ID) (Job, error)
	// Retry starts a new cycle now: full attempts, backoff from the start.
	Retry(ctx context.Context, id ID, want Expected) error
	// Cancel stops a waiting job for good and asks a running one to stop.
	Cancel(ctx context.Context, id ID, want Expected) error
	Periodic(ctx context.Context) ([]PeriodicStatus, error)
	// RunPeriodic runs it once, now, and leaves its schedule alone.
	RunPeriodic(ctx context.Context, name string) (ID, error)
	// PausePeriodic stops or resumes its schedule; RunPeriodic still works.
	PausePeriodic(ctx context.Context, name string, paused bool) error
	// Queues tells the load and limit of each queue over all live processes.
	Queues(ctx context.Context) ([]QueueStatus, error)
	// Processes lists live and recently dead processes.
	Processes(ctx context.Context) ([]Process, error)
	Kinds() []Kind
}

// Runtime is the whole queue of one process.
type Runtime interface {
	Jobs
	Inspector
	// Wait blocks until the job is in a final state or max has passed; false
	// means not yet. It never polls faster than once a second: a notification
	// wakes it.
	Wait(ctx context.Context, id ID, max time.Duration) (State, bool)
	// Start begins to work. ctx is not the signal's context: cancelling it is a
	// hard stop.
	Start(ctx context.Context) error
	// Stop stops claiming, waits for running jobs up to the grace time (20 s),
	// then cancels their contexts; what did not finish runs again elsewhere.
	Stop(ctx context.Context) error
}
