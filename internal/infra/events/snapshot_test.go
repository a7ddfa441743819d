package events

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/gatehouse-hq/gatehouse/internal/infra/jobs"
	"github.com/gatehouse-hq/gatehouse/internal/infra/pg/pgtest"
)

// noJobs is enough for a relay without subscriptions.
type noJobs struct{ jobs.Jobs }

// Field case F05: one forgotten snapshot keeps dead rows, and each poll reads
// more of them. Pages read are counted, because times depend on the machine.
func TestForgottenSnapshotDoesNotSlowTheClaim(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	b, err := NewBus(Config{DB: db, Bell: NewBell(), Types: []Type{{Name: "thing.made", Example: json.RawMessage(`{}`)}}})
	if err != nil {
		t.Fatal(err)
	}
	b.jobs = noJobs{}
	forgotten, err := db.BeginTx(t.Context(), pgx.TxOptions{IsoLevel: pgx.RepeatableRead})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = forgotten.Rollback(context.Background()) }()
	if _, err := forgotten.Exec(t.Context(), `select count(*) from events`); err != nil {
		t.Fatal(err)
	}

	var floor uint64
	relayed := 0
	for range 100 {
		if _, err := db.Exec(t.Context(), `insert into events (owner_id, type, subject) select uuid_v7(), 'thing.made', 's' from generate_series(1, 100)`); err != nil {
			t.Fatal(err)
		}
		var n int
		if n, floor, err = b.pass(t.Context(), floor); err != nil {
			t.Fatal(err)
		}
		relayed += n
	}
	if relayed != 10_000 {
		t.Fatalf("%d events relayed, want 10,000", relayed)
	}
	const few = 40
	// Tests in other databases of this cluster have transactions of their own,
	// which hold the floor back until they end.
	deadline := time.Now().Add(30 * time.Second)
	for pagesRead(t, db, lookSQL, floor, int64(1)) > few && time.Now().Before(deadline) {
		if _, floor, err = b.pass(t.Context(), floor); err != nil {
			t.Fatal(err)
		}
	}
	for name, sql := range map[string]string{"look": lookSQL, "claim": strings.Replace(claimSQL, "limit $3", "limit 200", 1)} {
		if pages := pagesRead(t, db, sql, floor, int64(1)); pages > few {
			t.Errorf("%s reads %d pages under an old snapshot, want at most %d", name, pages, few)
		}
		if pages := pagesRead(t, db, sql, uint64(0), int64(1)); pages < 5*few {
			t.Errorf("%s from the beginning reads %d pages only: the test has lost its point", name, pages)
		}
	}

	old, err := OldSnapshots(t.Context(), db, 0)
	if err != nil || len(old) != 1 || old[0].PID != int32(forgotten.Conn().PgConn().PID()) || old[0].State != "idle in transaction" {
		t.Errorf("old snapshots %+v, error %v; want the forgotten one by its pid", old, err)
	}
}

func pagesRead(t *testing.T, q interface {
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
}, sql string, args ...any) int {
	t.Helper()
	var plan []struct {
		Plan struct {
			Hit  int `json:"Shared Hit Blocks"`
			Read int `json:"Shared Read Blocks"`
		}
	}
	if err := q.QueryRow(t.Context(), "explain (analyze, buffers, format json) "+sql, args...).Scan(&plan); err != nil {
		t.Fatal(err)
	}
	return plan[0].Plan.Hit + plan[0].Plan.Read
}
