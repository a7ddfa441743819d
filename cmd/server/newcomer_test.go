package main

import (
	"context"
	"crypto/rand"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgproto3"

	"github.com/gatehouse-hq/gatehouse/internal/infra/pg/pgtest"
)

// asked runs one command as a person would and returns what it says.
func asked(t *testing.T, vars map[string]string, args ...string) (code int, out, errOut string) {
	t.Helper()
	all := map[string]string{"GATEHOUSE_ADDR": "127.0.0.1:0", "GATEHOUSE_DATA_DIR": t.TempDir()}
	for name, value := range vars {
		all[name] = value
	}
	var o, e strings.Builder
	code = run(args, func(name string) string { return all[name] }, &o, &e)
	return code, o.String(), e.String()
}

// toldOnce wants a refusal in a single line that holds every part.
func toldOnce(t *testing.T, said string, parts ...string) {
	t.Helper()
	if n := strings.Count(strings.TrimSpace(said), "\n"); n > 0 {
		t.Errorf("%d lines where one would do:\n%s", n+1, said)
	}
	for _, part := range parts {
		if !strings.Contains(said, part) {
			t.Errorf("it says %q, which lacks %q", said, part)
		}
	}
}

// Whatever is wrong with the database's address, one sentence says what and
// what to do, and never the password.
func TestWrongDatabaseAddressIsOneSentence(t *testing.T) {
	t.Parallel()
	right, err := url.Parse(pgtest.URL(t))
	if err != nil {
		t.Fatal(err)
	}
	with := func(change func(u *url.URL)) string {
		u := *right
		change(&u)
		return u.String()
	}
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	closed := free.Addr().String()
	if err := free.Close(); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		url  string
		wait string // empty: as long as usual, and yet it is refused at once
		want []string
	}{
		"nobody there": {"postgres://me:plumsecret@" + closed + "/site", "0s", []string{"no PostgreSQL answers at " + closed, "DATABASE_URL"}},
		"no such host": {"postgres://me:plumsecret@no-such-host.invalid/site", "0s", []string{"no-such-host.invalid", "DATABASE_URL"}},
		"no number":    {"postgres://me:plumsecret@127.0.0.1:port/site", "", []string{"DATABASE_URL is not a PostgreSQL address"}},
		"no database":  {with(func(u *url.URL) { u.Path = "/nothing_here" }), "", []string{`no database "nothing_here"`, "createdb nothing_here"}},
		"no such user": {with(func(u *url.URL) { u.User = url.UserPassword("nobody_here", "plumsecret") }), "", []string{`"nobody_here"`, "DATABASE_URL"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, command := range []string{"serve", "migrate"} {
				code, _, said := asked(t, map[string]string{"DATABASE_URL": c.url, "GATEHOUSE_DATABASE_WAIT": c.wait}, command)
				if code != 1 || strings.Contains(said, "plumsecret") {
					t.Errorf("%s: exit code %d, %s", command, code, said)
				}
				toldOnce(t, said, c.want...)
			}
			code, out, _ := asked(t, map[string]string{"DATABASE_URL": c.url}, "doctor")
			if code != 1 || !strings.Contains(out, c.want[0]) || strings.Count(out, "PROBLEM") != 1 {
				t.Errorf("doctor: exit code %d\n%s", code, out)
			}
		})
	}
}

// A user who does not own the database is what PostgreSQL 15 and newer turn
// away, and its own words do not say what to grant.
func TestUserWithoutRightsIsToldWhatToGrant(t *testing.T) {
	t.Parallel()
	address, err := url.Parse(pgtest.Empty(t))
	if err != nil {
		t.Fatal(err)
	}
	admin, err := url.Parse(os.Getenv(pgtest.EnvAdminURL))
	if err != nil || admin.Host+admin.RawQuery == "" {
		t.Skip("a user can be made only by a superuser of the test's PostgreSQL")
	}
	guest := "guest_" + strings.ToLower(rand.Text())
	as := func(u *url.URL, user *url.Userinfo, path string) string {
		c := *u
		c.User, c.Path = user, path
		return c.String()
	}
	super, err := pgx.Connect(t.Context(), as(admin, admin.User, address.Path))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx := context.Background()
		if _, err := super.Exec(ctx, "drop owned by "+guest+"; drop role "+guest); err != nil {
			t.Error(err)
		}
		if err := super.Close(ctx); err != nil {
			t.Error(err)
		}
	})
	if _, err := super.Exec(t.Context(), "create role "+guest+" login password 'plumsecret'; revoke create on schema public from public"); err != nil {
		t.Fatal(err)
	}
	code, _, said := asked(t, map[string]string{"DATABASE_URL": as(address, url.UserPassword(guest, "plumsecret"), address.Path)}, "migrate")
	if code != 1 {
		t.Errorf("exit code %d", code)
	}
	toldOnce(t, said, "may not create tables", "OWNER TO", guest, "nothing was changed")
}

// oldServer speaks just enough of the protocol to be taken for PostgreSQL of
// the given version.
func oldServer(t *testing.T, version string) (address string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var guests sync.WaitGroup
	guests.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			guests.Go(func() { greetGuest(conn, version) })
		}
	})
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
		guests.Wait()
	})
	return "postgres://me:plumsecret@" + l.Addr().String() + "/site?sslmode=disable"
}

func greetGuest(conn net.Conn, version string) {
	defer conn.Close()
	backend := pgproto3.NewBackend(conn, conn)
	if _, err := backend.ReceiveStartupMessage(); err != nil {
		return
	}
	backend.Send(&pgproto3.AuthenticationOk{})
	backend.Send(&pgproto3.ParameterStatus{Name: "server_version", Value: version})
	backend.Send(&pgproto3.BackendKeyData{ProcessID: 1, SecretKey: []byte{0, 0, 0, 1}})
	backend.Send(&pgproto3.ReadyForQuery{TxStatus: 'I'})
	if backend.Flush() != nil {
		return
	}
	for { // until the guest has gone
		if _, err := backend.Receive(); err != nil {
			return
		}
	}
}

func TestServerTooOldIsRefusedKindly(t *testing.T) {
	t.Parallel()
	for _, version := range []string{"13.14", "9.6.24", "13beta1", "13.4 (Debian 13.4-1)"} {
		vars := map[string]string{"DATABASE_URL": oldServer(t, version)}
		for _, command := range []string{"serve", "migrate"} {
			code, _, said := asked(t, vars, command)
			if code != 1 {
				t.Errorf("%s of %s: exit code %d", command, version, code)
			}
			toldOnce(t, said, version, "14 or newer", "nothing was changed")
		}
		if code, out, _ := asked(t, vars, "doctor"); code != 1 || !strings.Contains(out, "14 or newer") {
			t.Errorf("doctor of %s: exit code %d\n%s", version, code, out)
		}
	}
}

func TestTakenPortIsOneSentence(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	code, _, said := asked(t, map[string]string{"GATEHOUSE_ADDR": l.Addr().String()}, "serve")
	if code != 1 {
		t.Errorf("exit code %d", code)
	}
	toldOnce(t, said, l.Addr().String(), "another program listens there already", "GATEHOUSE_ADDR=")
	_, _, said = asked(t, map[string]string{"GATEHOUSE_ADDR": "192.0.2.1:8080"}, "serve")
	toldOnce(t, said, "does not have that address")
}

// The directory is a file, or below one: refused even for root.
func TestUnusableDataDirectoryIsOneSentence(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	below := filepath.Join(file, "data")
	code, _, said := asked(t, map[string]string{"GATEHOUSE_DATA_DIR": below}, "serve")
	if code != 1 {
		t.Errorf("exit code %d", code)
	}
	toldOnce(t, said, below, "GATEHOUSE_DATA_DIR")
	// With a database elsewhere, the key file is what is missed.
	_, _, said = asked(t, map[string]string{"GATEHOUSE_DATA_DIR": below, "DATABASE_URL": pgtest.URL(t)}, "serve")
	toldOnce(t, said, below, "GATEHOUSE_DATA_DIR", "GATEHOUSE_SEAL_KEY")
}

// A word too many is a typing mistake, not something to pass over.
func TestWordsTooManyAreRefused(t *testing.T) {
	t.Parallel()
	for _, command := range commands() {
		words := []string{command.name, "one", "two", "three"}
		code, out, said := asked(t, nil, words...)
		if code != exitUsage || out != "" || !strings.Contains(said, "usage: gatehouse "+command.name) {
			t.Errorf("%v: exit code %d, %q, %q", words, code, out, said)
		}
	}
}

// A flag that does not exist is named.
func TestWrongFlagIsNamed(t *testing.T) {
	t.Parallel()
	for _, command := range []string{"import", "setup-link", "restore", "hold"} {
		code, out, said := asked(t, nil, command, "--plum")
		if code != exitUsage || out != "" || !strings.Contains(said, "-plum") || !strings.Contains(said, "usage: gatehouse "+command) {
			t.Errorf("%s: exit code %d, %q, %q", command, code, out, said)
		}
	}
}

// What means a database that is there makes none where there is none: the data directory is a mistake then.
func TestNoDatabaseIsMadeByMistake(t *testing.T) {
	t.Parallel()
	for _, words := range [][]string{{"backup", filepath.Join(t.TempDir(), "to")}, {"hold"}, {"setup-link", "--reset"}} {
		dir := t.TempDir()
		code, _, said := asked(t, map[string]string{"GATEHOUSE_DATA_DIR": dir}, words...)
		if code != 1 {
			t.Errorf("%v: exit code %d", words, code)
		}
		toldOnce(t, said, dir, "no Gatehouse in", "GATEHOUSE_DATA_DIR", "DATABASE_URL")
		if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
			t.Errorf("%v left %v, %v", words, left, err)
		}
	}
}

// Doctor before the first start finds nothing wrong and makes nothing.
func TestDoctorChangesNothing(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	code, out, said := asked(t, map[string]string{"GATEHOUSE_DATA_DIR": dir}, "doctor")
	if code != 0 || strings.Contains(out, "PROBLEM") || !strings.Contains(out, "the first start makes a private one") {
		t.Errorf("exit code %d\n%s%s", code, out, said)
	}
	left, err := os.ReadDir(dir)
	if err != nil || len(left) > 0 {
		t.Errorf("it left %v, %v", left, err)
	}
	empty := pgtest.Empty(t)
	code, out, said = asked(t, map[string]string{"DATABASE_URL": empty, "GATEHOUSE_DATA_DIR": dir}, "doctor")
	if !strings.Contains(out, "empty; the first start creates it") {
		t.Errorf("exit code %d\n%s%s", code, out, said)
	}
	conn, err := pgx.Connect(t.Context(), empty)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.WithoutCancel(t.Context()))
	var tables int
	if err := conn.QueryRow(t.Context(), `select count(*) from pg_tables where schemaname not in ('pg_catalog', 'information_schema')`).Scan(&tables); err != nil || tables > 0 {
		t.Errorf("it made %d tables, %v", tables, err)
	}
}

// Port 0 leaves the choice to the system, and the greeting tells what it chose;
// a search engine that is away is told at once, and the site runs all the same.
func TestGreetingTellsTheRealPortAndTheLogTheLostSearch(t *testing.T) {
	t.Parallel()
	env := map[string]string{"DATABASE_URL": pgtest.URL(t), "GATEHOUSE_DATA_DIR": t.TempDir(), "GATEHOUSE_ADDR": "127.0.0.1:0", "GATEHOUSE_MEILI_URL": "http://127.0.0.1:1"}
	cfg, err := readConfig(func(name string) string { return env[name] })
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	outRead, outWrite := io.Pipe()
	logRead, logWrite := io.Pipe()
	served := make(chan error, 1)
	go func() {
		served <- serve(ctx, &program{cfg: cfg, out: outWrite, errOut: logWrite}, nil)
		_, _ = outWrite.Close(), logWrite.Close() // they cannot fail
	}()
	logged := make(chan bool, 1)
	go func() { logged <- readUntil(logRead, "search cannot be used") }()
	greeting := make([]byte, 0, 256)
	address := regexp.MustCompile(`http://127\.0\.0\.1:([1-9]\d*)\n`)
	for !address.Match(greeting) {
		piece := make([]byte, 256)
		n, err := outRead.Read(piece)
		if greeting = append(greeting, piece[:n]...); err != nil {
			t.Fatalf("it said %q and then %v", greeting, err)
		}
	}
	go func() { _, _ = io.Copy(io.Discard, outRead) }()
	answer, err := http.Get(strings.TrimSpace(string(address.Find(greeting))) + "/healthz")
	if err != nil {
		t.Fatal(err)
	}
	_ = answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		t.Errorf("where the greeting leads: %d", answer.StatusCode)
	}
	select {
	case found := <-logged:
		if !found {
			t.Error("the lost search engine was not logged")
		}
	case <-time.After(time.Minute):
		t.Error("the lost search engine was not logged")
	}
	stop()
	if err := <-served; err != nil {
		t.Error(err)
	}
}

// readUntil reads all there is, and says whether the words were in it.
func readUntil(r io.Reader, words string) bool {
	var all []byte
	piece := make([]byte, 1024)
	for {
		n, err := r.Read(piece)
		all = append(all, piece[:n]...)
		if strings.Contains(string(all), words) {
			go func() { _, _ = io.Copy(io.Discard, r) }()
			return true
		}
		if err != nil {
			return false
		}
	}
}
