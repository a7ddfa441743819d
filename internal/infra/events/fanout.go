package events

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/gatehouse-hq/gatehouse/internal/infra/jobs"
	"github.com/gatehouse-hq/gatehouse/internal/infra/pg"
)

// order is one job to enqueue and the events it stands for.
type order struct {
	subscription string
	insert       jobs.Insert
	events       []int // indices into the pass
}

// plan says which jobs the events of one pass become.
func (r *registry) plan(es []Event) []order {
	var all []order
	for _, s := range r.subs {
		var wanted []int
		for i, e := range es {
			if s.wants[e.Type] {
				wanted = append(wanted, i)
			}
		}
		switch {
		case len(wanted) == 0:
		case s.batched():
			all = append(all, s.batch(es, wanted))
		case s.Coalesce:
			all = append(all, s.coalesce(es, wanted)...)
		default:
			for _, i := range wanted {
				all = append(all, s.single(es[i], []int{i}))
			}
		}
	}
	return all
}

func (s subscription) single(e Event, stands []int) order {
	return order{subscription: s.Name, events: stands,
		insert: jobs.Insert{Kind: s.Name, Args: Args{Event: e.ID, Subject: e.Subject}, Cause: e.jobCause()}}
}

// batch is one job for all. It has no cause: its events have theirs.
func (s subscription) batch(es []Event, wanted []int) order {
	if len(wanted) == 1 {
		return s.single(es[wanted[0]], wanted)
	}
	ids := make([]string, len(wanted))
	for n, i := range wanted {
		ids[n] = es[i].ID
	}
	return order{subscription: s.Name, events: wanted,
		insert: jobs.Insert{Kind: s.Name, Args: Args{Events: ids, Subject: fmt.Sprintf("%d events", len(ids))}}}
}

// coalesce is one job per subject, for its latest event.
func (s subscription) coalesce(es []Event, wanted []int) []order {
	type key struct{ owner, subject string }
	groups := map[key][]int{}
	var keys []key
	for _, i := range wanted {
		k := key{es[i].OwnerID, es[i].Subject}
		if groups[k] == nil {
			keys = append(keys, k)
		}
		groups[k] = append(groups[k], i)
	}
	all := make([]order, 0, len(keys))
	for _, k := range keys {
		latest := slices.MaxFunc(groups[k], func(a, b int) int { return int(es[a].Seq - es[b].Seq) })
		all = append(all, s.single(es[latest], groups[k]))
	}
	return all
}

// fanOut enqueues the jobs of es and marks es, in tx.
func (b *Bus) fanOut(ctx context.Context, tx pg.Tx, j jobs.Jobs, es []Event) error {
	if len(es) == 0 {
		return nil
	}
	fanout := make([]map[string]jobs.ID, len(es))
	for i := range fanout {
		fanout[i] = map[string]jobs.ID{}
	}
	if orders := b.registry.plan(es); len(orders) > 0 {
		inserts := make([]jobs.Insert, len(orders))
		for n, o := range orders {
			inserts[n] = o.insert
		}
		made, err := j.With(tx).EnqueueMany(ctx, inserts)
		if err != nil {
			return fmt.Errorf("enqueue jobs of %d events: %w", len(es), err)
		}
		for n, o := range orders {
			for _, i := range o.events {
				fanout[i][o.subscription] = made[n].ID
			}
		}
	}
	return mark(ctx, tx, es, fanout)
}

func mark(ctx context.Context, tx pg.Tx, es []Event, fanout []map[string]jobs.ID) error {
	ids, maps := make([]string, len(es)), make([]string, len(es))
	for i, e := range es {
		b, err := json.Marshal(fanout[i])
		if err != nil {
			return fmt.Errorf("write fan-out of %s: %w", e.ID, err)
		}
		ids[i], maps[i] = e.ID, string(b)
	}
	tag, err := tx.Exec(ctx, `
update public.events e set fanned_out_at = clock_timestamp(), fanout = m.fanout::jsonb, retry_at = null, last_error = null
from unnest($1::uuid[], $2::text[]) m (id, fanout) where e.id = m.id`, ids, maps)
	if err != nil {
		return fmt.Errorf("mark %d events as fanned out: %w", len(es), err)
	}
	if tag.RowsAffected() != int64(len(es)) {
		return fmt.Errorf("mark events as fanned out: %d of %d rows were there", tag.RowsAffected(), len(es))
	}
	return nil
}
