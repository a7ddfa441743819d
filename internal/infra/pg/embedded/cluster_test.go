package embedded

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// envOwner makes the test binary a process that starts the cluster in the directory it names and waits to be killed.
const envOwner = "EMBEDDED_TEST_OWNER"

func TestMain(m *testing.M) {
	if dir := os.Getenv(envOwner); dir != "" {
		own(dir)
		return
	}
	m.Run()
}

func own(dir string) {
	c, err := Start(context.Background(), quick(dir))
	if err != nil {
		fmt.Println("error", err)
		os.Exit(1)
	}
	fmt.Println("ready", c.Adopted())
	_, _ = io.Copy(io.Discard, os.Stdin) // ends when the test does
	if err := c.Stop(context.Background()); err != nil {
		fmt.Println("error", err)
		os.Exit(1)
	}
}

// owner starts such a process without waiting for what it says.
func owner(t *testing.T, dir string) (cmd *exec.Cmd, said *bufio.Reader, leash io.Closer) {
	t.Helper()
	cmd = exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), envOwner+"="+dir)
	out, err := cmd.StdoutPipe()
	must(t, err)
	in, err := cmd.StdinPipe()
	must(t, err)
	must(t, cmd.Start())
	t.Cleanup(func() { _ = in.Close() })
	return cmd, bufio.NewReader(out), in
}

func expectReady(t *testing.T, said *bufio.Reader, adopted bool) {
	t.Helper()
	line, err := said.ReadString('\n')
	if want := fmt.Sprintf("ready %v\n", adopted); line != want {
		t.Fatalf("the other process said %q (%v), want %q", line, err, want)
	}
}

func quick(dir string) Config {
	return Config{DataDir: dir, Settings: map[string]string{"fsync": "off"}}
}

// dataDir is an empty directory the database's user can reach; what still runs in it after the test is killed.
func dataDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "gatehouse-embedded-")
	must(t, err)
	must(t, os.Chmod(dir, 0o711))
	t.Cleanup(func() {
		acct, err := databaseAccount()
		must(t, err)
		left, _ := filepath.Glob(dir + "/*/postgres/cluster/data/postmaster.pid")
		for _, file := range append(left, newLayout(dir).pidFile()) {
			text, _ := os.ReadFile(file)
			if pm, ok := parsePostmaster(string(text)); ok && acct.runsPostgres(pm.pid) {
				_ = syscall.Kill(pm.pid, syscall.SIGQUIT)
				eventually(t, "the left-over PostgreSQL ends", func() bool { return !acct.runsPostgres(pm.pid) })
			}
		}
		_ = os.RemoveAll(dir)
	})
	return dir
}

func started(t *testing.T, cfg Config) *Cluster {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	c, err := Start(ctx, cfg)
	must(t, err)
	return c
}

func stopped(t *testing.T, c *Cluster) {
	t.Helper()
	must(t, c.Stop(context.Background()))
}

func query[T any](t *testing.T, url, sql string) T {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	must(t, err)
	defer conn.Close(context.Background())
	var v T
	if err := conn.QueryRow(t.Context(), sql).Scan(&v); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	return v
}

// keep writes a value that remembered finds again.
func keep(t *testing.T, url, value string) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	must(t, err)
	defer conn.Close(context.Background())
	_, err = conn.Exec(t.Context(), "CREATE TABLE kept AS SELECT '"+value+"'::text AS value")
	must(t, err)
}

func remembered(t *testing.T, url string) string {
	t.Helper()
	return query[string](t, url, "SELECT value FROM kept")
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); !ok(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("not within 20 s: %s", what)
		}
	}
}

func TestFreshStart(t *testing.T) {
	t.Parallel()
	dir := dataDir(t)
	var told strings.Builder
	c := started(t, Config{DataDir: dir, Log: &told})
	if c.Adopted() {
		t.Error("a new cluster counts as adopted")
	}
	if !strings.Contains(told.String(), dir) {
		t.Errorf("the person was told %q, want the place of the new database", told.String())
	}
	for sql, want := range map[string]string{
		"SELECT current_user": "gatehouse",
		"SELECT rolsuper::text FROM pg_roles WHERE rolname = current_user":                         "false",
		"SELECT pg_get_userbyid(datdba) FROM pg_database WHERE datname = 'gatehouse'":              "gatehouse",
		"SELECT pg_encoding_to_char(encoding) FROM pg_database WHERE datname = current_database()": "UTF8",
		"SELECT lower('ÄÉЖ')":      "äéж",
		"SHOW data_checksums":      "on",
		"SHOW fsync":               "on",
		"SHOW synchronous_commit":  "on",
		"SHOW password_encryption": "scram-sha-256",
		"SHOW listen_addresses":    "",
		"SHOW timezone":            "UTC",
	} {
		if got := query[string](t, c.URL(), sql); got != want {
			t.Errorf("%s = %q, want %q", sql, got, want)
		}
	}
	if got, want := query[string](t, c.AdminURL(), "SHOW unix_socket_directories"), `"`+dir+`/postgres/run"`; got != want {
		t.Errorf("the socket is in %s, want %s", got, want)
	}
	info, err := os.Stat(c.lay.passwords())
	must(t, err)
	if info.Mode().Perm() != 0o600 {
		t.Errorf("the passwords have mode %v", info.Mode())
	}
	pgid, err := syscall.Getpgid(c.pm.pid)
	must(t, err)
	if pgid == syscall.Getpgrp() {
		t.Error("PostgreSQL is in our process group: Ctrl-C would stop it before the server")
	}
	stopped(t, c)
	stopped(t, c)
	if c.acct.runsPostgres(c.pm.pid) {
		t.Error("PostgreSQL runs after Stop")
	}
}

func TestOnlyThePasswordOpensTheDatabase(t *testing.T) {
	t.Parallel()
	c := started(t, quick(dataDir(t)))
	defer stopped(t, c)
	for _, role := range []string{appRole, adminRole} {
		if conn, err := pgx.Connect(t.Context(), c.pm.url(role, "wrong", appDB)); err == nil {
			_ = conn.Close(t.Context())
			t.Errorf("the role %s was let in with a wrong password", role)
		}
	}
	if hba := query[string](t, c.AdminURL(), "SELECT string_agg(DISTINCT auth_method, ',') FROM pg_hba_file_rules"); hba != "scram-sha-256" {
		t.Errorf("ways to sign in: %s, want scram-sha-256 alone", hba)
	}
}

func TestStopAndStartKeepsData(t *testing.T) {
	t.Parallel()
	dir := dataDir(t)
	c := started(t, quick(dir))
	keep(t, c.URL(), "before")
	stopped(t, c)
	url := c.URL()
	c = started(t, quick(dir))
	defer stopped(t, c)
	if got := remembered(t, c.URL()); got != "before" || c.Adopted() {
		t.Errorf("after a restart: %q, adopted %v", got, c.Adopted())
	}
	if c.URL() != url {
		t.Error("the address changed with a restart")
	}
}

func TestCrashOfPostgresIsRecovered(t *testing.T) {
	t.Parallel()
	dir := dataDir(t)
	c := started(t, Config{DataDir: dir})
	keep(t, c.URL(), "committed")
	must(t, syscall.Kill(c.pm.pid, syscall.SIGKILL))
	<-c.child.done
	stopped(t, c) // nothing left to stop is no error
	c = started(t, Config{DataDir: dir})
	defer stopped(t, c)
	if got := remembered(t, c.URL()); got != "committed" {
		t.Errorf("after the crash: %q", got)
	}
}

func TestOrphanIsAdopted(t *testing.T) {
	t.Parallel()
	dir := dataDir(t)
	cmd, said, _ := owner(t, dir)
	expectReady(t, said, false)
	orphan, ok := newLayout(dir).readPostmaster()
	if !ok {
		t.Fatal("no postmaster.pid")
	}
	must(t, cmd.Process.Kill())
	_ = cmd.Wait()

	c := started(t, quick(dir))
	if !c.Adopted() || c.pm.pid != orphan.pid {
		t.Fatalf("adopted %v process %d, want process %d adopted", c.Adopted(), c.pm.pid, orphan.pid)
	}
	keep(t, c.URL(), "by the adopter")
	stopped(t, c)
	if c.acct.runsPostgres(orphan.pid) {
		t.Error("the adopted PostgreSQL was not stopped by its last user")
	}
	c = started(t, quick(dir))
	defer stopped(t, c)
	if got := remembered(t, c.URL()); got != "by the adopter" {
		t.Errorf("after adoption, stop and start: %q", got)
	}
}

// The starter leaves first: PostgreSQL stays for the one who still uses it, who then stops it.
func TestLastUserStops(t *testing.T) {
	t.Parallel()
	dir := dataDir(t)
	cmd, said, leash := owner(t, dir)
	expectReady(t, said, false)
	c := started(t, quick(dir))
	if !c.Adopted() {
		t.Fatal("the second did not adopt")
	}
	must(t, leash.Close())
	must(t, cmd.Wait())
	if got := query[int](t, c.URL(), "SELECT 1"); got != 1 {
		t.Error("the first took PostgreSQL away from the second")
	}
	stopped(t, c)
	if c.acct.runsPostgres(c.pm.pid) {
		t.Error("nobody stopped PostgreSQL")
	}
}

func TestFirstStartTogether(t *testing.T) {
	t.Parallel()
	dir := dataDir(t)
	var wg sync.WaitGroup
	all := make([]*Cluster, 4)
	errs := make([]error, len(all))
	for i := range all {
		wg.Go(func() { all[i], errs[i] = Start(t.Context(), quick(dir)) })
	}
	wg.Wait()
	starters := 0
	for i, c := range all {
		must(t, errs[i])
		if !c.Adopted() {
			starters++
		}
		query[int](t, c.URL(), "SELECT 1")
	}
	if starters != 1 {
		t.Errorf("%d started PostgreSQL, want 1", starters)
	}
	for _, c := range all {
		wg.Go(func() { stopped(t, c) })
	}
	wg.Wait()
	if all[0].acct.runsPostgres(all[0].pm.pid) {
		t.Error("PostgreSQL runs after all have stopped")
	}
}
