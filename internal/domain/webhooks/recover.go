package webhooks

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/gatehouse-hq/gatehouse/internal/domain"
	"github.com/gatehouse-hq/gatehouse/internal/infra/jobs"
	"github.com/gatehouse-hq/gatehouse/internal/infra/op"
	"github.com/gatehouse-hq/gatehouse/internal/infra/pg"
)

// Which events of a window are sent again.
const (
	Undelivered = "undelivered"
	All         = "all"
	onlyFailed  = "failed" // of every time: RedeliverFailed
)

// RecoverIn asks for everything an endpoint should have heard in a window of time.
type RecoverIn struct {
	EndpointID string    `json:"endpoint_id"`
	Since      time.Time `json:"since"`
	Until      time.Time `json:"until,omitzero" jsonschema:"left out: now"`
	Which      string    `json:"which,omitempty" jsonschema:"undelivered (default): what never arrived; all: also what did"`
	CountOnly  bool      `json:"count_only,omitempty" jsonschema:"count, and send nothing"`
}

// RecoverOut is what a recovery will send.
type RecoverOut struct {
	Count       Count      `json:"count"`
	OldestEvent *time.Time `json:"oldest_event,omitempty" jsonschema:"nothing older is kept"`
	RecoveryID  string     `json:"recovery_id,omitempty"`
	JobID       jobs.ID    `json:"job_id,omitempty"`
}

// RedeliverFailedIn asks for every failed delivery of an endpoint.
type RedeliverFailedIn struct {
	EndpointID string    `json:"endpoint_id"`
	Until      time.Time `json:"until,omitzero" jsonschema:"only what had failed by then; left out: now"`
	CountOnly  bool      `json:"count_only,omitempty" jsonschema:"count, and send nothing"`
}

// Recover sends again what an endpoint should have heard in a window, as one task that counts how far it has come and goes
// on there if it is interrupted.
func (d *Domain) Recover(ctx context.Context, in RecoverIn) (RecoverOut, error) {
	var out RecoverOut
	now, err := pg.Now(ctx, d.DB)
	if err != nil {
		return out, err
	}
	if in.Until.IsZero() {
		in.Until = now
	}
	if in.Which == "" {
		in.Which = Undelivered
	}
	if out.OldestEvent, err = oldestEvent(ctx, d.DB); err != nil {
		return out, err
	}
	if err := in.check(ctx, out.OldestEvent); err != nil {
		return out, err
	}
	return d.startRecovery(ctx, in, out)
}

func (in RecoverIn) check(ctx context.Context, oldest *time.Time) error {
	var errs []error
	if in.Which != Undelivered && in.Which != All {
		errs = append(errs, op.Invalidf("which", "Choose undelivered or all."))
	}
	if in.Since.IsZero() {
		errs = append(errs, op.Invalidf("since", "Say since when."))
	} else if oldest != nil && in.Since.Before(*oldest) {
		whole := oldest.Add(time.Minute - 1).Truncate(time.Minute) // a time is chosen by the minute
		errs = append(errs, op.Invalidf("since", "The oldest event that is kept is of %s. Choose that time or a later one.", domain.Moment(ctx, whole)))
	}
	if !in.Until.After(in.Since) {
		errs = append(errs, op.Invalidf("until", "The end has to come after the beginning."))
	}
	return errors.Join(errs...)
}

func oldestEvent(ctx context.Context, q pg.Querier) (*time.Time, error) {
	var at time.Time
	err := q.QueryRow(ctx, `select date_trunc('second', occurred_at) from public.events order by seq limit 1`).Scan(&at)
	if pg.NoRows(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("find the oldest event: %w", err)
	}
	return &at, nil
}

// RedeliverFailed sends every failed delivery of an endpoint again, as one task.
func (d *Domain) RedeliverFailed(ctx context.Context, in RedeliverFailedIn) (RecoverOut, error) {
	if in.Until.IsZero() {
		now, err := pg.Now(ctx, d.DB)
		if err != nil {
			return RecoverOut{}, err
		}
		in.Until = now
	}
	return d.startRecovery(ctx, RecoverIn{EndpointID: in.EndpointID, CountOnly: in.CountOnly, Which: onlyFailed, Since: time.Unix(0, 0), Until: in.Until}, RecoverOut{})
}

func (d *Domain) startRecovery(ctx context.Context, in RecoverIn, out RecoverOut) (RecoverOut, error) {
	err := pg.InTx(ctx, d.DB, func(tx pg.Tx) error {
		r, err := d.sendable(ctx, tx, in.EndpointID)
		if err != nil {
			return err
		}
		rec := Recovery{EndpointID: r.ID, Since: in.Since, Until: in.Until, Which: in.Which}
		list, err := d.owed(ctx, tx, r, rec, zeroUUID, countLimit+1)
		if err != nil {
			return err
		}
		out.Count = countOf(len(list))
		if in.CountOnly || len(list) == 0 {
			return nil
		}
		if err := unlessHeld(ctx, tx); err != nil {
			return err
		}
		err = tx.QueryRow(ctx, `
insert into public.webhook_recoveries (endpoint_id, since, until, which, actor, total) values ($1::uuid, $2, $3, $4, $5, $6) returning id::text`,
			r.ID, in.Since, in.Until, in.Which, pg.CauseFrom(ctx).Actor, out.Count.N).Scan(&out.RecoveryID)
		if err != nil {
			return fmt.Errorf("begin a recovery: %w", err)
		}
		out.JobID, err = d.jobs.With(tx).Enqueue(ctx, RecoverKind, recoverArgs{EndpointID: r.ID, RecoveryID: out.RecoveryID}, jobs.EnqueueOpts{UniqueByArgs: true})
		return err
	})
	return out, err
}

const zeroUUID = "00000000-0000-0000-0000-000000000000"

type recoverArgs struct {
	EndpointID string `json:"endpoint_id"`
	RecoveryID string `json:"recovery_id"`
}

// owed finds what a recovery has to send after a given event, oldest first. What waits or is parked is on its way already.
func (d *Domain) owed(ctx context.Context, q pg.Querier, r row, rec Recovery, after string, limit int) ([]again, error) {
	var rows pgx.Rows
	var err error
	if rec.Which == onlyFailed {
		rows, err = q.Query(ctx, `
select d.event_id::text, d.state from public.webhook_deliveries d join public.events ev on ev.id = d.event_id
where d.endpoint_id = $1::uuid and d.state = 'failed' and d.trigger <> 'test' and d.event_id > $2::uuid and d.settled_at < $3
order by d.event_id limit $4`, r.ID, after, rec.Until, limit)
	} else {
		rows, err = q.Query(ctx, `
select ev.id::text, coalesce(d.state, '') from public.events ev
left join public.webhook_deliveries d on d.endpoint_id = $1::uuid and d.event_id = ev.id
where ev.id > $2::uuid and ev.id >= $3::uuid and ev.id <= $4::uuid and ev.occurred_at >= $5 and ev.occurred_at < $6
  and ev.type = any($7) and ev.type <> 'webhook.test'
  and (ev.type <> 'corpus.note.changed' or (ev.data ->> 'genre' is distinct from 'raw' and (ev.data @> '{"published": true}' or ev.data @> '{"was_published": true}')))
  and (d.state is null or d.state in ('failed', 'dropped', 'cancelled') or ($8 = 'all' and d.state = 'delivered'))
order by ev.id limit $9`, r.ID, after, firstID(rec.Since.Add(-time.Minute)), firstID(rec.Until.Add(time.Minute)), rec.Since, rec.Until,
			d.MatchTypes(r.EventTypes), rec.Which, limit)
	}
	if err != nil {
		return nil, fmt.Errorf("find what endpoint %s is owed: %w", r.ID, err)
	}
	list, err := pgx.CollectRows(rows, pgx.RowToStructByPos[again])
	if err != nil {
		return nil, fmt.Errorf("find what endpoint %s is owed: %w", r.ID, err)
	}
	return list, nil
}

// firstID is the least id an event of that time can have: version 7 begins with milliseconds.
func firstID(at time.Time) string {
	ms := fmt.Sprintf("%012x", max(at.UnixMilli(), 0))
	return ms[:8] + "-" + ms[8:] + "-0000-0000-000000000000"
}

const (
	recoverStep = 500
	// recoverAhead is how much may wait for an endpoint before a recovery adds more.
	recoverAhead = 2000
	recoverRest  = 2 * time.Second
)

// RunRecovery works a recovery off. Each step moves the mark in the transaction that queues its deliveries, so that an
// interruption sends nothing twice and leaves nothing out.
func (d *Domain) RunRecovery(ctx context.Context, raw json.RawMessage) error {
	var a recoverArgs
	if err := json.Unmarshal(raw, &a); err != nil || !pg.ValidUUID(a.RecoveryID) {
		return jobs.Discard(errors.New("the arguments name no recovery"))
	}
	if off, err := held(ctx, d.DB); err != nil || off {
		return orPutOff(err)
	}
	for ctx.Err() == nil {
		var over, full bool
		err := pg.InTx(ctx, d.DB, func(tx pg.Tx) (err error) {
			over, full, err = d.recoveryStep(ctx, tx, a.RecoveryID)
			return err
		})
		switch {
		case err != nil || over:
			return err
		case full:
			return jobs.Snooze(recoverRest)
		}
	}
	return ctx.Err()
}

func (d *Domain) recoveryStep(ctx context.Context, tx pg.Tx, id string) (over, full bool, err error) {
	rec, reached, err := readRecovery(ctx, tx, id)
	if err != nil || rec.FinishedAt != nil {
		return true, false, err
	}
	r, err := d.sendable(ctx, tx, rec.EndpointID)
	if err != nil {
		return true, false, jobs.Discard(err)
	}
	open, err := counts(ctx, tx, []string{r.ID})
	if err != nil || open[r.ID][Waiting] > recoverAhead {
		return false, true, err
	}
	list, err := d.owed(ctx, tx, r, rec, reached, recoverStep)
	if err != nil {
		return false, false, err
	}
	if len(list) > 0 {
		reached = list[len(list)-1].Event
		if _, err := d.sendAgain(ctx, tx, r.ID, list, ByRecovery); err != nil {
			return false, false, err
		}
	}
	over = len(list) < recoverStep
	_, err = tx.Exec(ctx, `
update public.webhook_recoveries set reached = $2::uuid, done = done + $3, total = greatest(total, done + $3),
  finished_at = case when $4 then clock_timestamp() end where id = $1::uuid`, rec.ID, reached, len(list), over)
	jobs.Report(ctx, map[string]int{"queued": rec.Done + len(list), "of": rec.Total})
	return over, false, err
}

// Recovery is a recovery and how far it has come.
type Recovery struct {
	ID         string     `json:"id"`
	EndpointID string     `json:"endpoint_id"`
	Since      time.Time  `json:"since"`
	Until      time.Time  `json:"until"`
	Which      string     `json:"which"`
	State      string     `json:"state" jsonschema:"running or completed"`
	Total      int        `json:"total"`
	Done       int        `json:"done"`
	CreatedAt  time.Time  `json:"created_at"`
	FinishedAt *time.Time `json:"finished_at,omitempty"`
}

const recoveryColumns = `id::text, endpoint_id::text, since, until, which, case when finished_at is null then 'running' else 'completed' end, total, done,
  created_at, finished_at`

func readRecovery(ctx context.Context, q pg.Querier, id string) (rec Recovery, reached string, err error) {
	err = q.QueryRow(ctx, `select `+recoveryColumns+`, coalesce(reached, '`+zeroUUID+`')::text from public.webhook_recoveries where id = $1::uuid`, id).
		Scan(&rec.ID, &rec.EndpointID, &rec.Since, &rec.Until, &rec.Which, &rec.State, &rec.Total, &rec.Done, &rec.CreatedAt, &rec.FinishedAt, &reached)
	if pg.NoRows(err) {
		return rec, "", op.Errorf(op.NotFound, "There is no such recovery.")
	}
	if err != nil {
		return rec, "", fmt.Errorf("read recovery: %w", err)
	}
	return rec, reached, nil
}

// Recovery reads one recovery.
func (d *Domain) Recovery(ctx context.Context, id string) (Recovery, error) {
	if !pg.ValidUUID(id) {
		return Recovery{}, op.Errorf(op.NotFound, "There is no such recovery.")
	}
	rec, _, err := readRecovery(ctx, d.DB, id)
	return rec, err
}

// Recoveries are the last twenty of an endpoint, newest first.
func (d *Domain) Recoveries(ctx context.Context, endpointID string) ([]Recovery, error) {
	if !pg.ValidUUID(endpointID) {
		return nil, errNoEndpoint
	}
	rows, err := d.DB.Query(ctx, `select `+recoveryColumns+` from public.webhook_recoveries where endpoint_id = $1::uuid order by created_at desc limit 20`, endpointID)
	if err != nil {
		return nil, fmt.Errorf("list recoveries: %w", err)
	}
	list, err := pgx.CollectRows(rows, pgx.RowToStructByPos[Recovery])
	if err != nil {
		return nil, fmt.Errorf("list recoveries: %w", err)
	}
	return orEmpty(list), nil
}
