package pg_test

import (
	"context"
	"errors"
	"testing"
	"testing/fstest"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/gatehouse-hq/gatehouse/internal/infra/pg"
	"github.com/gatehouse-hq/gatehouse/internal/infra/pg/pgtest"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

func count(t *testing.T, db *pg.DB) (n int) {
	t.Helper()
	if err := db.QueryRow(t.Context(), `select count(*) from things`).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

func things(t *testing.T) *pg.DB {
	t.Helper()
	db := pgtest.New(t)
	if _, err := db.Exec(t.Context(), `create table things (name text primary key)`); err != nil {
		t.Fatal(err)
	}
	return db
}

func add(t *testing.T, tx pg.Tx, name string) error {
	t.Helper()
	_, err := tx.Exec(t.Context(), `insert into things values ($1)`, name)
	return err
}

func TestInTxCommitsThenRunsHooks(t *testing.T) {
	t.Parallel()
	db := things(t)
	seen := -1
	err := pg.InTx(t.Context(), db, func(tx pg.Tx) error {
		tx.AfterCommit(func() { seen = count(t, db) })
		return add(t, tx, "a")
	})
	if err != nil || seen != 1 {
		t.Errorf("the hook saw %d rows, %v", seen, err)
	}
}

func TestErrorAndPanicRollBackAndRunNoHook(t *testing.T) {
	t.Parallel()
	db := things(t)
	hooked := false
	broken := errors.New("broken")
	run := func(end func() error) (panicked any, err error) {
		defer func() { panicked = recover() }()
		return nil, pg.InTx(t.Context(), db, func(tx pg.Tx) error {
			tx.AfterCommit(func() { hooked = true })
			if err := add(t, tx, "a"); err != nil {
				return err
			}
			return end()
		})
	}
	if _, err := run(func() error { return broken }); !errors.Is(err, broken) {
		t.Errorf("error %v", err)
	}
	if p, _ := run(func() error { panic("oh") }); p != "oh" {
		t.Errorf("the panic became %v", p)
	}
	if n := count(t, db); n != 0 || hooked {
		t.Errorf("%d rows, hook ran: %t", n, hooked)
	}
}

func TestEndOfTheCallersContextStillRollsBack(t *testing.T) {
	t.Parallel()
	db := things(t)
	ctx, cancel := context.WithCancel(t.Context())
	err := pg.InTx(ctx, db, func(tx pg.Tx) error {
		if err := add(t, tx, "a"); err != nil {
			return err
		}
		cancel()
		return ctx.Err()
	})
	if !errors.Is(err, context.Canceled) || count(t, db) != 0 {
		t.Errorf("%v, %d rows", err, count(t, db))
	}
}

func TestNestedUndoesItselfAlone(t *testing.T) {
	t.Parallel()
	db := things(t)
	var hooks []string
	err := pg.InTx(t.Context(), db, func(tx pg.Tx) error {
		for _, name := range []string{"good", "bad"} {
			err := pg.Nested(t.Context(), tx, func(tx pg.Tx) error {
				tx.AfterCommit(func() { hooks = append(hooks, name) })
				if err := add(t, tx, name); err != nil {
					return err
				}
				if name == "bad" {
					return add(t, tx, "good") // a duplicate
				}
				return nil
			})
			if (err != nil) != (name == "bad") || err != nil && !pg.UniqueViolation(err, "things_pkey") {
				t.Errorf("%s: %v", name, err)
			}
		}
		return nil
	})
	if err != nil || count(t, db) != 1 || len(hooks) != 1 || hooks[0] != "good" {
		t.Errorf("%v, %d rows, hooks %v", err, count(t, db), hooks)
	}
}

func TestCauseIsSetForTheTransactionOnly(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	ctx := pg.WithCause(t.Context(), pg.Cause{Request: `it's "quoted" \ here`, Actor: "owner", Job: 9007199254740993})
	var inside string
	err := pg.InTx(ctx, db, func(tx pg.Tx) error {
		return tx.QueryRow(ctx, `select current_setting('gatehouse.cause')`).Scan(&inside)
	})
	if want := pg.CauseFrom(ctx).JSON(); err != nil || inside != want {
		t.Errorf("inside %q, want %q, %v", inside, want, err)
	}
	for range 20 { // whatever connection comes
		var outside string
		if err := db.QueryRow(t.Context(), `select coalesce(current_setting('gatehouse.cause', true), '')`).Scan(&outside); err != nil || outside != "" {
			t.Fatalf("outside %q, %v", outside, err)
		}
	}
}

// A migration by a newer process changes what a prepared statement returns:
// each connection meets that once per statement (field case F57).
func TestStalePlanIsTriedAgain(t *testing.T) {
	t.Parallel()
	db := things(t)
	read := func() error {
		return pg.InTx(t.Context(), db, func(tx pg.Tx) error {
			rows, err := tx.Query(t.Context(), `select * from things`)
			if err != nil {
				return err
			}
			rows.Close()
			return rows.Err()
		})
	}
	if err := read(); err != nil {
		t.Fatal(err)
	}
	if _, err := db.Exec(t.Context(), `alter table things add column more text`); err != nil {
		t.Fatal(err)
	}
	if err := read(); err != nil {
		t.Errorf("after the migration: %v", err)
	}
}

func TestListenerHearsAndComesBack(t *testing.T) {
	t.Parallel()
	url := pgtest.URL(t)
	db, err := pg.Open(t.Context(), url, pg.Options{MaxConns: 4})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Close)
	l := pg.NewListener(url, discard())
	heard := make(chan string, 100)
	l.Subscribe("things", func(p string) { heard <- p })
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { l.Run(ctx); close(done) }()
	defer func() { stop(); <-done }()

	want := func(payload string) {
		t.Helper()
		for {
			select {
			case p := <-heard:
				if p == payload {
					return
				}
			case <-time.After(20 * time.Second):
				t.Fatalf("never heard %q", payload)
			}
		}
	}
	say := func(channel, payload string) {
		t.Helper()
		if _, err := db.Exec(t.Context(), `select pg_notify($1, $2)`, channel, payload); err != nil {
			t.Fatal(err)
		}
	}
	want("") // connected: look once
	say("things", "one")
	want("one")

	// A channel subscribed later is heard at once, not at the next check.
	later := make(chan string, 10)
	l.Subscribe("later", func(p string) { later <- p })
	<-later
	say("later", "two")
	if p := <-later; p != "two" {
		t.Errorf("heard %q", p)
	}

	// The connection is cut: it comes back and tells everybody to look (F02).
	if _, err := db.Exec(t.Context(), `select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and query like 'listen%'`); err != nil {
		t.Fatal(err)
	}
	want("")
	say("things", "three")
	want("three")
}

func plan(steps ...string) pg.Plan {
	dir := fstest.MapFS{}
	current := `create table public.schema_stamp (one boolean primary key default true check (one), version integer not null, applied_at timestamptz not null default clock_timestamp());`
	for i, s := range steps {
		if i == 0 {
			s = current + s
		}
		dir["migrations/000"+string(rune('1'+i))+"_step.sql"] = &fstest.MapFile{Data: []byte(s)}
	}
	whole := current
	for _, s := range steps {
		whole += s + ";"
	}
	return pg.Plan{Current: whole, Steps: dir}
}

func TestMigrateStepsFromWhereItIs(t *testing.T) {
	t.Parallel()
	url := pgtest.Empty(t)
	one, two := plan(`create table a ()`), plan(`create table a ()`, `create table b ()`)
	for _, p := range []pg.Plan{one, one, two, two} {
		if err := pg.Migrate(t.Context(), url, p); err != nil {
			t.Fatal(err)
		}
	}
	if got := relations(t, url, "a", "b"); got != 2 {
		t.Errorf("%d of 2 tables", got)
	}
	if err := pg.Migrate(t.Context(), url, one); !errors.Is(err, pg.ErrNewerSchema) {
		t.Errorf("an older program: %v", err)
	}
}

func TestBrokenStepLeavesTheStateBefore(t *testing.T) {
	t.Parallel()
	url := pgtest.Empty(t)
	if err := pg.Migrate(t.Context(), url, plan(`create table a ()`)); err != nil {
		t.Fatal(err)
	}
	if err := pg.Migrate(t.Context(), url, plan(`create table a ()`, `create table b (); select 1/0`)); pg.State(err) != "22012" {
		t.Errorf("error %v", err)
	}
	if got := relations(t, url, "b"); got != 0 {
		t.Error("half a step stayed")
	}
	if err := pg.Migrate(t.Context(), url, plan(`create table a ()`, `create table b ()`)); err != nil {
		t.Errorf("mended, it goes on: %v", err)
	}
}

func TestManyMigrateAtOnce(t *testing.T) {
	t.Parallel()
	url := pgtest.Empty(t)
	p := plan(`create table a ()`, `create table b ()`)
	errs := make(chan error)
	for range 5 {
		go func() { errs <- pg.Migrate(t.Context(), url, p) }()
	}
	for range 5 {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
}

func relations(t *testing.T, url string, names ...string) (n int) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(t.Context()) }()
	if err := conn.QueryRow(t.Context(), `select count(*) from unnest($1::text[]) n where to_regclass('public.' || n) is not null`, names).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

// Behind a transaction-mode pooler LISTEN has no effect: that is said once,
// and not met with silence (field case F02).
func TestADeafListenerIsTold(t *testing.T) {
	t.Parallel()
	url := pgtest.URL(t)
	db, err := pg.Open(t.Context(), url, pg.Options{MaxConns: 2})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Close)
	deaf := pg.NewListener(url, discard()) // nobody runs it: what is said is never heard
	if err := deaf.Prove(t.Context(), db, 300*time.Millisecond); !errors.Is(err, pg.ErrDeaf) {
		t.Errorf("a deaf listener: %v", err)
	}
	hearing := pg.NewListener(url, discard())
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { hearing.Run(ctx); close(done) }()
	defer func() { stop(); <-done }()
	if err := hearing.Prove(t.Context(), db, 20*time.Second); err != nil {
		t.Errorf("a hearing one: %v", err)
	}
}
