package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/gatehouse-hq/gatehouse/internal/domain/corpus"
	"github.com/gatehouse-hq/gatehouse/internal/domain/webhooks"
	"github.com/gatehouse-hq/gatehouse/internal/infra/pg/pgtest"
	"github.com/gatehouse-hq/gatehouse/internal/infra/seal"
)

// site is one installation as a terminal sees it.
type site struct {
	*testing.T
	env map[string]string
}

func newSite(t *testing.T, url string) site {
	return site{t, map[string]string{"DATABASE_URL": url, "GATEHOUSE_DATA_DIR": filepath.Join(t.TempDir(), "data"), "GATEHOUSE_EGRESS_ALLOW": "127.0.0.1"}}
}

func (s site) dataDir() string { return s.env["GATEHOUSE_DATA_DIR"] }

// reachable opens the way to the data directory to the user postgres, as which the private cluster runs under root.
func (s site) reachable() {
	s.Helper()
	for _, dir := range []string{filepath.Dir(s.dataDir()), filepath.Dir(filepath.Dir(s.dataDir()))} {
		if err := os.Chmod(dir, 0o711); err != nil {
			s.Fatal(err)
		}
	}
}

// says runs a command and returns its exit code and everything it said.
func (s site) says(args ...string) (int, string) {
	s.Helper()
	var out bytes.Buffer
	code := run(args, func(name string) string { return s.env[name] }, &out, &out)
	return code, out.String()
}

func (s site) ok(args ...string) string {
	s.Helper()
	code, said := s.says(args...)
	if code != 0 {
		s.Fatalf("%v: exit code %d: %s", args, code, said)
	}
	return said
}

// refuses runs a command that has to end with an error of these words.
func (s site) refuses(words string, args ...string) {
	s.Helper()
	if code, said := s.says(args...); code != 1 || !strings.Contains(said, words) {
		s.Errorf("%v: exit code %d, want 1 and %q: %s", args, code, words, said)
	}
}

func (s site) app() *app {
	s.Helper()
	cfg, err := readConfig(func(name string) string { return s.env[name] })
	if err != nil {
		s.Fatal(err)
	}
	a, err := assemble(s.Context(), &program{cfg: cfg, out: s.Output(), errOut: s.Output()}, partsForCommands)
	if err != nil {
		s.Fatal(err)
	}
	return a
}

// inside works on the assembled program.
func (s site) inside(do func(a *app)) {
	s.Helper()
	a := s.app()
	defer func() {
		if err := a.close(); err != nil {
			s.Error(err)
		}
	}()
	do(a)
}

func count(t *testing.T, a *app, sql string) (n int64) {
	t.Helper()
	if err := a.pool.QueryRow(t.Context(), sql).Scan(&n); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	return n
}

// fill brings notes below one another, an endpoint with a sealed secret, a sign-in, a token, and a delivery that waits.
func (s site) fill() {
	s.Helper()
	s.inside(func(a *app) {
		if err := a.recognise(s.Context(), ""); err != nil {
			s.Fatal(err)
		}
		parent, err := a.corpus.Create(s.Context(), corpus.NewNote{Genre: corpus.Wiki, Title: "Above", Body: "Wörter"})
		if err != nil {
			s.Fatal(err)
		}
		if _, err := a.corpus.Create(s.Context(), corpus.NewNote{Genre: corpus.Wiki, Title: "Below", Body: "[[Above]]", ParentID: parent.NoteID, Published: true}); err != nil {
			s.Fatal(err)
		}
		e, err := a.webhooks.Create(s.Context(), webhooks.CreateIn{URL: "http://127.0.0.1:9999/hook", EventTypes: []string{"corpus.**"}})
		if err != nil {
			s.Fatal(err)
		}
		for _, sql := range []string{
			`insert into sessions (token_hash, owner_id, expires_at) select '\x01', id, clock_timestamp() + interval '1 day' from owners`,
			`insert into setup_tokens (token_hash, reset, expires_at) values ('\x02', true, clock_timestamp() + interval '1 day')`,
			`insert into webhook_deliveries (endpoint_id, event_id, state) select '` + e.Endpoint.ID + `', id, 'waiting' from events limit 1`,
		} {
			if _, err := a.pool.Exec(s.Context(), sql); err != nil {
				s.Fatalf("%s: %v", sql, err)
			}
		}
	})
}

// grow makes the content large enough to be met in the middle of it.
func (s site) grow() {
	s.Helper()
	s.inside(func(a *app) {
		if _, err := a.pool.Exec(s.Context(), `insert into events (owner_id, type, subject, data) select id, 'owner.login', 'x', jsonb_build_object('n', repeat(md5(n::text), 30)) from owners, generate_series(1, 20000) n`); err != nil {
			s.Fatal(err)
		}
	})
}

// ledger is what has to be the same after a restore.
func ledger(t *testing.T, a *app) string {
	t.Helper()
	var text string
	err := a.pool.QueryRow(t.Context(), `
select jsonb_build_object(
  'notes', (select jsonb_agg(to_jsonb(n) order by n.id) from notes n),
  'events', (select jsonb_agg(to_jsonb(e) - 'xid' order by e.id) from events e),
  'endpoints', (select jsonb_agg(to_jsonb(w) order by w.id) from webhook_endpoints w),
  'deliveries', (select jsonb_agg(to_jsonb(d)) from webhook_deliveries d),
  'owners', (select jsonb_agg(to_jsonb(o)) from owners o))::text`).Scan(&text)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func TestBackupAndRestore(t *testing.T) {
	t.Parallel()
	from := newSite(t, pgtest.URL(t))
	from.fill()
	dir := filepath.Join(t.TempDir(), "deep", "backup")
	from.ok("backup", dir)
	for _, name := range []string{manifestFile, dumpFile, seal.KeyFile} {
		info, err := os.Stat(filepath.Join(dir, name))
		if err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, %v", name, info, err)
		}
	}
	left, err := os.ReadDir(filepath.Dir(dir))
	if err != nil || len(left) != 1 {
		t.Errorf("beside the backup lies %v, %v", left, err)
	}
	from.refuses("overwrites nothing", "backup", dir)
	var before string
	from.inside(func(a *app) {
		before = ledger(t, a)
		if b, err := a.instance.Backups(t.Context()); err != nil || b.Last == nil {
			t.Errorf("the panel does not know of the backup: %+v, %v", b, err)
		}
	})

	to := newSite(t, pgtest.Empty(t))
	said := to.ok("restore", dir)
	if !strings.Contains(said, "Sends are on hold") {
		t.Error(said)
	}
	to.inside(func(a *app) {
		if after := ledger(t, a); after != before {
			t.Errorf("the content differs:\n%s\n%s", before, after)
		}
		for sql, want := range map[string]int64{
			`select count(*) from sessions`:     0,
			`select count(*) from setup_tokens`: 0,
			`select count(*) from holds where released_at is null and reason like '%from the backup of%'`: 1,
			`select until_seq - (select max(seq) from events) from holds`:                                 0,
			`select count(*) from river.river_job where kind = 'corpus.reindex' and state = 'available'`:  1,
		} {
			if got := count(t, a, sql); got != want {
				t.Errorf("%s: %d, want %d", sql, got, want)
			}
		}
		h, err := a.instance.Current(t.Context())
		if err != nil || h == nil || h.Waiting.Brought != 1 || h.Sessions != 1 {
			t.Errorf("%+v, %v", h, err)
		}
		alerts, err := a.webhooks.Alerts(t.Context())
		if err != nil || len(alerts) != 0 {
			t.Errorf("the secrets cannot be opened: %+v, %v", alerts, err)
		}
		// The next start finds the database it knows, and the same hold, which it says again.
		var said words
		a.log = slog.New(slog.NewTextHandler(&said, nil))
		if err := a.recognise(t.Context(), ""); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(said.String(), "sends are still on hold") {
			t.Errorf("the next start says %q", said.String())
		}
		if n := count(t, a, `select count(*) from holds where reason like '%from the backup of%'`); n != 1 {
			t.Errorf("%d holds", n)
		}
	})
	code, said := to.says("doctor")
	if code == 0 || !strings.Contains(said, "nothing is sent") {
		t.Errorf("doctor: %d %s", code, said)
	}
	to.refuses("holds a Gatehouse already", "restore", dir)
}

func TestRestoreInPlace(t *testing.T) {
	t.Parallel()
	s := newSite(t, pgtest.URL(t))
	s.fill()
	dir := filepath.Join(t.TempDir(), "backup")
	s.ok("backup", dir)
	var before string
	s.inside(func(a *app) {
		before = ledger(t, a)
		if _, err := a.corpus.Create(t.Context(), corpus.NewNote{Genre: corpus.Wiki, Title: "Later"}); err != nil {
			t.Fatal(err)
		}
		// A server that runs: it is refused, whatever is asked.
		conn, err := pgx.Connect(t.Context(), s.env["DATABASE_URL"])
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = conn.Close(context.Background()) }()
		if _, err := conn.Exec(t.Context(), `set application_name = 'gatehouse worker'`); err != nil {
			t.Fatal(err)
		}
		s.refuses("stop it first", "restore", "--replace", dir)
	})
	// What fails half-way leaves what was there.
	damaged := filepath.Join(t.TempDir(), "damaged")
	copyBackup(t, dir, damaged, func(m *manifest, dump []byte) []byte {
		dump = dump[:len(dump)*3/4]
		m.Bytes = int64(len(dump))
		return dump
	})
	s.refuses("nothing was changed", "restore", "--replace", damaged)
	s.inside(func(a *app) {
		if n := count(t, a, `select count(*) from notes where title = 'Later'`); n != 1 {
			t.Error("a restore that failed changed the database")
		}
	})
	s.ok("restore", "--replace", dir)
	s.inside(func(a *app) {
		if after := ledger(t, a); after != before {
			t.Errorf("the content differs:\n%s\n%s", before, after)
		}
	})
}

// copyBackup copies a backup with a changed dump whose checksum is right again.
func copyBackup(t *testing.T, from, to string, change func(m *manifest, dump []byte) []byte) {
	t.Helper()
	if err := os.CopyFS(to, os.DirFS(from)); err != nil {
		t.Fatal(err)
	}
	raw, err := os.ReadFile(filepath.Join(from, manifestFile))
	if err != nil {
		t.Fatal(err)
	}
	var m manifest
	if err := json.Unmarshal(raw, &m); err != nil {
		t.Fatal(err)
	}
	dump, err := os.ReadFile(filepath.Join(from, dumpFile))
	if err != nil {
		t.Fatal(err)
	}
	dump = change(&m, dump)
	if err := os.WriteFile(filepath.Join(to, dumpFile), dump, 0o600); err != nil {
		t.Fatal(err)
	}
	if m.SHA256, _, err = digest(t.Context(), filepath.Join(to, dumpFile)); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(to, manifestFile)); err != nil {
		t.Fatal(err)
	}
	if err := m.write(to); err != nil {
		t.Fatal(err)
	}
}

func TestRestoreRefusesBeforeItTouchesAnything(t *testing.T) {
	t.Parallel()
	from := newSite(t, pgtest.URL(t))
	from.fill()
	dir := filepath.Join(t.TempDir(), "backup")
	from.ok("backup", dir)
	url := pgtest.Empty(t)
	empty := func() site { s := newSite(t, pgtest.Empty(t)); s.env["DATABASE_URL"] = url; return s }
	same := func(_ *manifest, dump []byte) []byte { return dump }
	made := func(name string, change func(m *manifest, dump []byte) []byte) string {
		to := filepath.Join(t.TempDir(), name)
		copyBackup(t, dir, to, change)
		return to
	}

	empty().refuses("not a finished backup", "restore", t.TempDir())
	cut := made("cut", same)
	if err := os.Truncate(filepath.Join(cut, dumpFile), 1000); err != nil {
		t.Fatal(err)
	}
	empty().refuses("is damaged", "restore", cut)
	empty().refuses("or newer", "restore", made("later schema", func(m *manifest, d []byte) []byte { m.Schema = 999; return d }))
	empty().refuses("restore into PostgreSQL 99", "restore", made("later server", func(m *manifest, d []byte) []byte { m.PostgreSQL = 99; return d }))
	empty().refuses("98 or newer is needed", "restore", made("later program", func(m *manifest, d []byte) []byte { m.PgDump = 98; return d }))
	empty().refuses("a newer Gatehouse", "restore", made("later format", func(m *manifest, d []byte) []byte { m.Format = 99; return d }))

	other := empty()
	if _, err := seal.Load("", other.dataDir()); err != nil { // makes a key
		t.Fatal(err)
	}
	other.refuses("sealed under key", "restore", dir)
	given := empty()
	given.env["GATEHOUSE_SEAL_KEY"] = strings.Repeat("ab", seal.KeyBytes)
	given.refuses("GATEHOUSE_SEAL_KEY is key", "restore", dir)
	keyless := made("keyless", func(m *manifest, d []byte) []byte { m.SealKeyHere = false; return d })
	empty().refuses("a key that is not in it", "restore", keyless)

	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(context.Background()) }()
	var tables int
	if err := conn.QueryRow(t.Context(), `select count(*) from pg_class where relnamespace = 'public'::regnamespace`).Scan(&tables); err != nil || tables != 0 {
		t.Errorf("%d tables, %v", tables, err)
	}
	if _, err := conn.Exec(t.Context(), `create table theirs ()`); err != nil {
		t.Fatal(err)
	}
	empty().refuses("not Gatehouse's", "restore", "--replace", dir)
}

func TestNothingToBackUp(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "backup")
	newSite(t, pgtest.Empty(t)).refuses("nothing to back up", "backup", dir)
	if left, err := os.ReadDir(filepath.Dir(dir)); err != nil || len(left) != 0 {
		t.Errorf("%v, %v", left, err)
	}
}

// The private cluster: backed up while another process serves it, restored into a new data directory.
func TestBackupOfThePrivateCluster(t *testing.T) {
	t.Parallel()
	s := newSite(t, "")
	s.reachable()
	s.fill()
	dir := filepath.Join(t.TempDir(), "backup")
	var before string
	s.inside(func(a *app) {
		before = ledger(t, a)
		s.ok("backup", dir)
		s.refuses("stop it first", "restore", "--replace", dir)
	})
	to := newSite(t, "")
	to.reachable()
	to.ok("restore", dir)
	to.inside(func(a *app) {
		if after := ledger(t, a); after != before {
			t.Errorf("the content differs:\n%s\n%s", before, after)
		}
	})
}

// Killed at any time, a backup is whole or is none (the built program, killed by the system).
func TestAKilledBackupIsNone(t *testing.T) {
	t.Parallel()
	s := newSite(t, pgtest.URL(t))
	s.fill()
	s.grow()
	shelf := t.TempDir()
	for round := range 6 {
		dir := filepath.Join(shelf, "backup"+strconv.Itoa(round))
		cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestBackupForAnother$")
		cmd.Env = append(os.Environ(), backupEnv+"="+dir, "DATABASE_URL="+s.env["DATABASE_URL"], "GATEHOUSE_DATA_DIR="+s.dataDir())
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		// As soon as it has begun to write, or a little later: what matters is that it may be anywhere.
		for begun := false; !begun; {
			found, err := filepath.Glob(filepath.Join(shelf, ".backup"+strconv.Itoa(round)+".unfinished-*", "*"))
			if err != nil {
				t.Fatal(err)
			}
			_, done := os.Stat(dir)
			begun = len(found) > round%3 || done == nil
		}
		if err := cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
			t.Fatal(err)
		}
		_ = cmd.Wait()
		if _, err := os.Stat(dir); err == nil {
			if _, err := readManifest(t.Context(), dir); err != nil {
				t.Errorf("round %d: it looks like a backup and is none: %v", round, err)
			}
			continue
		}
		left, err := filepath.Glob(filepath.Join(shelf, ".backup"+strconv.Itoa(round)+".unfinished-*"))
		if err != nil {
			t.Fatal(err)
		}
		for _, unfinished := range left {
			if _, err := os.Stat(filepath.Join(unfinished, manifestFile)); err != nil {
				newSite(t, pgtest.Empty(t)).refuses("not a finished backup", "restore", unfinished)
			}
		}
	}
}

const backupEnv = "GATEHOUSE_TEST_BACKUP_DIR"

// TestBackupForAnother is no test: it is the process that the one above kills.
func TestBackupForAnother(t *testing.T) {
	if dir := os.Getenv(backupEnv); dir != "" {
		t.Log(run([]string{"backup", dir}, os.Getenv, io.Discard, io.Discard))
	}
}

// A restore that is killed in the middle has changed nothing, and may be said again.
func TestAStoppedRestoreHasChangedNothing(t *testing.T) {
	t.Parallel()
	from := newSite(t, pgtest.URL(t))
	from.fill()
	from.grow()
	dir := filepath.Join(t.TempDir(), "backup")
	from.ok("backup", dir)
	to := newSite(t, pgtest.Empty(t))
	// Somebody holds what the restore needs half-way, until it is killed: the name of one of its tables.
	conn, err := pgx.Connect(t.Context(), to.env["DATABASE_URL"])
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(context.Background()) }()
	if _, err := conn.Exec(t.Context(), `begin; create table public.webhook_recoveries ()`); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestRestoreForAnother$")
	cmd.Env = append(os.Environ(), restoreEnv+"="+dir, "DATABASE_URL="+to.env["DATABASE_URL"], "GATEHOUSE_DATA_DIR="+to.dataDir())
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for waiting := false; !waiting; {
		if err := conn.QueryRow(t.Context(), `select exists (select from pg_locks l join pg_stat_activity a using (pid) where a.datname = current_database() and not l.granted and a.application_name = 'psql')`).Scan(&waiting); err != nil {
			t.Fatal(err)
		}
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	if _, err := conn.Exec(t.Context(), `rollback`); err != nil {
		t.Fatal(err)
	}
	for gone := false; !gone; {
		if err := conn.QueryRow(t.Context(), `select not exists (select from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid() and application_name <> '')`).Scan(&gone); err != nil {
			t.Fatal(err)
		}
	}
	var tables int
	if err := conn.QueryRow(t.Context(), `select count(*) from pg_class where relnamespace = 'public'::regnamespace`).Scan(&tables); err != nil || tables != 0 {
		t.Errorf("%d tables are left, %v", tables, err)
	}
	to.ok("restore", dir)
}

const restoreEnv = "GATEHOUSE_TEST_RESTORE_DIR"

// TestRestoreForAnother is no test: it is the process that the one above kills.
func TestRestoreForAnother(t *testing.T) {
	if dir := os.Getenv(restoreEnv); dir != "" {
		t.Log(run([]string{"restore", dir}, os.Getenv, io.Discard, io.Discard))
	}
}
