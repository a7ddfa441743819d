package tasks

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/gatehouse-hq/gatehouse/internal/infra/events"
	"github.com/gatehouse-hq/gatehouse/internal/infra/jobs"
	"github.com/gatehouse-hq/gatehouse/internal/infra/op"
)

// Stream is what this domain asks of the bus.
type Stream interface {
	List(ctx context.Context, f events.Filter) (events.Page, error)
	Get(ctx context.Context, id string) (events.Entry, error)
	Requeue(ctx context.Context, id string) error
	Backlog(ctx context.Context) (events.Backlog, error)
	Types() []events.Type
}

// Words of the bus that pages use.
type (
	// Event is one row of the stream with what the relay did about it.
	Event = events.Entry
	// EventType is a declared sort of event.
	EventType = events.Type
	// EventState is how far an event has come.
	EventState = events.State
)

// EventStates lists the states in the order the panel shows them.
func EventStates() []EventState { return events.States() }

// EventQuery selects events. Zero values select everything.
type EventQuery struct {
	Type     string     `json:"type,omitempty" jsonschema:"glob over types: * within a segment, ** across segments"`
	State    EventState `json:"state,omitempty" jsonschema:"waiting, delivered or poisoned"`
	Subject  string     `json:"subject,omitempty" jsonschema:"exact subject"`
	Cursor   string     `json:"cursor,omitempty" jsonschema:"continue after the page that returned it"`
	AfterSeq int64      `json:"after_seq,omitempty" jsonschema:"keep only events with a higher sequence number"`
	Limit    int        `json:"limit,omitempty" jsonschema:"rows per page, 1 to 100; 0 means 50"`
}

func (q EventQuery) filter() (events.Filter, error) {
	f := events.Filter{State: q.State, Subject: q.Subject, Cursor: q.Cursor, AfterSeq: q.AfterSeq, Limit: q.Limit}
	switch {
	case q.State != "" && !slices.Contains(EventStates(), q.State):
		return f, op.Invalidf("state", "%q is not a state of an event. Choose waiting, delivered or poisoned.", string(q.State))
	case q.Limit < 0 || q.Limit > 100:
		return f, op.Invalidf("limit", "Choose 1 to 100.")
	case len(q.Subject) > 2000 || strings.ContainsRune(q.Subject, 0):
		return f, op.Invalidf("subject", "At most 2000 bytes of text are taken.")
	}
	if q.Type != "" {
		if _, err := events.ParseGlob(q.Type); err != nil {
			return f, op.Invalidf("type", "A type is segments of a-z, 0-9 and _ joined by dots. * stands for one segment, ** for any number.")
		}
		f.Types = []string{q.Type}
	}
	return f, nil
}

// EventPage is one screenful, newest first.
type EventPage struct {
	Events []Event `json:"events"`
	Next   string  `json:"next,omitempty" jsonschema:"cursor of the next page; absent on the last one"`
}

// ListEvents pages through the stream, newest first.
func (d *Domain) ListEvents(ctx context.Context, q EventQuery) (EventPage, error) {
	f, err := q.filter()
	if err != nil {
		return EventPage{}, err
	}
	p, err := d.Stream.List(ctx, f)
	if errors.Is(err, events.ErrBadFilter) {
		return EventPage{}, op.Invalidf("cursor", "The cursor is not one that this list gave out. Start again from the newest.")
	}
	for i := range p.Events {
		p.Events[i].Fanout = orEmptyMap(p.Events[i].Fanout)
	}
	return EventPage{Events: orEmpty(p.Events), Next: p.Next}, err
}

// EventsAtPresent reads events as they are at present, newest first, at most 100; those whose row is gone are left out.
func (d *Domain) EventsAtPresent(ctx context.Context, seqs []int64) ([]Event, error) {
	if len(seqs) == 0 {
		return nil, nil
	}
	p, err := d.Stream.List(ctx, events.Filter{Seqs: seqs, Limit: 100})
	return p.Events, err
}

// EventIn names an event.
type EventIn struct {
	ID string `json:"id" jsonschema:"id of the event"`
}

// EventOut is an event with the tasks it was turned into.
type EventOut struct {
	Event Event        `json:"event"`
	Tasks []FanoutTask `json:"tasks"`
}

// FanoutTask is how one subscription of an event fared.
type FanoutTask struct {
	Subscription string `json:"subscription"`
	Task         ID     `json:"id"`
	State        State  `json:"state"` // empty when nothing is known of the task any more
	Attempt      int    `json:"attempt"`
	MaxAttempts  int    `json:"max_attempts"`
	LastError    string `json:"last_error"`
	Pruned       bool   `json:"pruned"`
}

// GetEvent reads one event and the state of each of its tasks.
func (d *Domain) GetEvent(ctx context.Context, in EventIn) (EventOut, error) {
	e, err := d.Stream.Get(ctx, in.ID)
	if errors.Is(err, events.ErrNotFound) {
		return EventOut{}, op.Wrap(err, op.NotFound, "There is no event %q; it may be older than events are kept.", in.ID)
	}
	if err != nil {
		return EventOut{}, err
	}
	e.Fanout = orEmptyMap(e.Fanout)
	out := EventOut{Event: e, Tasks: []FanoutTask{}}
	for _, name := range sortedKeys(e.Fanout) {
		t := FanoutTask{Subscription: name, Task: e.Fanout[name]}
		switch j, err := d.Jobs.Get(ctx, t.Task); {
		case errors.Is(err, jobs.ErrNotFound):
			t.Pruned = true
		case err != nil:
			return EventOut{}, err
		default:
			t.State, t.Attempt, t.MaxAttempts, t.LastError, t.Pruned = j.State, j.Attempt, j.MaxAttempts, j.LastError, j.Pruned
		}
		out.Tasks = append(out.Tasks, t)
	}
	return out, nil
}

// RequeueEvent makes a poisoned event due again, with all its tries.
func (d *Domain) RequeueEvent(ctx context.Context, in EventIn) (EventOut, error) {
	switch err := d.Stream.Requeue(ctx, in.ID); {
	case errors.Is(err, events.ErrNotFound):
		return EventOut{}, op.Wrap(err, op.NotFound, "There is no event %q.", in.ID)
	case errors.Is(err, events.ErrNotPoisoned):
		return EventOut{}, op.Wrap(err, op.Conflict, "This event is no longer set aside. Nothing was done.")
	case err != nil:
		return EventOut{}, err
	}
	return d.GetEvent(ctx, in)
}

// TypesOut lists the declared types of events.
type TypesOut struct {
	Types []EventType `json:"types"`
}

// EventTypes lists every declared type, by name.
func (d *Domain) EventTypes(context.Context, None) (TypesOut, error) {
	types := slices.Clone(d.Stream.Types())
	slices.SortFunc(types, func(a, b EventType) int { return strings.Compare(a.Name, b.Name) })
	return TypesOut{Types: orEmpty(types)}, nil
}

func orEmptyMap[K comparable, V any](m map[K]V) map[K]V {
	if m == nil {
		return map[K]V{}
	}
	return m
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
