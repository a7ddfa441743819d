package events

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/gatehouse-hq/gatehouse/internal/infra/pg"
)

// passSize is the most rows one pass claims, and the most events of one batch.
const passSize = 200

// Conditions of the outbox. waiting is the predicate of the index
// events_waiting and has to be written exactly so.
const (
	waiting = `fanned_out_at is null and poisoned_at is null`
	due     = waiting + ` and (retry_at is null or retry_at <= clock_timestamp())`
	// outdated, with $2 the own registry version: a live process knows a newer list.
	// 10 s is the age at which a heartbeat stops counting as life.
	outdated = `exists (select from public.processes p where p.registry > $2 and p.role <> 'web'
	  and p.stopped_at is null and p.beat_at > clock_timestamp() - interval '10 seconds')`
)

const (
	lookSQL = `
select pg_snapshot_xmin(pg_current_snapshot()),
  (select txid from public.events where ` + waiting + ` and txid >= $1 order by txid, seq limit 1),
  ` + outdated
	claimSQL = `
select id::text, seq, owner_id::text, type, subject, data::text, cause::text, occurred_at, attempts
from public.events where ` + due + ` and txid >= $1 and not ` + outdated + `
order by txid, seq limit $3 for no key update skip locked`
	// boundClaim makes the server end the claim of a process that was stopped in
	// mid-pass (SIGSTOP, a frozen machine): its rows would be skipped by all
	// others for as long as it sleeps.
	boundClaim = `set local idle_in_transaction_session_timeout = '15s'`
)

// look answers, without a transaction, whether there is anything to claim and
// from which transaction id on the next look has to start.
//
// The floor is exact: a row that this look does not see was written by a
// transaction not below the snapshot's xmin, and one that it sees waiting is
// not below the first such row. A read-only snapshot that somebody forgot has
// no transaction id and holds the floor back by nothing, while the entries it
// keeps alive lie below the floor and are never read again (field case F05).
func (b *Bus) look(ctx context.Context, floor uint64, version int64) (next uint64, any bool, err error) {
	var first *uint64
	var old bool
	err = b.cfg.DB.QueryRow(ctx, lookSQL, floor, version).Scan(&next, &first, &old)
	if err != nil {
		return floor, false, fmt.Errorf("look for events: %w", err)
	}
	if first != nil {
		next = min(next, *first)
	}
	return next, first != nil && !old, nil
}

// claimed is one row of the outbox, locked.
type claimed struct {
	Event
	attempts int
	fault    error // the row itself cannot be fanned out
}

// claim locks up to passSize due rows that no other relay holds. Rows that
// cannot be decoded come back with their fault set.
func (b *Bus) claim(ctx context.Context, tx pg.Tx, floor uint64, version int64) ([]claimed, error) {
	var list []claimed
	both := &pgx.Batch{}
	both.Queue(boundClaim)
	both.Queue(claimSQL, floor, version, passSize).Query(func(rows pgx.Rows) (err error) {
		list, err = pgx.CollectRows(rows, scanClaimed)
		return err
	})
	if err := tx.SendBatch(ctx, both).Close(); err != nil {
		return nil, fmt.Errorf("claim events: %w", err)
	}
	for i, c := range list {
		if _, known := b.registry.types[c.Type]; !known && c.fault == nil {
			list[i].fault = fmt.Errorf("%q: %w", c.Type, ErrUndeclaredType)
		}
	}
	return list, nil
}

func scanClaimed(row pgx.CollectableRow) (claimed, error) {
	var c claimed
	var data string
	var cause *string
	err := row.Scan(&c.ID, &c.Seq, &c.OwnerID, &c.Type, &c.Subject, &data, &cause, &c.OccurredAt, &c.attempts)
	c.fault = c.decode(data, cause)
	return c, err
}

// decode fills data and cause from their stored text.
func (e *Event) decode(data string, cause *string) error {
	e.Data = json.RawMessage(data)
	if !isObject(e.Data) {
		return errors.New("data is not a JSON object")
	}
	if cause == nil {
		return nil
	}
	if err := json.Unmarshal([]byte(*cause), &e.Cause); err != nil {
		return fmt.Errorf("cause cannot be read: %w", err)
	}
	return nil
}
