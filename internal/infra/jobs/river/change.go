package river

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/gatehouse-hq/gatehouse/internal/infra/jobs"
	"github.com/gatehouse-hq/gatehouse/internal/infra/pg"
)

// seen is what a change looks at, under the row's lock.
type seen struct {
	kind, queue, raw string
	args             json.RawMessage
	attempt          int
	meta             meta
}

// lockSeen locks the row and compares it with what the caller saw.
func lockSeen(ctx context.Context, tx pg.Tx, id jobs.ID, want jobs.Expected) (seen, error) {
	var s seen
	var metadata []byte
	err := tx.QueryRow(ctx, `select kind, queue, state::text, attempt, metadata, args from river.river_job where id = $1 for update`, id).
		Scan(&s.kind, &s.queue, &s.raw, &s.attempt, &metadata, &s.args)
	if pg.NoRows(err) {
		return s, jobs.ErrNotFound
	}
	if err != nil {
		return s, err
	}
	s.meta = readMeta(metadata)
	if stateFrom(s.raw, s.attempt) != want.State || (want.Attempt != 0 && s.attempt != want.Attempt) {
		return s, jobs.ErrConflict
	}
	return s, nil
}

// Retry starts a new cycle now: all attempts again, backoff from the start,
// age from now. A job that waits for its first attempt is only brought
// forward. A running one cannot be retried (ErrConflict), one whose kind names
// another owner neither (ErrRetriedElsewhere), nor one that an active twin
// stands for (ErrTwin).
func (rt *Runtime) Retry(ctx context.Context, id jobs.ID, want jobs.Expected) error {
	err := pg.InTx(ctx, rt.db, func(tx pg.Tx) error {
		s, err := lockSeen(ctx, tx, id, want)
		if err != nil {
			return err
		}
		if want.State == jobs.Running {
			return jobs.ErrConflict
		}
		if rt.kinds[s.kind].RetriedBy != "" {
			return jobs.ErrRetriedElsewhere
		}
		tx.AfterCommit(func() { rt.poke(s.queue) })
		if want.State == jobs.Pending {
			_, err = tx.Exec(ctx, `update river.river_job set state = 'available', scheduled_at = now() where id = $1`, id)
			return err
		}
		return newCycle(ctx, tx, id, s)
	})
	switch {
	case pg.UniqueViolation(err, "river_job_unique_idx"):
		return jobs.ErrTwin
	case pg.NoRows(err):
		return jobs.ErrNotFound
	case err != nil:
		return fmt.Errorf("retry task %d: %w", id, err)
	}
	return nil
}

// newCycle gives the row a fresh set of attempts. The library's counter starts
// again, so that an attempt above 0 always means a failure in this cycle; the
// total is kept in base.
func newCycle(ctx context.Context, tx pg.Tx, id jobs.ID, s seen) error {
	updates, err := json.Marshal(map[string]any{
		"base": s.meta.Base + s.attempt, "cycles": s.meta.Cycles + 1, "cycle_at": time.Now().UTC(), "snoozed": 0, "crashes": 0,
	})
	if err != nil {
		return err
	}
	_, err = tx.Exec(ctx, `
update river.river_job set state = 'available', attempt = 0, max_attempts = $2, finalized_at = null, scheduled_at = now(),
  metadata = (metadata - 'cancel_attempted_at' - 'uncertain') || $3
where id = $1`, id, neverEnough, updates)
	return err
}

// Cancel ends a waiting job for good and asks a running one to stop: its
// context is cancelled, and it ends cancelled unless its handler still
// returns nil.
func (rt *Runtime) Cancel(ctx context.Context, id jobs.ID, want jobs.Expected) error {
	err := pg.InTx(ctx, rt.db, func(tx pg.Tx) error {
		s, err := lockSeen(ctx, tx, id, want)
		if err != nil {
			return err
		}
		if want.State.Final() {
			return jobs.ErrConflict
		}
		if _, err := rt.speaker.JobCancelTx(ctx, tx.Tx, int64(id)); err != nil {
			return err
		}
		if tell := rt.kinds[s.kind].Cancelled; tell != nil && want.State != jobs.Running {
			return tell(ctx, tx, s.args)
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("cancel task %d: %w", id, err)
	}
	return nil
}
