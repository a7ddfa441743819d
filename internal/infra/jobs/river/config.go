package river

import (
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/gatehouse-hq/gatehouse/internal/infra/jobs"
	"github.com/gatehouse-hq/gatehouse/internal/infra/pg"
)

// Config is what one process brings to the queue.
type Config struct {
	Kinds     []jobs.Kind
	Periodics []jobs.Periodic
	Queues    []jobs.Queue
	// Role and Version are shown with the process; Role is all, web or worker.
	Role, Version string
	// ProcessID is a UUID; empty makes a random one.
	ProcessID string
	// Registry tells the version of the subscription registry this process
	// runs, published with each heartbeat; nil means 0.
	Registry func() int64
	// Work false makes a process that enqueues, inspects and waits, and claims
	// nothing.
	Work bool
	// Grace is how long Stop waits for running jobs; 0 means 20 s.
	Grace time.Duration
	// Beat is the pause between heartbeats and between sweeps; 0 means 2 s.
	Beat time.Duration
	// Turn is the pause between two looks for due periodics; 0 means 1 s.
	Turn time.Duration
}

const (
	defaultGrace  = 20 * time.Second
	defaultBeat   = 2 * time.Second
	defaultTurn   = time.Second
	defaultMaxAge = 14 * 24 * time.Hour
	// tellTime is what a kind may take to hear of a cancelled job.
	tellTime = 5 * time.Second

	// libraryConns is what the library holds at once for itself: batched
	// completion, a fetch, leadership and maintenance. The relay holds one more.
	libraryConns = 4
	relayConns   = 1
)

func (c *Config) complete() error {
	if c.Grace == 0 {
		c.Grace = defaultGrace
	}
	if c.Beat == 0 {
		c.Beat = defaultBeat
	}
	if c.Turn == 0 {
		c.Turn = defaultTurn
	}
	if c.Registry == nil {
		c.Registry = func() int64 { return 0 }
	}
	if c.Role == "" {
		c.Role = "all"
	}
	if c.ProcessID == "" {
		c.ProcessID = newProcessID()
	}
	if !pg.ValidUUID(c.ProcessID) {
		return fmt.Errorf("process id %q is not a UUID", c.ProcessID)
	}
	return nil
}

// checkKinds refuses what would only fail when a job runs.
func checkKinds(kinds map[string]jobs.Kind, queues map[string]jobs.Queue) error {
	var errs []error
	for _, k := range kinds {
		switch {
		case len(k.Name) < 2 || len(k.Name) > 127 || strings.ContainsAny(k.Name, " ,\t\n"):
			errs = append(errs, fmt.Errorf("kind %q: a name has 2 to 127 characters and no spaces or commas", k.Name))
		case k.Handler == nil:
			errs = append(errs, fmt.Errorf("kind %s has no handler", k.Name))
		case k.Policy.Attempts < 1:
			errs = append(errs, fmt.Errorf("kind %s: at least 1 attempt is needed", k.Name))
		case k.Policy.Timeout <= 0:
			// A job without a timeout is never rescued after a crash.
			errs = append(errs, fmt.Errorf("kind %s has no timeout", k.Name))
		case queues[k.Queue].Name == "":
			errs = append(errs, fmt.Errorf("kind %s names the undeclared queue %q", k.Name, k.Queue))
		}
	}
	return errors.Join(errs...)
}

// LeastPool is the least number of connections that a pool needs for these queues: at most half of them may be held by
// queues, relay and library at once, so that busy workers cannot take what visitors need.
func LeastPool(queues []jobs.Queue) int {
	need := libraryConns + relayConns
	for _, q := range queues {
		if !q.NoConn {
			need += q.Workers
		}
	}
	return 2 * need
}

// checkPool refuses a pool that is too small for the queues.
func checkPool(queues []jobs.Queue, maxConns int32) error {
	if least := LeastPool(queues); int(maxConns) < least {
		return fmt.Errorf("queues and relay can hold %d connections at once, and the pool has %d: use fewer workers, or a pool of at least %d", least/2, maxConns, least)
	}
	return nil
}

// quiet drops what the library says below a warning: it reports every failed
// attempt, which the ledger keeps anyway.
func quiet(log *slog.Logger) *slog.Logger { return slog.New(warnOnly{log.Handler()}) }
