package river_test

import (
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
	check := func(name string, few int, sql string, args []any) {
		if got := pagesRead(t, db, sql, args...); got > few {
			t.Errorf("%s read %d pages over %d finished jobs, want at most %d", name, got, finished, few)
		}
	}
	sql, args := river.Counts(kinds)
	check("counts", 5000, sql, args) // three kinds are counted up to 1,001 jobs each, on no more pages than that
	for _, state := range jobs.States() {
		sql, args := river.Newest(kinds, state)
		check("the list of "+string(state), 1000, sql, args)
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
	err := pg.InTx(t.Context(), db, func(tx pg.Tx) error {
		if _, err := tx.Exec(t.Context(), river.Steer); err != nil {
			return err
		}
		return tx.QueryRow(t.Context(), "explain (analyze, buffers, format json) "+sql, args...).Scan(&plan)
	})
	if err != nil {
		t.Fatal(err)
	}
	return plan[0].Plan.Hit + plan[0].Plan.Read
}
