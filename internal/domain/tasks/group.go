package tasks

import (
	"cmp"
	"context"
	"slices"
	"time"
)

// walkBound is how many tasks a count or grouping looks at: five pages.
const walkBound = 500

// Group is failures of one kind with one error.
type Group struct {
	Kind  string `json:"kind"`
	Error string `json:"error"`
	Count Count  `json:"count"`
}

// Groups sorts the failures that q selects by kind and error, the largest
// group first. It looks at the newest 500.
func (d *Domain) Groups(ctx context.Context, q Query) ([]Group, error) {
	type key struct{ kind, text string }
	counts := map[key]int{}
	more, err := d.walk(ctx, q, walkBound, func(t Task) error {
		counts[key{t.Kind, t.LastError}]++
		return nil
	})
	groups := make([]Group, 0, len(counts))
	for k, n := range counts {
		groups = append(groups, Group{Kind: k.kind, Error: k.text, Count: Count{N: n, AtLeast: more}})
	}
	slices.SortFunc(groups, func(a, b Group) int {
		return cmp.Or(cmp.Compare(b.Count.N, a.Count.N), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Error, b.Error))
	})
	return groups, err
}

// CountMatching counts what q selects, up to 500, and says which is the newest
// of them.
func (d *Domain) CountMatching(ctx context.Context, q Query) (n Count, newest ID, err error) {
	n.AtLeast, err = d.walk(ctx, q, walkBound, func(t Task) error {
		n.N++
		newest = max(newest, t.ID)
		return nil
	})
	return n, newest, err
}

// Oldest says since when the oldest of the newest 100 tasks in a state is
// there; false when there is none.
func (d *Domain) Oldest(ctx context.Context, s State) (since time.Time, found bool, err error) {
	out, err := d.List(ctx, Query{States: []State{s}, Limit: 100})
	for _, t := range out.Tasks {
		if !found || t.CreatedAt.Before(since) {
			since, found = t.CreatedAt, true
		}
	}
	return since, found, err
}

// walk visits what q selects, newest first; more says that it stopped at most.
func (d *Domain) walk(ctx context.Context, q Query, most int, visit func(Task) error) (more bool, err error) {
	q.Cursor, q.Limit = "", 100
	for seen := 0; ; {
		page, err := d.List(ctx, q)
		if err != nil {
			return false, err
		}
		for _, t := range page.Tasks {
			if most > 0 && seen == most {
				return true, nil
			}
			if err := visit(t); err != nil {
				return false, err
			}
			seen++
		}
		if page.Next == "" {
			return false, nil
		}
		q.Cursor = page.Next
	}
}
