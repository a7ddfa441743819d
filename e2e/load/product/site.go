// Package product measures the built binary from outside, as a process of its
// own: its start, its memory, its pages, and the way from a saved note to a
// visitor's search.
package product

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/gatehouse-hq/gatehouse/e2e/blackbox"
	"github.com/gatehouse-hq/gatehouse/e2e/load/lab"
)

// Site is one running server with its owner, on a database of its own, and a
// receiver that it may reach.
type Site struct {
	*lab.Database
	To     *lab.Receiver
	Pool   *pgxpool.Pool
	Server *blackbox.Server
	Owner  *blackbox.Owner
	dir    string
	ends   []func()
}

// With runs a scenario on a site of its own, for at most that long.
func With(ctx context.Context, l *lab.Lab, most time.Duration, scenario func(ctx context.Context, s *Site) error) error {
	ctx, cancel := context.WithTimeout(ctx, most)
	defer cancel()
	s, err := open(ctx, l)
	if err != nil {
		return err
	}
	defer s.close()
	if err := scenario(ctx, s); err != nil {
		return fmt.Errorf("%w\nthe server said:\n%s", err, s.Server.Log(2000))
	}
	if l.SQL {
		return s.PrintStatements(ctx)
	}
	return nil
}

func open(ctx context.Context, l *lab.Lab) (s *Site, err error) {
	s = &Site{}
	defer func() {
		if err != nil {
			s.close()
		}
	}()
	if s.dir, err = l.Dir("site"); err != nil {
		return s, err
	}
	if s.Database, err = l.Database(ctx); err != nil {
		return s, err
	}
	s.ends = append(s.ends, s.Drop)
	if s.To, err = lab.Listen("127.0.0.1:0"); err != nil {
		return s, err
	}
	s.ends = append(s.ends, s.To.Close)
	if s.Pool, err = pgxpool.New(ctx, s.URL); err != nil {
		return s, err
	}
	s.ends = append(s.ends, s.Pool.Close)
	if s.Server, err = blackbox.Prepare(l.Binary, s.URL, s.dir, "GATEHOUSE_EGRESS_ALLOW=127.0.0.1"); err != nil {
		return s, err
	}
	s.ends = append(s.ends, func() { s.Server.Signal(syscall.SIGKILL) })
	if _, err := s.Start(ctx); err != nil {
		return s, err
	}
	s.Owner, err = blackbox.SetUp(ctx, s.Server)
	return s, err
}

func (s *Site) close() {
	for i := len(s.ends) - 1; i >= 0; i-- {
		s.ends[i]()
	}
}

// Start starts the server and returns how long it took to be ready.
func (s *Site) Start(ctx context.Context) (time.Duration, error) {
	began := time.Now()
	if err := s.Server.Start(); err != nil {
		return 0, err
	}
	err := s.Server.Ready(ctx)
	return time.Since(began), err
}

// Restart stops the server as an operator would and starts it again.
func (s *Site) Restart(ctx context.Context) (time.Duration, error) {
	s.Server.Signal(syscall.SIGTERM)
	return s.Start(ctx)
}

// memory reads a line of the process's status (VmRSS, VmHWM), MB.
func (s *Site) memory(name string) (float64, error) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.Server.PID()))
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(status)) {
		if kb, ok := strings.CutPrefix(line, name+":"); ok {
			n, err := strconv.ParseFloat(strings.Fields(kb)[0], 64)
			return n / 1024, err
		}
	}
	return 0, errors.New("no " + name)
}
