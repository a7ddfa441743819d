// Package blackbox runs the built binary as a process and talks to it as a
// script of the owner does. Fault tests and benchmarks share it.
package blackbox

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"
)

// SetupToken opens the set-up page of every server started here.
const SetupToken = "a-token-for-tests-only"

// Build compiles the server to path; dir is the root of the checkout.
func Build(dir, path string) error {
	build := exec.Command("go", "build", "-trimpath", "-o", path, "./cmd/server")
	build.Dir, build.Stderr = dir, os.Stderr
	if err := build.Run(); err != nil {
		return fmt.Errorf("build the server: %w", err)
	}
	return nil
}

// Server is one process of the built binary on a free port of 127.0.0.1.
type Server struct {
	URL    string
	binary string
	env    []string
	log    lockedBuffer

	wrap []string // command before the binary's own
	cmd  *exec.Cmd
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

// Prepare chooses a port and the environment; dataDir is the process's own.
func Prepare(binary, databaseURL, dataDir string, extra ...string) (*Server, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("find a free port: %w", err)
	}
	addr := l.Addr().String()
	if err := l.Close(); err != nil {
		return nil, err
	}
	return &Server{URL: "http://" + addr, binary: binary, env: append([]string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + dataDir, "DATABASE_URL=" + databaseURL, "GATEHOUSE_ADDR=" + addr,
		"GATEHOUSE_DATA_DIR=" + dataDir, "GATEHOUSE_SETUP_TOKEN=" + SetupToken,
	}, extra...)}, nil
}

// Wrap makes Start run the binary by another command, such as unshare.
func (s *Server) Wrap(command ...string) { s.wrap = command }

// Start runs the process; it does not wait until it is ready.
func (s *Server) Start() error {
	args := append(append([]string{}, s.wrap...), s.binary, "serve")
	s.cmd = exec.Command(args[0], args[1:]...)
	s.cmd.Env = s.env
	s.cmd.Stdout, s.cmd.Stderr = &s.log, &s.log
	if err := s.cmd.Start(); err != nil {
		return fmt.Errorf("start the server: %w", err)
	}
	gone := make(chan struct{})
	s.gone = gone
	go func(cmd *exec.Cmd) {
		_ = cmd.Wait() // a killed process has no good exit code
		close(gone)
	}(s.cmd)
	return nil
}

// Command prepares a subcommand with the server's environment.
func (s *Server) Command(args ...string) *exec.Cmd {
	cmd := exec.Command(s.binary, args...)
	cmd.Env = s.env
	return cmd
}

// PID is the process's number, 0 before Start.
func (s *Server) PID() int {
	if s.cmd == nil || s.cmd.Process == nil {
		return 0
	}
	return s.cmd.Process.Pid
}

// Signal sends sig and, when it ends the process, waits for that.
func (s *Server) Signal(sig syscall.Signal) {
	if s.PID() == 0 {
		return
	}
	_ = s.cmd.Process.Signal(sig) // it may be gone already
	switch sig {
	case syscall.SIGKILL, syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP:
		<-s.gone
	}
}

// Said is an error unless the process wrote text to its log.
func (s *Server) Said(text string) error {
	if !strings.Contains(s.Log(1<<20), text) {
		return fmt.Errorf("the process has not said %q", text)
	}
	return nil
}

// Ended returns the exit code once the process has ended, most at most; -1 is a
// death by signal.
func (s *Server) Ended(most time.Duration) (code int, err error) {
	select {
	case <-s.gone:
	default:
		select {
		case <-s.gone:
		case <-time.After(most):
			return 0, fmt.Errorf("the process has not ended within %s", most)
		}
	}
	return s.cmd.ProcessState.ExitCode(), nil
}

// Tell sends sig and does not wait.
func (s *Server) Tell(sig syscall.Signal) error { return s.cmd.Process.Signal(sig) }

// Log is what the process wrote so far, its last n bytes.
func (s *Server) Log(n int) string {
	s.log.mu.Lock()
	defer s.log.mu.Unlock()
	text := s.log.b.String()
	return text[max(0, len(text)-n):]
}

// Ready waits until the server answers that it is.
func (s *Server) Ready(ctx context.Context) error {
	return Eventually(ctx, 30*time.Second, func() error { return s.Answers(ctx) })
}

// Answers is an error unless the server says that it is ready.
func (s *Server) Answers(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.URL+"/readyz", nil)
	if err != nil {
		return err
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer func() { _ = res.Body.Close() }()
	if res.StatusCode != http.StatusOK {
		return fmt.Errorf("the server is not ready: %s", res.Status)
	}
	return nil
}

// Eventually waits until f has no error, most at most, and returns the last.
func Eventually(ctx context.Context, most time.Duration, f func() error) error {
	ctx, cancel := context.WithTimeout(ctx, most)
	defer cancel()
	for {
		err := f()
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("not within %s: %w", most, err)
		case <-time.After(20 * time.Millisecond):
		}
	}
}
