package subscriber

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/gatehouse-hq/gatehouse/internal/domain/webhooks"
	"github.com/gatehouse-hq/gatehouse/internal/infra/events"
	"github.com/gatehouse-hq/gatehouse/internal/infra/jobs"
	"github.com/gatehouse-hq/gatehouse/internal/infra/pg"
)

const (
	// mostMatches is how many deliveries one transaction may create; a batch with more gives each event a task of its own.
	mostMatches = 10_000
	// insertStep is how many rows one statement inserts.
	insertStep = 2000
	// failingDelay is when a new delivery to a failing endpoint starts: not at once, into the same wall.
	failingDelay = 5 * time.Minute
)

// target is an endpoint as fan-out sees it.
type target struct {
	id      string
	globs   []events.Glob
	enabled bool
	failing bool
	embed   bool
}

// FanOut creates the deliveries of a batch of events: one for each endpoint that selects it and may hear it. Doing it
// twice creates nothing twice, and so sends nothing twice.
func (h *Handlers) FanOut(ctx context.Context, es []events.Event) error {
	var split bool
	depths := h.lines.depths(ctx)
	err := pg.InTx(ctx, h.domain.DB, func(tx pg.Tx) error {
		targets, err := readTargets(ctx, tx)
		if err != nil {
			return err
		}
		matches, err := match(es, targets)
		if err != nil {
			return err
		}
		if len(matches) > mostMatches && len(es) > 1 {
			split = true
			return h.split(ctx, tx, es)
		}
		given, err := webhooks.GivenUp(ctx, tx)
		if err != nil {
			return err
		}
		for len(matches) > 0 {
			n := min(len(matches), insertStep)
			if err := h.owe(ctx, tx, matches[:n], depths, given); err != nil {
				return err
			}
			matches = matches[n:]
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("create the deliveries of %d events: %w", len(es), err)
	}
	if !split {
		for _, e := range es {
			h.bodies.add(e)
		}
	}
	return nil
}

func (h *Handlers) split(ctx context.Context, tx pg.Tx, es []events.Event) error {
	for _, e := range es {
		if err := events.SplitOff(ctx, h.jobs.With(tx), webhooks.FanoutKind, e); err != nil {
			return err
		}
	}
	return nil
}

// readTargets locks the endpoints: one that is being paused or deleted is seen either before, and then parks or cancels
// what is created here, or after.
func readTargets(ctx context.Context, tx pg.Tx) ([]target, error) {
	rows, err := tx.Query(ctx, `
select e.id::text, e.event_types, e.enabled, s.failing_since is not null, e.scope = 'embed'
from public.webhook_endpoints e join public.webhook_endpoint_state s on s.endpoint_id = e.id
where e.deleted_at is null order by e.id for share of e`)
	if err != nil {
		return nil, fmt.Errorf("read endpoints: %w", err)
	}
	out, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (target, error) {
		var t target
		var texts []string
		if err := row.Scan(&t.id, &texts, &t.enabled, &t.failing, &t.embed); err != nil {
			return t, err
		}
		for _, text := range texts {
			g, err := events.ParseGlob(text)
			if err != nil {
				return t, fmt.Errorf("endpoint %s: %w", t.id, err)
			}
			t.globs = append(t.globs, g)
		}
		return t, nil
	})
	if err != nil {
		return nil, fmt.Errorf("read endpoints: %w", err)
	}
	return out, nil
}

// due is one delivery to create.
type due struct {
	target target
	event  events.Event
}

// match finds who hears what. Matching a type is done once a type, not once an event.
func match(es []events.Event, targets []target) ([]due, error) {
	byType := map[string][]target{}
	var out []due
	for _, e := range es {
		heard, known := byType[e.Type]
		if !known {
			for _, t := range targets {
				if t.selects(e.Type) {
					heard = append(heard, t)
				}
			}
			byType[e.Type] = heard
		}
		for _, t := range heard {
			may, err := mayHear(t, e)
			if err != nil {
				return nil, err
			}
			if may {
				out = append(out, due{t, e})
			}
		}
	}
	return out, nil
}

func (t target) selects(name string) bool {
	for _, g := range t.globs {
		if g.Match(name) {
			return true
		}
	}
	return false
}

// scoped is what mayHear reads of an event's data.
type scoped struct {
	Genre        string `json:"genre"`
	Published    bool   `json:"published"`
	WasPublished bool   `json:"was_published"`
}

// mayHear is the scope: of notes an endpoint hears the published slice, which includes a note's leaving it, and nothing
// of the private inbox, ever. A test was created for its endpoint when it was asked for, and is nobody else's.
func mayHear(t target, e events.Event) (bool, error) {
	switch e.Type {
	case webhooks.TestType:
		return false, nil
	case webhooks.NoteChangedType:
		var data scoped
		if err := json.Unmarshal(e.Data, &data); err != nil {
			return false, jobs.Discard(fmt.Errorf("read event %s: %w", e.ID, errors.New("its data is not that of a change to a note")))
		}
		return data.Genre != "raw" && !t.embed && (data.Published || data.WasPublished), nil
	}
	return !t.embed, nil
}

// owe inserts deliveries, and tasks for those it really inserted and that may be sent. Events up to the number given were
// given up when a hold ended.
func (h *Handlers) owe(ctx context.Context, tx pg.Tx, list []due, depths map[string]time.Duration, given int64) error {
	endpoints, ids, states := make([]string, len(list)), make([]string, len(list)), make([]string, len(list))
	byKey := make(map[pair]due, len(list))
	for i, d := range list {
		endpoints[i], ids[i], states[i] = d.target.id, d.event.ID, string(webhooks.Waiting)
		switch {
		case d.event.Seq <= given:
			states[i] = string(webhooks.Dropped)
		case !d.target.enabled:
			states[i] = string(webhooks.Parked)
		}
		byKey[pair{d.target.id, d.event.ID}] = d
	}
	rows, err := tx.Query(ctx, `
insert into public.webhook_deliveries (endpoint_id, event_id, state, settled_at)
select endpoint_id, event_id, state, case when state = 'dropped' then clock_timestamp() end
from unnest($1::uuid[], $2::uuid[], $3::text[]) d (endpoint_id, event_id, state) on conflict do nothing
returning endpoint_id::text, event_id::text`, endpoints, ids, states)
	if err != nil {
		return fmt.Errorf("insert deliveries: %w", err)
	}
	inserted, err := pgx.CollectRows(rows, pgx.RowToStructByPos[insertedRow])
	if err != nil {
		return fmt.Errorf("insert deliveries: %w", err)
	}
	created := map[string]int{}
	inserts := make([]jobs.Insert, 0, len(inserted))
	for _, row := range inserted {
		d := byKey[pair{row.Endpoint, row.Event}]
		if !d.target.enabled || d.event.Seq <= given {
			continue
		}
		created[d.target.id]++
		inserts = append(inserts, task(d, depths[d.target.id]))
	}
	if len(inserts) == 0 {
		return nil
	}
	if _, err := h.jobs.With(tx).EnqueueMany(ctx, inserts); err != nil {
		return fmt.Errorf("enqueue deliveries: %w", err)
	}
	for id, n := range created {
		h.lines.get(id).expect(n, depths[id] > 0)
	}
	return nil
}

type insertedRow struct{ Endpoint, Event string }

// task is the job of a delivery: at once, or at a random time of the drain when the endpoint's backlog is deep, which
// spares it being claimed only to be put off.
func task(d due, drain time.Duration) jobs.Insert {
	in := jobs.Insert{Kind: webhooks.DeliverKind, Args: webhooks.DeliverArgs{EndpointID: d.target.id, EventID: d.event.ID},
		Cause: pg.Cause{Request: d.event.Cause.Request, Actor: d.event.Cause.Actor, Event: d.event.ID}}
	if d.target.failing {
		in.Queue = webhooks.BacklogQueue
		in.RunAt = time.Now().Add(failingDelay + time.Duration(rand.Int64N(int64(failingDelay/10))))
		return in
	}
	if drain > 0 {
		in.Queue = webhooks.BacklogQueue
		in.RunAt = time.Now().Add(time.Duration(rand.Int64N(int64(drain))))
	}
	return in
}
