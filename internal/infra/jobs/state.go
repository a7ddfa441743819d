package jobs

import (
	"encoding/json"
	"errors"
	"time"

	"github.com/gatehouse-hq/gatehouse/internal/infra/pg"
)

// State is where a job is in its life.
type State string

const (
	Pending   State = "pending"   // waiting for its time or a free worker
	Running   State = "running"   // an attempt is in flight
	Retryable State = "retryable" // failed, waiting for its next attempt
	Completed State = "completed"
	Discarded State = "discarded" // failed for good, or attempts exhausted
	Cancelled State = "cancelled" // stopped by hand
)

// States lists every state in the order the panel shows them.
func States() []State {
	return []State{Pending, Running, Retryable, Completed, Discarded, Cancelled}
}

// Words are the states, for the schema of what takes one.
func (State) Words() []string { return words(States()) }

func words[T ~string](list []T) []string {
	out := make([]string, len(list))
	for i, w := range list {
		out[i] = string(w)
	}
	return out
}

// Final reports whether nothing more will happen by itself.
func (s State) Final() bool { return s == Completed || s == Discarded || s == Cancelled }

var (
	// ErrConflict: the job is no longer in the expected state; nothing changed.
	ErrConflict = errors.New("the task has changed meanwhile")
	// ErrNotFound: there is no such job, kind or periodic.
	ErrNotFound = errors.New("no such task")
	// ErrRetriedElsewhere: the kind names another owner of its retries.
	ErrRetriedElsewhere = errors.New("this task is retried from another page")
	// ErrTwin: an active job with the same unique args already stands for it.
	ErrTwin = errors.New("a task with the same arguments is already waiting or running")
	// ErrBadArgs: args cannot be stored (not JSON, or holding a NUL character).
	ErrBadArgs = errors.New("arguments cannot be stored")
	// ErrBadFilter: a filter of List cannot be read.
	ErrBadFilter = errors.New("this filter cannot be read")
	// ErrUnknownKind: the kind is not declared.
	ErrUnknownKind = errors.New("undeclared kind of task")
)

// Job is one row as the panel and operations see it.
type Job struct {
	ID          ID              `json:"id"`
	Kind        string          `json:"kind"`
	Queue       string          `json:"queue"`
	State       State           `json:"state"`
	Args        json.RawMessage `json:"args"`
	Subject     string          `json:"subject" jsonschema:"what it is about"` // from the kind's Subject func
	Attempt     int             `json:"attempt" jsonschema:"attempts made in this cycle"`
	MaxAttempts int             `json:"max_attempts" jsonschema:"after so many attempts of a cycle it is discarded"` // by the kind's policy
	Total       int             `json:"total_attempts" jsonschema:"attempts made in all cycles"`
	Cycle       int             `json:"cycle" jsonschema:"1 for the first; a retry by hand begins another"`
	Snoozes     int             `json:"snoozes" jsonschema:"how often it was put off without an attempt being counted"`
	Uncertain   bool            `json:"uncertain" jsonschema:"it may have had its effect: nobody knows, and it is not retried by itself"` // set by Hold
	CancelAsked bool            `json:"cancel_requested"`
	Cause       pg.Cause        `json:"cause"`
	CreatedAt   time.Time       `json:"created_at"`
	ScheduledAt time.Time       `json:"scheduled_at" jsonschema:"when it is due, or was"`
	StartedAt   *time.Time      `json:"started_at,omitempty"`
	FinishedAt  *time.Time      `json:"finished_at,omitempty"`
	LastError   string          `json:"last_error" jsonschema:"first line; empty when none"`
	Attempts    []Attempt       `json:"attempts" jsonschema:"oldest first; in a list of tasks always empty: read the task"` // only from Get
	Pruned      bool            `json:"pruned" jsonschema:"its row is gone: this is what its history says of it"`
}

// Attempt is one run of a job.
type Attempt struct {
	Number   int             `json:"number"` // counted over all cycles, from 1
	Cycle    int             `json:"cycle"`
	At       time.Time       `json:"at"`
	Duration time.Duration   `json:"duration_ns"`
	Outcome  string          `json:"outcome"` // completed, failed, snoozed, discarded, held, crashed, interrupted, cancelled, running
	Error    string          `json:"error"`
	Trace    string          `json:"trace,omitempty"`
	Report   json.RawMessage `json:"report,omitempty"`
	Process  string          `json:"process,omitempty"`
}

// Count is a bounded count: past Limit it says "at least".
type Count struct {
	N       int  `json:"n"`
	AtLeast bool `json:"at_least"`
}

// KindCount is one kind's jobs by state.
type KindCount struct {
	Kind   string          `json:"kind"`
	States map[State]Count `json:"states"`
	Oldest *time.Time      `json:"oldest_waiting,omitempty"`
	Moves  int64           `json:"-"` // differs once a counted job was tried, also when it is back where it was
}

// Filter selects jobs for List. Zero values select everything.
type Filter struct {
	States []State
	Kind   string
	ID     ID
	IDs    []ID              // these and no others; empty: any
	Args   map[string]string // top-level args compared as text
	Error  string            // substring of any recorded error
	Cursor string
	Limit  int // 1..100, default 50
	// AfterID keeps only newer jobs, so that "12 new" can be counted.
	AfterID ID
}

// Page is one screenful, newest first.
type Page struct {
	Jobs []Job  `json:"jobs"`
	Next string `json:"next,omitempty"` // cursor; empty on the last page
}

// QueueStatus is the load of one queue.
type QueueStatus struct {
	Name    string     `json:"name"`
	Running int        `json:"running"`
	Limit   int        `json:"limit"` // workers over all live processes
	Waiting Count      `json:"waiting"`
	Oldest  *time.Time `json:"oldest_waiting,omitempty"`
}

// Process is one server process by its heartbeat.
type Process struct {
	ID        string    `json:"id"`
	Role      string    `json:"role"`
	Version   string    `json:"version"`
	Registry  int64     `json:"registry"` // version of the subscription registry it runs
	StartedAt time.Time `json:"started_at"`
	BeatAt    time.Time `json:"beat_at"`
	Alive     bool      `json:"alive"`
	// StoppedAt is when it said goodbye; a process that is neither alive nor
	// stopped has died.
	StoppedAt *time.Time `json:"stopped_at,omitempty"`
	SkewMS    int64      `json:"skew_ms"` // process clock minus database clock
}
