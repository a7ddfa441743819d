package corpus

import (
	"context"
	"fmt"
	"time"

	"github.com/gatehouse-hq/gatehouse/internal/infra/search"
)

// settling is how long a change may take into search before Verify counts it:
// its own job is on the way.
const settling = 5 * time.Minute

// Drift is how the search index differs from the notes.
type Drift struct {
	Missing   int // notes that are not in it
	Older     int // notes that are in it as they were before
	Strangers int // what is in it and no note, or of a version no note had yet
}

// Verify compares the search index with the notes and queues a rebuild if they
// differ. An index outside the database can be wiped, or restored from an
// older state, behind our back; no event tells of it (field case F30).
func (d *Domain) Verify(ctx context.Context) error {
	if err := d.engine.Prepare(ctx); err != nil {
		return fmt.Errorf("search by %s: %w", d.engine.Name(), err)
	}
	found, err := d.Drift(ctx, settling)
	if err != nil || found == (Drift{}) {
		return err
	}
	if _, err := d.StartReindex(ctx); err != nil {
		return fmt.Errorf("queue a rebuild of search: %w", err)
	}
	return nil
}

// Drift compares the index with the notes, those aside that changed within the
// given time.
func (d *Domain) Drift(ctx context.Context, within time.Duration) (Drift, error) {
	held := map[string]int64{}
	err := d.engine.Each(ctx, func(page []search.Held) error {
		for _, h := range page {
			held[h.ID] = h.Version
		}
		return nil
	})
	if err != nil {
		return Drift{}, fmt.Errorf("compare the index with the notes: %w", err)
	}
	// The notes are read after the index: what came meanwhile is young.
	rows, err := d.db.Query(ctx, `select id::text, version, deleted_at is null,
		greatest(updated_at, deleted_at) > clock_timestamp() - make_interval(secs => $1) from public.notes`, within.Seconds())
	if err != nil {
		return Drift{}, fmt.Errorf("compare the index with the notes: %w", err)
	}
	defer rows.Close()
	var found Drift
	for rows.Next() {
		var id string
		var version int64
		var live, young bool
		if err := rows.Scan(&id, &version, &live, &young); err != nil {
			return Drift{}, fmt.Errorf("compare the index with the notes: %w", err)
		}
		has, in := held[id]
		delete(held, id)
		switch {
		case young || in == live && has == version || !in && !live:
		case !live || in && has > version:
			found.Strangers++
		case !in:
			found.Missing++
		default:
			found.Older++
		}
	}
	found.Strangers += len(held)
	if err := rows.Err(); err != nil {
		return Drift{}, fmt.Errorf("compare the index with the notes: %w", err)
	}
	return found, nil
}
