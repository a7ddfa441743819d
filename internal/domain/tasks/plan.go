package tasks

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/gatehouse-hq/gatehouse/internal/infra/op"
)

// planMatching says beforehand what a bulk action would touch, and freezes it:
// to the very tasks when they are few, else to those made until now.
func (d *Domain) planMatching(verb string, allowed []State) func(context.Context, MatchIn) (op.Preview, MatchIn, error) {
	return func(ctx context.Context, in MatchIn) (op.Preview, MatchIn, error) {
		if err := in.check(allowed); err != nil {
			return op.Preview{}, in, err
		}
		var p op.Preview
		var newest ID
		var ids []ID
		asked := in.IDs
		more, err := d.walk(ctx, in.query(), walkBound, func(t Task) error {
			if (in.Upto != 0 && t.ID > in.Upto) || (len(asked) > 0 && !slices.Contains(asked, t.ID)) {
				return nil
			}
			p.Count++
			ids = append(ids, t.ID)
			newest = max(newest, t.ID)
			if len(p.Sample) < op.SampleSize {
				p.Sample = append(p.Sample, fmt.Sprintf("task %d, %s, %s", t.ID, t.Kind, t.State))
			}
			return nil
		})
		if err != nil {
			return op.Preview{}, in, err
		}
		if p.Count == 0 {
			return op.Preview{}, in, op.Errorf(op.Conflict, "No task matches. There is nothing to %s.", strings.ToLower(verb))
		}
		if in.Upto == 0 {
			in.Upto = newest
		}
		if len(ids) <= frozenIDs && !more {
			in.IDs = ids
		}
		p.AtLeast = more
		p.Summary = fmt.Sprintf("%s every task that matches, up to number %d, as one task that can be stopped by cancelling it.", verb, in.Upto)
		return p, in, nil
	}
}

// planCancel names the task that a cancellation would stop.
func (d *Domain) planCancel(ctx context.Context, in Reference) (op.Preview, Reference, error) {
	if err := in.check(); err != nil {
		return op.Preview{}, in, err
	}
	t, err := d.Get(ctx, GetIn{ID: in.ID})
	if err != nil {
		return op.Preview{}, in, err
	}
	return op.Preview{Summary: "Cancel this task for good; if it runs, ask it to stop.", Count: 1,
		Sample: []string{fmt.Sprintf("task %d, %s, %s", t.ID, t.Kind, t.State)}}, in, nil
}
