// Package faults proves the promise against the built binary: servers are
// killed and stopped at random while work goes on, and in the end three
// ledgers must agree: what was committed, what the outbox says, and what the
// outside has.
package faults

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/gatehouse-hq/gatehouse/internal/infra/pg/pgtest"
)

const (
	setupToken = "a-token-for-tests-only"
	email      = "owner@example.com"
	password   = "correct horse battery"
)

var binary string // built once by TestMain for all tests of the package

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "gatehouse-faults")
	if err == nil {
		binary = filepath.Join(dir, "gatehouse")
		build := exec.Command("go", "build", "-o", binary, "../../cmd/server")
		build.Stderr = os.Stderr
		err = build.Run()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "build the binary:", err)
		os.Exit(1)
	}
	pgtest.Main(m)
}

// server is one process of the built binary.
type server struct {
	t    *testing.T
	url  string
	cmd  *exec.Cmd
	env  []string
	log  *lockedBuffer
	gone chan struct{}
}

type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// newServer prepares a process on a free loopback port; start runs it.
func newServer(t *testing.T, databaseURL string, extra ...string) *server {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := l.Addr().String()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	s := &server{t: t, url: "http://" + addr, log: &lockedBuffer{}}
	s.env = append([]string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir(),
		"DATABASE_URL=" + databaseURL, "GATEHOUSE_ADDR=" + addr,
		"GATEHOUSE_DATA_DIR=" + t.TempDir(), "GATEHOUSE_SETUP_TOKEN=" + setupToken,
	}, extra...)
	t.Cleanup(func() {
		s.signal(syscall.SIGKILL)
		if t.Failed() {
			t.Logf("server %s said:\n%s", addr, tail(s.log.String(), 4000))
		}
	})
	return s
}

func tail(s string, n int) string { return s[max(0, len(s)-n):] }

func (s *server) start() {
	s.t.Helper()
	s.cmd = exec.Command(binary, "serve")
	s.cmd.Env, s.cmd.Stdout, s.cmd.Stderr = s.env, s.log, s.log
	if err := s.cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	gone := make(chan struct{})
	s.gone = gone
	go func(cmd *exec.Cmd) {
		_ = cmd.Wait() // a killed process has no good exit code
		close(gone)
	}(s.cmd)
}

// ready waits until the server answers that it is.
func (s *server) ready() {
	s.t.Helper()
	s.eventually(30*time.Second, "the server is ready", func() error {
		res, err := http.Get(s.url + "/readyz")
		if err != nil {
			return err
		}
		defer res.Body.Close()
		if res.StatusCode != http.StatusOK {
			return errors.New(res.Status)
		}
		return nil
	})
}

// signal sends sig and, when it ends the process, waits for that.
func (s *server) signal(sig syscall.Signal) {
	if s.cmd == nil || s.cmd.Process == nil {
		return
	}
	_ = s.cmd.Process.Signal(sig) // it may be gone already
	if sig == syscall.SIGKILL || sig == syscall.SIGTERM {
		<-s.gone
	}
}

// eventually waits for a state, never for a time.
func (s *server) eventually(most time.Duration, what string, f func() error) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), most)
	defer cancel()
	for {
		err := f()
		if err == nil {
			return
		}
		select {
		case <-ctx.Done():
			s.t.Fatalf("not within %s: %s: %v", most, what, err)
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// owner is a signed-in script. It may call any process: sessions are rows.
type owner struct{ http *http.Client }

// signIn sets the installation up, or signs in when it is.
func signIn(t *testing.T, s *server) *owner {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	o := &owner{http: &http.Client{Jar: jar, Timeout: 20 * time.Second}}
	res, err := o.http.PostForm(s.url+"/setup", url.Values{"token": {setupToken}, "email": {email}, "password": {password}, "again": {password}})
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if _, err := io.Copy(io.Discard, res.Body); err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(res.Request.URL.Path, "/admin") {
		t.Fatalf("set-up ended at %s with %s", res.Request.URL.Path, res.Status)
	}
	// Cookies do not know ports: the session works at every process of 127.0.0.1.
	return o
}

// call runs an operation. An error of the network leaves open whether it happened.
func (o *owner) call(ctx context.Context, s *server, operation string, in, out any) error {
	body, err := json.Marshal(in)
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.url+"/api/admin/"+operation, bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	res, err := o.http.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	answer, err := io.ReadAll(res.Body)
	if err != nil {
		return err
	}
	if res.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s: %s", operation, res.Status, answer)
	}
	if out == nil {
		return nil
	}
	return json.Unmarshal(answer, out)
}
