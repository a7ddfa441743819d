package events

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/gatehouse-hq/gatehouse/internal/infra/jobs"
	"github.com/gatehouse-hq/gatehouse/internal/infra/pg"
)

// ErrPruned: the event is gone, its retention has passed.
var ErrPruned = errors.New("the event is older than events are kept")

// Kinds are the job kinds of all subscriptions, with handlers that load the
// events of a job, set the cause (job and event) in the context, and call the
// subscription. A job whose events are all gone, or whose args cannot be
// read, is discarded; a batch goes on with the events that are left.
func (b *Bus) Kinds() []jobs.Kind {
	kinds := make([]jobs.Kind, 0, len(b.registry.subs))
	for _, s := range b.registry.subs {
		kinds = append(kinds, s.Kind(b.handler(s)))
	}
	return kinds
}

func (b *Bus) handler(s subscription) jobs.Handler {
	return func(ctx context.Context, raw json.RawMessage) error {
		ids, err := eventIDs(raw)
		if err != nil {
			return jobs.Discard(err)
		}
		es, err := b.load(ctx, ids)
		if err != nil {
			return err
		}
		if len(es) == 0 {
			return jobs.Discard(ErrPruned)
		}
		if gone := len(ids) - len(es); gone > 0 {
			jobs.Report(ctx, map[string]int{"events_pruned": gone})
		}
		ctx = pg.WithCause(ctx, handlerCause(ctx, es))
		if s.batched() {
			return s.HandleBatch(ctx, es)
		}
		return s.Handle(ctx, es[0])
	}
}

// eventIDs are the distinct ids that args name.
func eventIDs(raw json.RawMessage) ([]string, error) {
	var a Args
	if err := json.Unmarshal(raw, &a); err != nil {
		return nil, fmt.Errorf("read arguments: %w", err)
	}
	ids := slices.Clone(a.Events)
	if a.Event != "" {
		ids = append(ids, a.Event)
	}
	slices.Sort(ids)
	ids = slices.Compact(ids)
	if len(ids) == 0 {
		return nil, errors.New("read arguments: no event is named")
	}
	for _, id := range ids {
		if !pg.ValidUUID(id) {
			return nil, fmt.Errorf("read arguments: %q is no event id", id)
		}
	}
	return ids, nil
}

// handlerCause is the cause of what a handler writes.
func handlerCause(ctx context.Context, es []Event) pg.Cause {
	run, _ := jobs.Current(ctx)
	c := pg.Cause{Job: int64(run.ID)}
	if len(es) == 1 {
		c.Event, c.Request, c.Actor = es[0].ID, es[0].Cause.Request, es[0].Cause.Actor
	}
	return c
}

// load reads the events in the order they were written; ids whose row is gone are left out.
func (b *Bus) load(ctx context.Context, ids []string) ([]Event, error) {
	var es []Event
	var missing []string
	for _, id := range ids {
		if e, ok := b.recent.get(id); ok {
			es = append(es, e)
		} else {
			missing = append(missing, id)
		}
	}
	if len(missing) > 0 {
		read, err := readEvents(ctx, b.cfg.DB, `id = any($1::uuid[])`, missing)
		if err != nil {
			return nil, fmt.Errorf("load %d events: %w", len(missing), err)
		}
		es = append(es, read...)
	}
	slices.SortFunc(es, func(a, b Event) int { return cmp.Compare(a.Seq, b.Seq) })
	return es, nil
}

// readEvents reads the events for which where holds, oldest first.
func readEvents(ctx context.Context, q pg.Querier, where string, args ...any) ([]Event, error) {
	rows, err := q.Query(ctx, `
select id::text, seq, owner_id::text, type, subject, data::text, cause::text, occurred_at
from public.events where `+where+` order by seq`, args...)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (Event, error) {
		var e Event
		var data string
		var cause *string
		if err := row.Scan(&e.ID, &e.Seq, &e.OwnerID, &e.Type, &e.Subject, &data, &cause, &e.OccurredAt); err != nil {
			return e, err
		}
		return e, e.decode(data, cause)
	})
}
