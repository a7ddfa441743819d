package river_test

import (
	"context"
	"testing"

	"github.com/gatehouse-hq/gatehouse/internal/infra/jobs"
	"github.com/gatehouse-hq/gatehouse/internal/infra/jobs/river"
	"github.com/gatehouse-hq/gatehouse/internal/infra/pg"
	"github.com/gatehouse-hq/gatehouse/internal/infra/pg/pgtest"
)

// Over many finished jobs of three kinds, counts and lists of kinds and states
// with few or no jobs must not read the others. Pages are counted, because
// times depend on the machine.
func TestCountsAndListsOfRareKindsReadFewPages(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	const finished = 60_000
	if _, err := db.Exec(t.Context(), `
insert into river.river_job (kind, queue, state, args, attempt, attempted_by, created_at, scheduled_at, attempted_at, finalized_at, max_attempts)
select (array['deliver', 'deliver', 'deliver', 'fanout', 'index'])[1 + n % 5], (array['webhook', 'webhook', 'webhook', 'fanout', 'index'])[1 + n % 5],
  (case n % 5000 when 17 then 'discarded' when 18 then 'cancelled' else 'completed' end)::river.river_job_state,
  jsonb_build_object('event_id', gen_random_uuid(), 'endpoint_id', gen_random_uuid()), 1, array['a-process'], t, t, t, t, 25
from generate_series(1, $1::int) n, lateral (select now() - make_interval(secs => $1 - n) t) x order by n`, finished); err != nil {
		t.Fatal(err)
	}
	if _, err := db.Exec(t.Context(), `vacuum analyze river.river_job`); err != nil {
		t.Fatal(err)
	}
	kinds := []string{"deliver", "fanout", "index", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"}
	var counts, list string
	var countArgs, listArgs []any
	err := pg.InTx(t.Context(), db, func(tx pg.Tx) (err error) {
		counts, list, countArgs, listArgs, err = river.Statements(t.Context(), tx, kinds, jobs.Filter{States: []jobs.State{jobs.Discarded, jobs.Retryable}})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	// The three kinds that exist are counted up to 1,001 completed jobs each,
	// which lie on no more pages than there are jobs.
	for _, c := range []struct {
		name, sql string
		args      []any
		few       int
	}{
		{"counts", counts, countArgs, 5000},
		{"list", list, listArgs, 1000},
	} {
		if got := pagesRead(t, db, c.sql, c.args...); got > c.few {
			t.Errorf("%s read %d pages over %d finished jobs, want at most %d", c.name, got, finished, c.few)
		}
	}
}

func pagesRead(t *testing.T, db *pg.DB, sql string, args ...any) int {
	t.Helper()
	var plan []struct {
		Plan struct {
			Hit  int `json:"Shared Hit Blocks"`
			Read int `json:"Shared Read Blocks"`
		}
	}
	if err := db.QueryRow(context.Background(), "explain (analyze, buffers, format json) "+sql, args...).Scan(&plan); err != nil {
		t.Fatal(err)
	}
	return plan[0].Plan.Hit + plan[0].Plan.Read
}
