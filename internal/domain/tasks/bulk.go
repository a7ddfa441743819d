package tasks

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/gatehouse-hq/gatehouse/internal/infra/jobs"
	"github.com/gatehouse-hq/gatehouse/internal/infra/op"
)

// BulkKind is the kind of task that retries or cancels many others.
const BulkKind = "tasks.bulk"

// frozenIDs is how many tasks a plan names one by one.
const frozenIDs = 1000

// MatchIn selects the tasks of a bulk action. Upto freezes the selection:
// tasks made later are left alone. IDs freezes it to the very tasks, as far as
// they still match.
type MatchIn struct {
	States []State           `json:"states" jsonschema:"act on tasks in these states"`
	Kind   string            `json:"kind,omitempty" jsonschema:"act on tasks of this kind; left out: every kind"`
	Args   map[string]string `json:"args,omitempty" jsonschema:"act on tasks whose top-level arguments have these values"`
	Error  string            `json:"error,omitempty" jsonschema:"act on tasks with an error that contains this text"`
	Upto   ID                `json:"up_to_id,omitempty" jsonschema:"leave tasks with a higher number alone; left out: the highest that matches now"`
	IDs    []ID              `json:"ids,omitempty" jsonschema:"of all that match act on these alone, at most 1000; a plan of so few sets it"`
}

func (m MatchIn) query() Query {
	return Query{States: m.States, Kind: m.Kind, Args: m.Args, Error: m.Error}
}

// bulkArgs are the args of a bulk task.
type bulkArgs struct {
	Action string    `json:"action"` // retry or cancel
	Match  MatchIn   `json:"match"`
	At     time.Time `json:"at"` // attempts begun later are not touched again
}

// BulkReport is what a bulk task reports while it works.
type BulkReport struct {
	Done      int `json:"done"`
	LeftAlone int `json:"left_alone"` // moved on meanwhile, or retried from their own section
}

// RetryMatching retries all that match, as a task of its own that can be
// stopped by cancelling it.
func (d *Domain) RetryMatching(ctx context.Context, in MatchIn) (Task, error) {
	return d.startBulk(ctx, "retry", in, retried())
}

// CancelMatching cancels all that match, likewise.
func (d *Domain) CancelMatching(ctx context.Context, in MatchIn) (Task, error) {
	return d.startBulk(ctx, "cancel", in, cancelled())
}

// retried and cancelled are the states that a bulk action can work on.
func retried() []State {
	return []State{jobs.Retryable, jobs.Discarded, jobs.Cancelled, jobs.Pending}
}
func cancelled() []State { return []State{jobs.Pending, jobs.Retryable, jobs.Running} }

func (m MatchIn) check(allowed []State) error {
	if len(m.States) == 0 {
		return op.Invalidf("states", "Say which states to act on.")
	}
	for _, s := range m.States {
		if !slices.Contains(allowed, s) {
			return op.Invalidf("states", "A task that is %s cannot be acted on like this.", s)
		}
	}
	if len(m.IDs) > frozenIDs {
		return op.Invalidf("ids", "At most %d tasks can be named. Leave it out for all that match.", frozenIDs)
	}
	return nil
}

func (d *Domain) startBulk(ctx context.Context, action string, in MatchIn, allowed []State) (Task, error) {
	if err := in.check(allowed); err != nil {
		return Task{}, err
	}
	count, newest, err := d.CountMatching(ctx, in.query())
	if err != nil {
		return Task{}, err
	}
	if in.Upto == 0 {
		in.Upto = newest
	}
	if count.N == 0 {
		return Task{}, op.Errorf(op.Conflict, "No task matches any more. Nothing was done.")
	}
	id, err := d.Queue.Enqueue(ctx, BulkKind, bulkArgs{Action: action, Match: in, At: d.Now()}, jobs.EnqueueOpts{})
	if err != nil {
		return Task{}, fmt.Errorf("enqueue the bulk action: %w", err)
	}
	return d.Get(ctx, GetIn{ID: id})
}

// runBulk acts on every match. It is idempotent: what it has retried no longer
// matches, and what failed again since has begun after At.
func (d *Domain) runBulk(ctx context.Context, raw json.RawMessage) error {
	var a bulkArgs
	if err := json.Unmarshal(raw, &a); err != nil {
		return jobs.Discard(fmt.Errorf("read the arguments: %w", err))
	}
	do := d.Jobs.Retry
	if a.Action == "cancel" {
		do = d.Jobs.Cancel
	}
	named := map[ID]bool{}
	for _, id := range a.Match.IDs {
		named[id] = true
	}
	var report BulkReport
	_, err := d.walk(ctx, a.Match.query(), 0, func(t Task) error {
		if t.ID > a.Match.Upto || (len(named) > 0 && !named[t.ID]) || t.Kind == BulkKind || (t.StartedAt != nil && t.StartedAt.After(a.At)) {
			return nil
		}
		err := do(ctx, t.ID, jobs.Expected{State: t.State, Attempt: t.Attempt})
		switch {
		case err == nil:
			report.Done++
		case errors.Is(err, jobs.ErrConflict), errors.Is(err, jobs.ErrTwin), errors.Is(err, jobs.ErrRetriedElsewhere), errors.Is(err, jobs.ErrNotFound):
			report.LeftAlone++
		default:
			return fmt.Errorf("%s task %d: %w", a.Action, t.ID, err)
		}
		jobs.Report(ctx, report)
		return ctx.Err()
	})
	jobs.Report(ctx, report)
	return err
}

func bulkSubject(raw json.RawMessage) string {
	var a bulkArgs
	if json.Unmarshal(raw, &a) != nil {
		return ""
	}
	kind := a.Match.Kind
	if kind == "" {
		kind = "every kind"
	}
	return a.Action + " " + kind
}
