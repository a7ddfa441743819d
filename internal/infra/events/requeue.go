package events

import (
	"context"
	"errors"
	"fmt"

	"github.com/gatehouse-hq/gatehouse/internal/infra/pg"
)

// ErrNotPoisoned: only a poisoned event can be requeued; nothing changed.
var ErrNotPoisoned = errors.New("the event is not set aside")

// Requeue makes a poisoned event due again, with all its tries. The last error
// stays to be read until it is fanned out.
func (b *Bus) Requeue(ctx context.Context, id string) error {
	if !pg.ValidUUID(id) {
		return ErrNotFound
	}
	return pg.InTx(ctx, b.cfg.DB, func(tx pg.Tx) error {
		n, err := b.requeue(ctx, tx, `id = $1::uuid`, id)
		if err != nil {
			return err
		}
		if n > 0 {
			return nil
		}
		var exists bool
		if err := tx.QueryRow(ctx, `select exists (select from public.events where id = $1::uuid)`, id).Scan(&exists); err != nil {
			return fmt.Errorf("requeue event: %w", err)
		}
		if !exists {
			return ErrNotFound
		}
		return ErrNotPoisoned
	})
}

// RequeueAll makes all poisoned events of a type due again, at most 1,000 in
// one call, and says how many.
func (b *Bus) RequeueAll(ctx context.Context, typ string) (n int, err error) {
	err = pg.InTx(ctx, b.cfg.DB, func(tx pg.Tx) error {
		n, err = b.requeue(ctx, tx, `id in (select id from public.events where poisoned_at is not null and type = $1 order by seq limit 1000)`, typ)
		return err
	})
	return n, err
}

// requeue gives the rows this transaction's id: relays look for due rows from
// a floor of transaction ids on, and would not see one made due by an old one.
func (b *Bus) requeue(ctx context.Context, tx pg.Tx, which string, arg any) (int, error) {
	tag, err := tx.Exec(ctx, `
update public.events set poisoned_at = null, attempts = 0, retry_at = null, txid = pg_current_xact_id()
where poisoned_at is not null and `+which, arg)
	if err != nil {
		return 0, fmt.Errorf("requeue event: %w", err)
	}
	tx.AfterCommit(b.cfg.Bell.Ring)
	return int(tag.RowsAffected()), nil
}
