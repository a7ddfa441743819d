package pg_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/gatehouse-hq/gatehouse/internal/infra/pg"
	"github.com/gatehouse-hq/gatehouse/internal/infra/pg/pgtest"
)

// A column changes its type while an older program works on: each of the pool's own statements meets that once (field case
// F57), and nobody hears of it.
func TestStatementsOutsideOfTransactionsAreTriedAgain(t *testing.T) {
	t.Parallel()
	db, err := pg.Open(t.Context(), pgtest.URL(t), pg.Options{MaxConns: 1}) // one connection, which has prepared them all
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.Exec(t.Context(), `create table counts (n integer); insert into counts values (1), (2)`); err != nil {
		t.Fatal(err)
	}
	read := func() error {
		var n int64
		if err := db.QueryRow(t.Context(), `select n from counts order by n limit 1`).Scan(&n); err != nil || n != 1 {
			return errors.Join(errors.New("one row"), err)
		}
		rows, err := db.Query(t.Context(), `select n from counts order by n`)
		if err != nil {
			return errors.Join(errors.New("rows"), err)
		}
		all, err := pgx.CollectRows(rows, pgx.RowTo[int64])
		if err != nil || len(all) != 2 || all[0] != 1 || all[1] != 2 {
			return errors.Join(errors.New("rows"), err)
		}
		if tag, err := db.Exec(t.Context(), `update counts set n = n returning n`); err != nil || tag.RowsAffected() != 2 {
			return errors.Join(errors.New("statement"), err)
		}
		if err := db.QueryRow(t.Context(), `select n from counts where n > 5`).Scan(&n); !pg.NoRows(err) {
			return errors.Join(errors.New("no row"), err)
		}
		return nil
	}
	for _, change := range []string{`select`, `alter table counts alter n type bigint`, `alter table counts alter n type integer`} {
		if _, err := db.Exec(t.Context(), change); err != nil {
			t.Fatal(err)
		}
		if err := read(); err != nil {
			t.Errorf("after %q: %v", change, err)
		}
	}
	// Other errors come through, at once.
	if err := db.QueryRow(t.Context(), `select 1/0`).Scan(new(int)); pg.State(err) != "22012" {
		t.Error(err)
	}
	if _, err := db.Query(t.Context(), `select from nowhere`); pg.State(err) != "42P01" {
		t.Error(err)
	}
}

// migrateEnv names the database for a second process that migrates it, see TestMigratesForAnother.
const migrateEnv = "GATEHOUSE_TEST_MIGRATE_URL"

// slow is two steps, of which the second takes its time after the half of its work.
func slow() pg.Plan {
	return plan(`create table a ()`, `create table b (); select pg_notify('half_way', ''); select pg_sleep(600); create table c ()`)
}

// TestMigratesForAnother is no test: it is the second process of the one below.
func TestMigratesForAnother(t *testing.T) {
	if url := os.Getenv(migrateEnv); url != "" {
		t.Log(pg.Migrate(t.Context(), url, slow()))
	}
}

// Killed in the middle of a step, while another waits for its turn (field case F57): the database is as before the step,
// and whoever comes next goes on.
func TestKilledMigrationIsTakenUp(t *testing.T) {
	t.Parallel()
	url := pgtest.Empty(t)
	if err := pg.Migrate(t.Context(), url, plan(`create table a ()`)); err != nil {
		t.Fatal(err)
	}
	look, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = look.Close(context.Background()) }()

	first := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestMigratesForAnother$")
	first.Env = append(os.Environ(), migrateEnv+"="+url)
	if err := first.Start(); err != nil {
		t.Fatal(err)
	}
	await(t, look, `select exists (select from pg_stat_activity where datname = current_database() and query like '%pg_sleep(600)%' and wait_event = 'PgSleep')`)
	waits := make(chan error, 1)
	go func() { waits <- pg.Migrate(t.Context(), url, plan(`create table a ()`, `create table b ()`)) }()
	await(t, look, `select exists (select from pg_locks where locktype = 'advisory' and not granted)`)
	if err := first.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = first.Wait() // killed
	// PostgreSQL notices a client that is gone only when it next writes to it; a restart of the server would do the same.
	if _, err := look.Exec(t.Context(), `select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and wait_event = 'PgSleep'`); err != nil {
		t.Fatal(err)
	}
	if err := <-waits; err != nil {
		t.Errorf("the one that waited: %v", err)
	}
	if relations(t, url, "a", "b") != 2 || relations(t, url, "c") != 0 {
		t.Error("half of the killed step stayed, or the next one did not go on")
	}
	var version int
	if err := look.QueryRow(t.Context(), `select version from schema_stamp`).Scan(&version); err != nil || version != 2 {
		t.Errorf("version %d, %v", version, err)
	}
}

// await asks until the answer is yes.
func await(t *testing.T, conn *pgx.Conn, question string) {
	t.Helper()
	for end := time.Now().Add(time.Minute); ; {
		var yes bool
		if err := conn.QueryRow(t.Context(), question).Scan(&yes); err != nil {
			t.Fatal(err)
		}
		if yes {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("never: %s", question)
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// A step that shuts writers or readers out of a table that has grown is an outage in length of the table: the manual's page of
// upgrades promises that there is none. One that is needed is written down here and there.
func TestStepsShutNobodyOutOfGrownTables(t *testing.T) {
	t.Parallel()
	names, err := fs.Glob(pg.Migrations, "migrations/*.sql")
	if err != nil || len(names) < 6 {
		t.Fatalf("%v, %v", names, err)
	}
	conn, err := pgx.Connect(t.Context(), pgtest.Empty(t))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(context.Background()) }()
	for _, name := range names {
		sql, err := fs.ReadFile(pg.Migrations, name)
		if err != nil {
			t.Fatal(err)
		}
		var before []uint32
		if err := conn.QueryRow(t.Context(), `select coalesce(array_agg(c.oid), '{}') from pg_class c join pg_namespace n on n.oid = c.relnamespace
			where n.nspname = 'public' and c.relkind in ('r', 'p') and c.relname <> 'owners'`).Scan(&before); err != nil { // of owners there is one
			t.Fatal(err)
		}
		if _, err := conn.Exec(t.Context(), "begin;\n"+string(sql)); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		var shut []string
		if err := conn.QueryRow(t.Context(), `select coalesce(array_agg(distinct relation::regclass || ' (' || mode || ')'), '{}') from pg_locks
			where pid = pg_backend_pid() and relation = any($1) and mode in ('ShareLock', 'ShareRowExclusiveLock', 'ExclusiveLock', 'AccessExclusiveLock')`, before).Scan(&shut); err != nil {
			t.Fatal(err)
		}
		if len(shut) > 0 {
			t.Errorf("%s locks %v", name, shut)
		}
		if _, err := conn.Exec(t.Context(), "commit"); err != nil {
			t.Fatal(err)
		}
	}
}
