package river

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	riverqueue "github.com/riverqueue/river"
	"github.com/riverqueue/river/rivertype"

	"github.com/gatehouse-hq/gatehouse/internal/infra/jobs"
	"github.com/gatehouse-hq/gatehouse/internal/infra/pg"
)

const (
	// neverEnough takes the library's own limit of attempts out of the way:
	// the largest smallint.
	neverEnough = 32767
	// batch is the most jobs one statement inserts.
	batch = 1000
	// soon: the library's scheduler looks every 5 s. A row that is due sooner is
	// inserted as available with its future time, which the poll respects. Not
	// for later ones: many future rows slow each fetch.
	soon = 5 * time.Second
)

// waitingStates and running ones make a twin. The library's default counts
// completed jobs too, and would swallow the second edit (field case F11).
func uniqueStates() []rivertype.JobState {
	return []rivertype.JobState{
		rivertype.JobStateAvailable, rivertype.JobStatePending, rivertype.JobStateScheduled,
		rivertype.JobStateRetryable, rivertype.JobStateRunning,
	}
}

func insertHooks() []rivertype.Hook {
	return []rivertype.Hook{riverqueue.HookInsertBeginFunc(func(_ context.Context, p *rivertype.JobInsertParams) error {
		if p.State == rivertype.JobStateScheduled && p.ScheduledAt != nil && time.Until(*p.ScheduledAt) <= soon {
			p.State = rivertype.JobStateAvailable
		}
		return nil
	})}
}

// bound is the runtime's Jobs in somebody's transaction.
type bound struct {
	rt *Runtime
	tx pg.Tx
}

// With returns jobs bound to tx: they exist if and only if it commits.
func (rt *Runtime) With(tx pg.Tx) jobs.Jobs { return &bound{rt: rt, tx: tx} }

func (b *bound) With(tx pg.Tx) jobs.Jobs { return &bound{rt: b.rt, tx: tx} }

func (b *bound) Enqueue(ctx context.Context, kind string, v any, o jobs.EnqueueOpts) (jobs.ID, error) {
	r, err := b.EnqueueMany(ctx, []jobs.Insert{{Kind: kind, Args: v, EnqueueOpts: o}})
	if err != nil {
		return 0, err
	}
	return r[0].ID, nil
}

func (b *bound) EnqueueMany(ctx context.Context, in []jobs.Insert) ([]jobs.Result, error) {
	return b.rt.insert(ctx, b.tx, in, "")
}

// Enqueue adds one job in a transaction of its own.
func (rt *Runtime) Enqueue(ctx context.Context, kind string, v any, o jobs.EnqueueOpts) (id jobs.ID, err error) {
	err = pg.InTx(ctx, rt.db, func(tx pg.Tx) error {
		id, err = rt.With(tx).Enqueue(ctx, kind, v, o)
		return err
	})
	return id, err
}

// EnqueueMany adds many jobs in a transaction of its own.
func (rt *Runtime) EnqueueMany(ctx context.Context, in []jobs.Insert) (out []jobs.Result, err error) {
	err = pg.InTx(ctx, rt.db, func(tx pg.Tx) error {
		out, err = rt.With(tx).EnqueueMany(ctx, in)
		return err
	})
	return out, err
}

// prepared is one job ready to insert, and which inserts it stands for.
type prepared struct {
	params riverqueue.InsertManyParams
	key    string // of a unique one
	stands []int
}

func (rt *Runtime) insert(ctx context.Context, tx pg.Tx, in []jobs.Insert, trigger string) ([]jobs.Result, error) {
	ready, err := rt.prepareAll(ctx, in, trigger)
	if err != nil {
		return nil, err
	}
	out := make([]jobs.Result, len(in))
	queues := map[string]bool{}
	for part := range slices.Chunk(ready, batch) {
		params := make([]riverqueue.InsertManyParams, len(part))
		for i, p := range part {
			params[i] = p.params
			queues[p.params.InsertOpts.Queue] = true
		}
		rows, err := rt.inserter.InsertManyTx(ctx, tx.Tx, params)
		if err != nil {
			if strings.HasPrefix(pg.State(err), "22") {
				err = fmt.Errorf("%w: %w", jobs.ErrBadArgs, err)
			}
			return nil, fmt.Errorf("insert %d tasks: %w", len(params), err)
		}
		if len(rows) != len(part) {
			return nil, fmt.Errorf("inserted %d tasks and got %d back", len(part), len(rows))
		}
		for i, p := range part {
			for n, at := range p.stands {
				skipped := n > 0 || rows[i].UniqueSkippedAsDuplicate
				if skipped {
					rt.skipped.Add(1)
				}
				out[at] = jobs.Result{ID: jobs.ID(rows[i].Job.ID), Skipped: skipped}
			}
		}
	}
	if len(queues) > 0 {
		names := make([]string, 0, len(queues))
		for q := range queues {
			names = append(names, q)
		}
		tx.AfterCommit(func() { rt.poke(names...) })
	}
	return out, nil
}

// prepareAll merges twins within the batch, because the statement fails on
// them, and orders unique jobs by their key, so that two batches lock common
// rows in one order.
func (rt *Runtime) prepareAll(ctx context.Context, in []jobs.Insert, trigger string) ([]prepared, error) {
	ready := make([]prepared, 0, len(in))
	var unique []prepared
	seen := map[string]int{}
	cause := pg.CauseFrom(ctx)
	for i, ins := range in {
		p, err := rt.prepare(ins, cause, trigger)
		if err != nil {
			return nil, err
		}
		if !ins.UniqueByArgs {
			p.stands = []int{i}
			ready = append(ready, p)
			continue
		}
		if at, twin := seen[p.key]; twin {
			unique[at].stands = append(unique[at].stands, i)
			continue
		}
		seen[p.key] = len(unique)
		p.stands = []int{i}
		unique = append(unique, p)
	}
	slices.SortFunc(unique, func(a, b prepared) int { return strings.Compare(a.key, b.key) })
	return append(ready, unique...), nil
}

func (rt *Runtime) prepare(in jobs.Insert, cause pg.Cause, trigger string) (prepared, error) {
	kind, ok := rt.kinds[in.Kind]
	if !ok {
		return prepared{}, fmt.Errorf("%w: %q", jobs.ErrUnknownKind, in.Kind)
	}
	queue := in.Queue
	if queue == "" {
		queue = kind.Queue
	}
	if _, ok := rt.queues[queue]; !ok {
		return prepared{}, fmt.Errorf("enqueue %s: the queue %q is not declared", in.Kind, queue)
	}
	raw, err := canonical(in.Args)
	if err != nil {
		return prepared{}, fmt.Errorf("enqueue %s: %w", in.Kind, err)
	}
	if in.Cause != (pg.Cause{}) {
		cause = in.Cause
	}
	opts := &riverqueue.InsertOpts{Queue: queue, MaxAttempts: neverEnough, ScheduledAt: in.RunAt}
	m := meta{Cause: cleanCause(cause), Trigger: trigger}
	if time.Until(in.RunAt) > time.Minute {
		m.CycleAt = in.RunAt.UTC() // waiting for its time is no age
	}
	if opts.Metadata, err = json.Marshal(m); err != nil {
		return prepared{}, fmt.Errorf("enqueue %s: %w", in.Kind, err)
	}
	p := prepared{params: riverqueue.InsertManyParams{Args: args{kind: in.Kind, raw: raw}, InsertOpts: opts}}
	if in.UniqueByArgs {
		opts.UniqueOpts = riverqueue.UniqueOpts{ByArgs: true, ByState: uniqueStates()}
		p.key = in.Kind + " " + string(raw)
	}
	return p, nil
}

// cleanCause makes what came with a request storable; ids are short.
func cleanCause(c pg.Cause) pg.Cause {
	c.Request, c.Actor, c.Event = clean(c.Request, 200), clean(c.Actor, 200), clean(c.Event, 200)
	return c
}
