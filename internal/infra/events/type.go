package events

import (
	"context"
	"encoding/json"
	"fmt"
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
	Seq        int64           `json:"seq"` // rises with the order of writing within a subject
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
	// HandleBatch gets up to 200 events, oldest first, in one job (setting it
	// means batching). It merges nothing: every event is due. Its error is the
	// whole job's, which comes back with the same events; to let the good ones
	// commit, the handler gives a failing event a job of its own, in its own
	// transaction, with SplitOff. That job calls HandleBatch with one event.
	HandleBatch func(ctx context.Context, es []Event) error
}

// Kind is the job kind of s; the bus sets the handler.
func (s Subscription) Kind(h jobs.Handler) jobs.Kind {
	return jobs.Kind{Name: s.Name, Title: s.Title, Description: s.Description, Queue: s.Queue,
		Policy: s.Policy, Awaited: s.Awaited, Handler: h, Subject: argsSubject}
}

// SplitOff makes one event of a batch a job of its own, in the transaction j is
// bound to. A handler must not split off a batch of one: it returns the error.
func SplitOff(ctx context.Context, j jobs.Jobs, subscription string, e Event) error {
	_, err := j.EnqueueMany(ctx, []jobs.Insert{{Kind: subscription,
		Args: Args{Event: e.ID, Subject: e.Subject}, Cause: e.jobCause()}})
	if err != nil {
		return fmt.Errorf("give event %s a task of its own: %w", e.ID, err)
	}
	return nil
}

// jobCause is what a job made for e stores as its cause: who asked for the
// change, and e.
func (e Event) jobCause() pg.Cause {
	return pg.Cause{Request: e.Cause.Request, Actor: e.Cause.Actor, Event: e.ID}
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
