package main

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"github.com/gatehouse-hq/gatehouse/internal/infra/pg"
	"github.com/gatehouse-hq/gatehouse/internal/infra/telemetry"
)

// Pauses between two tries to reach the database of DATABASE_URL at the start: doubled from the first to the longest.
const (
	firstPause = 250 * time.Millisecond
	longPause  = 5 * time.Second
)

// await starts the program by try. A database that is away may be a moment late, after a reboot or in a group of
// containers: then the doors open onto a waiting room, the log says so once, and it is tried again until the time of
// GATEHOUSE_DATABASE_WAIT is over. What waiting does not mend is refused at once. The end of ctx ends the wait.
func (p *program) await(ctx context.Context, d *doors, try func() (*app, error)) (*app, error) {
	a, err := try()
	if p.cfg.databaseURL == "" || p.cfg.databaseWait == 0 || !pg.Away(err) {
		return a, err
	}
	log := telemetry.NewLog(p.errOut, slog.LevelInfo)
	log.Warn("the database cannot be reached; it is tried again until it answers", "error", err, "at_most", p.cfg.databaseWait)
	room := http.HandlerFunc(waitingRoom)
	d.open(slog.NewLogLogger(log.Handler(), slog.LevelDebug), room, room)
	began := time.Now()
	end := time.NewTimer(p.cfg.databaseWait)
	defer end.Stop()
	pause := time.NewTimer(firstPause)
	defer pause.Stop()
	for next := firstPause; ; {
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case failed := <-d.failed:
			return nil, failed
		case <-end.C:
			return nil, fmt.Errorf("%w (tried for %s, which GATEHOUSE_DATABASE_WAIT sets)", err, p.cfg.databaseWait)
		case <-pause.C:
		}
		if a, err = try(); !pg.Away(err) {
			if err == nil {
				log.Info("the database answers", "after", time.Since(began).Round(time.Millisecond))
			}
			return a, err
		}
		next = min(2*next, longPause)
		pause.Reset(next)
	}
}

// waitingRoom tells monitors and people that the site will be there in a moment. Nothing of the site is known yet.
func waitingRoom(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("Retry-After", "5")
	w.WriteHeader(http.StatusServiceUnavailable)
	_, _ = fmt.Fprintln(w, "not ready: the database does not answer yet") // whoever asked may have gone
}
