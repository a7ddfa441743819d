package events

import (
	"context"
	"encoding/json"
	"time"

	"github.com/gatehouse-hq/gatehouse/internal/infra/jobs"
	"github.com/gatehouse-hq/gatehouse/internal/infra/pg"
)

// Exposure says whether events of a type may leave the instance.
type Exposure int

const (
	// Internal is the zero value: a type cannot leave by being forgotten.
	Internal Exposure = iota
	// Webhook types may be subscribed to by webhook endpoints.
	Webhook
)

// Type declares a sort of event: a dotted name, noun then verb in the past.
type Type struct {
	Name        string          `json:"name"`
	Title       string          `json:"title"`
	Description string          `json:"description"`
	Subject     string          `json:"subject"` // what the subject is, for people: "the note's address"
	Example     json.RawMessage `json:"example"` // an example of data
	Exposure    Exposure        `json:"exposure"`
}

// Event is one row of the outbox.
type Event struct {
	ID         string          `json:"id"`  // uuid v7; what receivers dedupe on
	Seq        int64           `json:"seq"` // rises per subject
	OwnerID    string          `json:"owner_id"`
	Type       string          `json:"type"`
	Subject    string          `json:"subject"`
	Data       json.RawMessage `json:"data"`
	Cause      pg.Cause        `json:"cause"`
	OccurredAt time.Time       `json:"occurred_at"`
}

// Recorder writes events. It must be bound to the transaction of the change.
type Recorder interface {
	With(tx pg.Tx) Recorder
	// Record writes one event and returns its id. An undeclared type is
	// ErrUndeclaredType; so is recording without With: ErrNoTransaction.
	Record(ctx context.Context, ownerID, typ, subject string, data any) (string, error)
}

// Subscription names a handler that wants some event types. Its name is also
// its job kind. Exactly one of Handle and HandleBatch is set.
type Subscription struct {
	Name        string
	Title       string
	Description string
	Types       []string // globs over declared types: `*` within a segment, `**` across; each must match one at boot
	// Exposed limits the globs to Webhook-exposed types.
	Exposed bool
	Queue   string
	Policy  jobs.Policy
	Awaited bool
	// Coalesce: one job per subject within a claimed batch, for the latest
	// event. Only for handlers that re-read current state.
	Coalesce bool
	// Handle does the work for one event.
	Handle func(ctx context.Context, e Event) error
	// HandleBatch gets up to 200 events in one job (HandleBatch set = batching).
	// It merges nothing; see EventArgs for making one event a job of its own.
	HandleBatch func(ctx context.Context, es []Event) error
}

// Kind is the job kind of s; the bus sets the handler.
func (s Subscription) Kind(h jobs.Handler) jobs.Kind {
	return jobs.Kind{Name: s.Name, Title: s.Title, Description: s.Description, Queue: s.Queue,
		Policy: s.Policy, Awaited: s.Awaited, Handler: h, Subject: argsSubject}
}

// Args are the args of a subscription's job: Event for a single one, Events
// for a batch. Subject is for people reading the task list.
type Args struct {
	Event   string   `json:"event_id,omitempty"`
	Events  []string `json:"event_ids,omitempty"`
	Subject string   `json:"subject,omitempty"`
}

func argsSubject(raw json.RawMessage) string {
	var a Args
	if json.Unmarshal(raw, &a) != nil {
		return ""
	}
	return a.Subject
}
