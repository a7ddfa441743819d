package tasks

import (
	"context"
	"errors"
	"slices"

	"github.com/gatehouse-hq/gatehouse/internal/infra/jobs"
	"github.com/gatehouse-hq/gatehouse/internal/infra/op"
)

// OverviewIn asks for one kind or, left empty, for all.
type OverviewIn struct {
	Kind string `json:"kind,omitempty" jsonschema:"one kind; left out: all declared kinds"`
}

// OverviewOut counts tasks by kind and state.
type OverviewOut struct {
	Kinds  []jobs.KindCount `json:"kinds"`
	Queues []Queue          `json:"queues"`
}

// Total adds up one state over all kinds.
func (o OverviewOut) Total(s State) Count {
	var sum Count
	for _, k := range o.Kinds {
		c := k.States[s]
		sum.N += c.N
		sum.AtLeast = sum.AtLeast || c.AtLeast
	}
	return sum
}

// Overview counts tasks; counts are bounded.
func (d *Domain) Overview(ctx context.Context, in OverviewIn) (OverviewOut, error) {
	kinds, err := d.Jobs.Overview(ctx, in.Kind)
	if errors.Is(err, jobs.ErrNotFound) || errors.Is(err, jobs.ErrUnknownKind) {
		return OverviewOut{}, op.Invalidf("kind", "%q is not a kind of task.", in.Kind)
	}
	if err != nil {
		return OverviewOut{}, err
	}
	for i := range kinds {
		if kinds[i].States == nil {
			kinds[i].States = map[State]Count{}
		}
	}
	queues, err := d.Jobs.Queues(ctx)
	return OverviewOut{Kinds: orEmpty(kinds), Queues: orEmpty(queues)}, err
}

// ListOut is one screenful of tasks, newest first.
type ListOut struct {
	Tasks []Task `json:"tasks"`
	Next  string `json:"next,omitempty" jsonschema:"cursor of the next page; absent on the last one"`
}

// List pages through tasks, newest first.
func (d *Domain) List(ctx context.Context, q Query) (ListOut, error) {
	f, err := q.filter()
	if err != nil {
		return ListOut{}, err
	}
	p, err := d.Jobs.List(ctx, f)
	if errors.Is(err, jobs.ErrBadFilter) {
		return ListOut{}, op.Invalidf("cursor", "The cursor is not one that this list gave out. Start again from the newest.")
	}
	for i := range p.Jobs {
		p.Jobs[i].Attempts = orEmpty(p.Jobs[i].Attempts)
	}
	return ListOut{Tasks: orEmpty(p.Jobs), Next: p.Next}, err
}

// AtPresent reads tasks as they are at present, newest first, at most 100; those whose row is gone are left out.
func (d *Domain) AtPresent(ctx context.Context, ids []ID) ([]Task, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	p, err := d.Jobs.List(ctx, jobs.Filter{IDs: ids, Limit: 100})
	return p.Jobs, err
}

// GetIn names a task.
type GetIn struct {
	ID ID `json:"id" jsonschema:"number of the task"`
}

type opGetIn struct {
	GetIn
	Limit  int `json:"attempts_limit,omitempty" jsonschema:"at most so many attempts, the newest of those asked for; left out: all of them"`
	Before int `json:"attempts_before,omitempty" jsonschema:"only attempts with a lower number: attempts_next of the answer before"`
}

type opGetOut struct {
	Task
	Next int `json:"attempts_next,omitempty" jsonschema:"present when there are older attempts: ask again with this as attempts_before"`
}

// opGet reads one task with its newest attempts, or those before a number.
func (d *Domain) opGet(ctx context.Context, in opGetIn) (opGetOut, error) {
	if in.Limit < 0 || in.Limit > 1000 {
		return opGetOut{}, op.Invalidf("attempts_limit", "Choose 1 to 1000.")
	}
	if in.Before < 0 {
		return opGetOut{}, op.Invalidf("attempts_before", "Give the number of an attempt.")
	}
	t, err := d.Get(ctx, in.GetIn)
	out := opGetOut{Task: t}
	if in.Before > 0 {
		if at := slices.IndexFunc(out.Attempts, func(a jobs.Attempt) bool { return a.Number >= in.Before }); at >= 0 {
			out.Attempts = out.Attempts[:at]
		}
	}
	if over := len(out.Attempts) - in.Limit; in.Limit > 0 && over > 0 {
		out.Attempts = out.Attempts[over:]
		out.Next = out.Attempts[0].Number
	}
	return out, err
}

// Get reads one task with every attempt.
func (d *Domain) Get(ctx context.Context, in GetIn) (Task, error) {
	j, err := d.Jobs.Get(ctx, in.ID)
	j.Attempts = orEmpty(j.Attempts)
	return j, explain(err, in.ID)
}

// Retry starts a new cycle of a task now.
func (d *Domain) Retry(ctx context.Context, in Reference) (Task, error) {
	return d.act(ctx, in, d.Jobs.Retry)
}

// Cancel stops a task for good; one that runs is asked to stop.
func (d *Domain) Cancel(ctx context.Context, in Reference) (Task, error) {
	return d.act(ctx, in, d.Jobs.Cancel)
}

type action func(context.Context, jobs.ID, jobs.Expected) error

func (d *Domain) act(ctx context.Context, in Reference, do action) (Task, error) {
	if err := in.check(); err != nil {
		return Task{}, err
	}
	if err := do(ctx, in.ID, jobs.Expected{State: in.State, Attempt: in.Attempt}); err != nil {
		return Task{}, explain(err, in.ID)
	}
	return d.Get(ctx, GetIn{ID: in.ID})
}
