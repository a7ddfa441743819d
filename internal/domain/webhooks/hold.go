package webhooks

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/gatehouse-hq/gatehouse/internal/infra/jobs"
	"github.com/gatehouse-hq/gatehouse/internal/infra/op"
	"github.com/gatehouse-hq/gatehouse/internal/infra/pg"
)

// While sends are held (see domain/instance) deliveries are created and wait; what would send puts itself off.

// heldFor is how long at least a task puts itself off. It is long because releasing the hold wakes what waits, and what
// sleeps costs nothing.
const heldFor = time.Hour

// PutOff is what a task that would send answers while sends are held: later, at a time of its own, and at no cost of an
// attempt.
func PutOff() error { return jobs.Snooze(heldFor + time.Duration(rand.Int64N(int64(heldFor)))) }

func orPutOff(err error) error {
	if err != nil {
		return err
	}
	return PutOff()
}

// errHeld refuses what the owner asks to be sent.
var errHeld = op.Errorf(op.Conflict, "Sends are on hold, so this would wait unseen. Release the hold first: Settings, This installation.")

func held(ctx context.Context, q pg.Querier) (yes bool, err error) {
	if err = q.QueryRow(ctx, `select exists (select from public.holds where released_at is null)`).Scan(&yes); err != nil {
		err = fmt.Errorf("ask whether sends are held: %w", err)
	}
	return yes, err
}

// unlessHeld is errHeld while sends are held.
func unlessHeld(ctx context.Context, q pg.Querier) error {
	yes, err := held(ctx, q)
	if err == nil && yes {
		err = errHeld
	}
	return err
}

// HeldBack counts the deliveries that a hold keeps back. Tests are left out: they are never sent later.
type HeldBack struct {
	Brought, Since, Unmatched int
	Oldest                    *time.Time
}

// CountHeld counts what waits: of events up to the given number, and of later ones.
func (d *Domain) CountHeld(ctx context.Context, q pg.Querier, until int64) (HeldBack, error) {
	var h HeldBack
	err := q.QueryRow(ctx, `
select count(*) filter (where coalesce(ev.seq, 0) <= $1), count(*) filter (where ev.seq > $1), min(d.created_at),
  (select count(*) from public.events e where e.fanned_out_at is null and e.seq <= $1 and e.type = any($2))
from public.webhook_deliveries d left join public.events ev on ev.id = d.event_id
where d.state = 'waiting' and d.trigger <> 'test'`, until, d.exposed()).Scan(&h.Brought, &h.Since, &h.Oldest, &h.Unmatched)
	if err != nil {
		return h, fmt.Errorf("count held deliveries: %w", err)
	}
	return h, nil
}

func (d *Domain) exposed() []string {
	names := make([]string, len(d.types))
	for i, t := range d.types {
		names[i] = t.Name
	}
	return names
}

// SendHeld wakes what a hold kept back: each endpoint is caught up with, one delivery first, then twice as many each second.
// At one that failed last only the oldest delivery is woken: its success wakes the others, as after any failure.
func (d *Domain) SendHeld(ctx context.Context, tx pg.Tx) error {
	list, err := waitingEndpoints(ctx, tx)
	if err != nil {
		return err
	}
	// A task that looked at the hold just before it ended is asleep by then.
	soon := time.Now().Add(catchUpEvery)
	for _, e := range list {
		if e.Failing {
			_, err = d.jobs.With(tx).RescheduleMatching(ctx, jobs.Match{Kind: DeliverKind, Args: map[string]any{"endpoint_id": e.ID, "event_id": e.Oldest}}, soon)
		} else {
			_, err = d.jobs.With(tx).Enqueue(ctx, CatchUpKind, CatchUpArgs{EndpointID: e.ID}, jobs.EnqueueOpts{UniqueByArgs: true, RunAt: soon})
		}
		if err != nil {
			return fmt.Errorf("wake what waits for endpoint %s: %w", e.ID, err)
		}
	}
	// Repetitions have a schedule of their own, which catching up leaves alone.
	for _, m := range []jobs.Match{
		{Kind: DeliverKind, Args: map[string]any{"trigger": Manual}},
		{Kind: DeliverKind, Args: map[string]any{"trigger": ByRecovery}},
		{Kind: RecoverKind}, {Kind: CatchUpKind},
	} {
		if _, err := d.jobs.With(tx).RescheduleMatching(ctx, m, soon); err != nil {
			return fmt.Errorf("wake held tasks: %w", err)
		}
	}
	return nil
}

// awaited is an endpoint that something waits for, and the oldest event that does.
type awaited struct {
	ID      string
	Failing bool
	Oldest  string
}

func waitingEndpoints(ctx context.Context, tx pg.Tx) ([]awaited, error) {
	rows, err := tx.Query(ctx, `
select e.id::text, s.failing_since is not null, d.event_id::text
from public.webhook_endpoints e join public.webhook_endpoint_state s on s.endpoint_id = e.id
cross join lateral (
  select event_id from public.webhook_deliveries where endpoint_id = e.id and state = 'waiting' and trigger <> 'test' order by event_id limit 1) d
where e.enabled and e.deleted_at is null order by e.id`)
	if err != nil {
		return nil, fmt.Errorf("find endpoints that something waits for: %w", err)
	}
	return pgx.CollectRows(rows, pgx.RowToStructByPos[awaited])
}

// DropHeld gives up the deliveries of events up to the given number and every task that would send or repeat anything of
// before; deliveries of later events get a task anew. Events that are matched to endpoints only from now on are dropped by
// the fan-out, which reads the same number.
func (d *Domain) DropHeld(ctx context.Context, tx pg.Tx, until int64) (int, error) {
	// Against a fan-out that is under way: it shares these rows.
	if _, err := tx.Exec(ctx, `select from public.webhook_endpoints where deleted_at is null order by id for update`); err != nil {
		return 0, fmt.Errorf("lock endpoints: %w", err)
	}
	if _, err := tx.Exec(ctx, `select from public.webhook_endpoint_state order by endpoint_id for no key update`); err != nil {
		return 0, fmt.Errorf("lock the state of endpoints: %w", err)
	}
	tag, err := tx.Exec(ctx, `
update public.webhook_deliveries d set state = 'dropped', settled_at = clock_timestamp()
where d.state = 'waiting' and not exists (select from public.events ev where ev.id = d.event_id and ev.seq > $1)`, until)
	if err != nil {
		return 0, fmt.Errorf("drop held deliveries: %w", err)
	}
	for _, kind := range []string{DeliverKind, TestKind, CatchUpKind, RecoverKind} {
		if _, err := d.jobs.With(tx).CancelMatching(ctx, jobs.Match{Kind: kind}); err != nil {
			return 0, fmt.Errorf("cancel held tasks: %w", err)
		}
	}
	if _, err := tx.Exec(ctx, `update public.webhook_recoveries set finished_at = clock_timestamp() where finished_at is null`); err != nil {
		return 0, fmt.Errorf("end held recoveries: %w", err)
	}
	return int(tag.RowsAffected()), d.sendSince(ctx, tx)
}

// sendSince gives what still waits a task.
func (d *Domain) sendSince(ctx context.Context, tx pg.Tx) error {
	rows, err := tx.Query(ctx, `select endpoint_id::text, event_id::text from public.webhook_deliveries where state = 'waiting' and trigger <> 'test' order by event_id`)
	if err != nil {
		return fmt.Errorf("read what happened since: %w", err)
	}
	inserts, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (jobs.Insert, error) {
		var a DeliverArgs
		err := row.Scan(&a.EndpointID, &a.EventID)
		return jobs.Insert{Kind: DeliverKind, Args: a, Cause: pg.Cause{Event: a.EventID}}, err
	})
	if err != nil || len(inserts) == 0 {
		return err
	}
	if _, err := d.jobs.With(tx).EnqueueMany(ctx, inserts); err != nil {
		return fmt.Errorf("enqueue what happened since: %w", err)
	}
	return nil
}

// GivenUp is the number up to which events were given up when a hold ended. It is asked in a statement of its own, to see
// what was decided while locks were waited for.
func GivenUp(ctx context.Context, q pg.Querier) (until int64, err error) {
	if err = q.QueryRow(ctx, `select coalesce(max(until_seq), 0) from public.holds where choice = 'drop'`).Scan(&until); err != nil {
		err = fmt.Errorf("ask what was given up: %w", err)
	}
	return until, err
}
