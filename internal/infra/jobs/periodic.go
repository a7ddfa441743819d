package jobs

import (
	"context"
	"time"
)

// Periodic is work that comes back by itself. Its schedule lives in the
// database: a restart neither loses a turn nor adds one, and a gap is caught
// up by one run.
type Periodic struct {
	Name        string
	Title       string
	Description string
	Every       time.Duration
	Timeout     time.Duration // 0 means 10 minutes
	Run         func(ctx context.Context) error
}

// PeriodicStatus is what the panel shows of one periodic.
type PeriodicStatus struct {
	Name        string        `json:"name"`
	Title       string        `json:"title"`
	Description string        `json:"description"`
	Every       time.Duration `json:"every_ns"`
	Paused      bool          `json:"paused"`
	NextRun     *time.Time    `json:"next_run,omitempty"`
	Overdue     bool          `json:"overdue"`
	Running     bool          `json:"running"`
	History     []PeriodicRun `json:"history"` // newest first, at most 50
}

// Failing reports whether the latest turn failed. Each turn makes good for the one before.
func (p PeriodicStatus) Failing() bool { return len(p.History) > 0 && !p.History[0].OK }

// PeriodicKind is the kind of the jobs that are turns of periodics.
const PeriodicKind = "periodic"

// PeriodicRun is one turn of a periodic.
type PeriodicRun struct {
	At       time.Time     `json:"at"`
	Duration time.Duration `json:"duration_ns"`
	OK       bool          `json:"ok"`
	Error    string        `json:"error,omitempty"`
	Trigger  string        `json:"trigger"` // schedule, hand, catch-up
	Job      ID            `json:"job"`
}
