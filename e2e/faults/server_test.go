// Package faults proves the promise against the built binary: servers are
// killed and stopped at random while work goes on, and in the end three
// ledgers must agree: what was committed, what the outbox says, and what the
// outside has.
package faults

import (
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/gatehouse-hq/gatehouse/e2e/blackbox"
	"github.com/gatehouse-hq/gatehouse/internal/infra/pg/pgtest"
)

var built = flag.String("binary", "", "path of a built server; empty builds one")

// binary is where TestMain builds the server for all tests of the package.
func binary() string {
	if *built != "" {
		return *built
	}
	return filepath.Join(os.TempDir(), fmt.Sprintf("gatehouse-faults-%d", os.Getpid()))
}

func TestMain(m *testing.M) {
	flag.Parse()
	if *built != "" {
		pgtest.Main(m)
	}
	if err := blackbox.Build("../..", binary()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	pgtest.Main(m, func() func() error { return func() error { return os.Remove(binary()) } })
}

// start runs a server on the database until the test ends.
func start(t *testing.T, databaseURL string, extra ...string) *blackbox.Server {
	t.Helper()
	s, err := blackbox.Prepare(binary(), databaseURL, t.TempDir(), extra...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		s.Signal(syscall.SIGKILL)
		if t.Failed() {
			t.Logf("server %s said:\n%s", s.URL, s.Log(4000))
		}
	})
	again(t, s)
	if err := s.Ready(t.Context()); err != nil {
		t.Fatal(err)
	}
	return s
}

func again(t *testing.T, s *blackbox.Server) {
	t.Helper()
	if err := s.Start(); err != nil {
		t.Fatal(err)
	}
}

func readAll(t *testing.T, res *http.Response) string {
	t.Helper()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
