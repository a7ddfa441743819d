package events

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/gatehouse-hq/gatehouse/internal/infra/jobs"
	"github.com/gatehouse-hq/gatehouse/internal/infra/pg"
)

const (
	// poisonAt is the number of faults at which a row is set aside for a person.
	poisonAt = 5
	// strangerPause is the wait of a row that fails alone for a reason that is
	// not known to be its own: it is not held against it, and holds up no other.
	strangerPause = 30 * time.Second
	maxErrorText  = 1000
)

// faultPause is 1 s doubling: a row is poisoned 15 s after its first fault.
func faultPause(n int) time.Duration { return time.Second << min(max(n-1, 0), 10) }

// rowFault reports whether err is the row's own and counts against it.
func rowFault(err error) bool {
	return pg.RowFault(err) || errors.Is(err, jobs.ErrBadArgs) || errors.Is(err, ErrUndeclaredType)
}

// surroundings reports whether err would meet any row at this moment.
func surroundings(ctx context.Context, err error) bool {
	return ctx.Err() != nil || pg.Unavailable(err) || pg.DiskFull(err)
}

// setAside records the faults of rows, in the transaction that holds them.
func (b *Bus) setAside(ctx context.Context, tx pg.Tx, rows []claimed) error {
	if len(rows) == 0 {
		return nil
	}
	var ids, texts []string
	var attempts []int32
	var pauses []int64 // ms
	var poison []bool
	for _, c := range rows {
		n, pause := c.attempts, strangerPause
		if c.counts() {
			n++
			pause = b.cfg.FaultPause(n)
		}
		ids, texts = append(ids, c.ID), append(texts, errorText(c.fault))
		attempts, pauses, poison = append(attempts, int32(n)), append(pauses, pause.Milliseconds()), append(poison, n >= poisonAt)
	}
	_, err := tx.Exec(ctx, `
update public.events e set attempts = f.n, last_error = f.text,
  retry_at = clock_timestamp() + f.pause * interval '1 millisecond',
  poisoned_at = case when f.poison then clock_timestamp() end
from unnest($1::uuid[], $2::text[], $3::integer[], $4::bigint[], $5::boolean[]) f (id, text, n, pause, poison)
where e.id = f.id`, ids, texts, attempts, pauses, poison)
	if err != nil {
		return fmt.Errorf("set %d events aside: %w", len(rows), err)
	}
	tx.AfterCommit(func() {
		for i, c := range rows {
			if poison[i] {
				b.cfg.Log.Error("event poisoned: it is not relayed until somebody requeues it",
					"event", c.ID, "type", c.Type, "error", c.fault)
			}
		}
	})
	return nil
}

// strangeError marks a fault that is not known to be the row's own.
type strangeError struct{ error }

func (e strangeError) Unwrap() error { return e.error }

func (c claimed) counts() bool {
	var s strangeError
	return !errors.As(c.fault, &s)
}

// errorText is err as the database takes it, of bounded length.
func errorText(err error) string {
	s := strings.ToValidUTF8(strings.ReplaceAll(err.Error(), "\x00", ""), "�")
	if len(s) > maxErrorText {
		s = strings.ToValidUTF8(s[:maxErrorText], "") + "…"
	}
	return s
}
