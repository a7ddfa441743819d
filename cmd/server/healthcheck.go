package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/gatehouse-hq/gatehouse/internal/infra/pg"
)

const (
	healthPath = "/healthz"
	healthTime = 5 * time.Second
)

// healthcheck asks the server of this machine and these settings whether it
// lives: for containers, whose image holds nothing else that could ask. A
// worker has no door to knock at, so its database is asked instead.
func healthcheck(ctx context.Context, p *program, args []string) error {
	if len(args) > 0 {
		return errUsage
	}
	ctx, cancel := context.WithTimeout(ctx, healthTime)
	defer cancel()
	if p.cfg.role == "worker" {
		if p.cfg.databaseURL == "" {
			return errors.New("a worker with a private database cannot be asked from outside")
		}
		db, err := pg.Open(ctx, p.cfg.databaseURL, pg.Options{MaxConns: 1, Application: "gatehouse healthcheck"})
		if err != nil {
			return err
		}
		db.Close()
		return nil
	}
	host, port, err := net.SplitHostPort(p.cfg.addr)
	if err != nil {
		return err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+net.JoinHostPort(reachable(host), port)+healthPath, nil)
	if err != nil {
		return err
	}
	answer, err := (&http.Transport{}).RoundTrip(r) // no proxy: it is this machine
	if err != nil {
		return fmt.Errorf("nothing healthy answers at %s: %w", r.URL, err)
	}
	if err := answer.Body.Close(); err != nil {
		return err
	}
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("%s answers %s", r.URL, answer.Status)
	}
	return nil
}
