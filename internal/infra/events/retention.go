package events

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/gatehouse-hq/gatehouse/internal/infra/jobs"
	"github.com/gatehouse-hq/gatehouse/internal/infra/pg"
)

// Guard says which of the given events somebody still needs: a delivery of
// theirs is waiting, parked, failed or uncertain. It runs in the transaction
// that deletes the others.
type Guard func(ctx context.Context, q pg.Querier, ids []string) (needed []string, err error)

const (
	// retentionStep is the most rows one transaction deletes: small enough that
	// a relay never waits for it.
	retentionStep = 500
	// retentionRest lets others at the disk between two steps.
	retentionRest = 20 * time.Millisecond
)

// Periodics are the bus's own recurring work.
func (b *Bus) Periodics() []jobs.Periodic {
	return []jobs.Periodic{
		{Name: "events.sweep", Title: "Relay what was left", Every: time.Minute, Run: b.Sweep,
			Description: "Looks at the whole outbox for events that no wake-up announced, and relays them."},
		{Name: "events.retention", Title: "Delete old events", Every: time.Hour, Run: b.Retain,
			Description: "Deletes events whose time after fan-out has passed and that nothing still needs, in small steps."},
	}
}

// Sweep relays everything that is due, wherever it is, until nothing is left:
// the last net under wake-ups and polls.
func (b *Bus) Sweep(ctx context.Context) error {
	for {
		n, _, err := b.pass(ctx, 0)
		if err != nil {
			return fmt.Errorf("sweep events: %w", err)
		}
		if n < passSize {
			return nil
		}
	}
}

// Retain deletes events fanned out longer ago than the retention, except those
// that a guard needs. It goes by the time of fan-out: a row that committed
// late is not born old, and one that was never relayed is never deleted
// (field case F05).
func (b *Bus) Retain(ctx context.Context) error {
	now, err := pg.Now(ctx, b.cfg.DB)
	if err != nil {
		return fmt.Errorf("delete old events: %w", err)
	}
	s := retentionCursor{before: now.Add(-b.cfg.Retention), id: "00000000-0000-0000-0000-000000000000"}
	var deleted int
	for more := true; more; {
		var n int
		err := pg.InTx(ctx, b.cfg.DB, func(tx pg.Tx) (err error) {
			n, more, err = b.retainStep(ctx, tx, &s)
			return err
		})
		if err != nil {
			return fmt.Errorf("delete old events: %w", err)
		}
		deleted += n
		pause(ctx, retentionRest, nil)
	}
	jobs.Report(ctx, map[string]int{"deleted": deleted})
	return ctx.Err()
}

// retentionCursor is how far a run of Retain has come; guarded rows stay behind it.
type retentionCursor struct {
	before time.Time
	at     time.Time
	id     string
}

func (b *Bus) retainStep(ctx context.Context, tx pg.Tx, s *retentionCursor) (deleted int, more bool, err error) {
	rows, err := tx.Query(ctx, `
select id::text, fanned_out_at from public.events
where fanned_out_at < $1 and (fanned_out_at, id) > ($2, $3::uuid)
order by fanned_out_at, id limit $4`, s.before, s.at, s.id, retentionStep)
	if err != nil {
		return 0, false, err
	}
	var ids []string
	next := *s
	_, err = pgx.ForEachRow(rows, []any{&next.id, &next.at}, func() error {
		ids = append(ids, next.id)
		return nil
	})
	if err != nil || len(ids) == 0 {
		return 0, false, err
	}
	more = len(ids) == retentionStep
	for _, guard := range b.cfg.Guards {
		needed, err := guard(ctx, tx, ids)
		if err != nil {
			return 0, false, fmt.Errorf("ask what still needs events: %w", err)
		}
		ids = slices.DeleteFunc(ids, func(id string) bool { return slices.Contains(needed, id) })
	}
	tag, err := tx.Exec(ctx, `delete from public.events where id = any($1::uuid[]) and fanned_out_at < $2`, ids, s.before)
	if err != nil {
		return 0, false, err
	}
	*s = next
	return int(tag.RowsAffected()), more, nil
}
