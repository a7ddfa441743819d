package river_test

import (
	"context"
	"testing"
	"time"

	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivermigrate"

	"github.com/gatehouse-hq/gatehouse/internal/infra/pg"
	"github.com/gatehouse-hq/gatehouse/internal/infra/pg/pgtest"
)

// The library's tables are one version behind (field case F57): the next start brings them up to date, once.
func TestTablesOneVersionBehindAreMigrated(t *testing.T) {
	t.Parallel()
	url := pgtest.URL(t)
	db, err := pg.Open(t.Context(), url, pg.Options{MaxConns: 2})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	m, err := rivermigrate.New(riverpgxv5.New(db.Pool), &rivermigrate.Config{Schema: "river"})
	if err != nil {
		t.Fatal(err)
	}
	versions := func() int {
		t.Helper()
		have, err := m.ExistingVersions(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return len(have)
	}
	newest := versions()
	if _, err := m.Migrate(t.Context(), rivermigrate.DirectionDown, &rivermigrate.MigrateOpts{MaxSteps: 1}); err != nil {
		t.Fatal(err)
	}
	if got := versions(); got != newest-1 {
		t.Fatalf("%d versions, want %d", got, newest-1)
	}
	for range 2 {
		if err := pg.Migrate(t.Context(), url, pgtest.Plan()); err != nil {
			t.Fatal(err)
		}
		if got := versions(); got != newest {
			t.Errorf("%d versions, want %d", got, newest)
		}
	}
}

// A start beside others that work finds nothing to do, and waits for no lock on the table of jobs: whoever waits for one
// there makes every writer behind it wait too.
func TestAStartWithNothingToDoWaitsForNoWriter(t *testing.T) {
	t.Parallel()
	url := pgtest.URL(t)
	db, err := pg.Open(t.Context(), url, pg.Options{MaxConns: 2})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	writer, err := db.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = writer.Rollback(context.Background()) }()
	// What a write holds, and what a vacuum does.
	if _, err := writer.Exec(t.Context(), `lock table river.river_job in row exclusive mode; lock table river.river_job in share update exclusive mode`); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := pg.Migrate(ctx, url, pgtest.Plan()); err != nil {
		t.Errorf("beside a writer: %v", err)
	}
}
