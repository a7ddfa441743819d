package pg_test

import (
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/gatehouse-hq/gatehouse/internal/infra/pg/pgtest"
)

// Lists are read by id, newest first, and a page asks for what came after the id that it shows: ids drawn one after the
// other have to be in that order, those of one millisecond too.
func TestIdsAreInTheOrderInWhichTheyWereDrawn(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	before := time.Now()
	rows, err := db.Query(t.Context(), `select public.uuid_v7()::text from generate_series(1, 2000)`)
	if err != nil {
		t.Fatal(err)
	}
	ids, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil || len(ids) != 2000 {
		t.Fatal(len(ids), err)
	}
	for i, id := range ids {
		if id[14] != '7' || !strings.ContainsRune("89ab", rune(id[19])) {
			t.Fatalf("%s is no UUID of version 7", id)
		}
		if i > 0 && id <= ids[i-1] {
			t.Fatalf("%s was drawn after %s", id, ids[i-1])
		}
	}
	var drawn time.Time
	ms := `('x' || lpad(left(replace($1, '-', ''), 12), 16, '0'))::bit(64)::bigint`
	if err := db.QueryRow(t.Context(), `select to_timestamp(`+ms+` / 1000.0)`, ids[0]).Scan(&drawn); err != nil {
		t.Fatal(err)
	}
	if drawn.Before(before.Truncate(time.Millisecond)) || drawn.After(time.Now()) {
		t.Errorf("drawn at %s, between %s and now", drawn, before)
	}
}
