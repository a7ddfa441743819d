package embedded

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"
)

const (
	// watchEvery is how often the log's size is looked at, and a PostgreSQL that is not our child.
	watchEvery = time.Second
	// firstRest and mostRest space the tries to start PostgreSQL again. There is no last one: a disk that is full today has
	// room once somebody made some, and then nobody should have to think of a restart.
	firstRest = 500 * time.Millisecond
	mostRest  = time.Minute
	// soundAfter is how long PostgreSQL has to run for its end to be news, and not the next of a series.
	soundAfter = 2 * time.Minute
)

// History is what happened to PostgreSQL since Start.
type History struct {
	Ends      int       // times it ended without being asked to
	LastEnd   time.Time // zero: never
	RunsSince time.Time // zero: it does not run, or never ended
	Problem   string    // why the last try to start it failed; "" when it runs
}

// History tells what Keep has seen.
func (c *Cluster) History() History {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.history
}

// Keep watches over PostgreSQL until ctx ends: one that ends without being asked to (a crash, kill -9, the kernel short of
// memory) is started again at once, then after pauses of 0.5 s doubling to a minute, and its log is kept small. The
// address stays the same. Of several processes with one data directory the first to notice starts it and the others
// adopt it. Let ctx end before Stop.
func (c *Cluster) Keep(ctx context.Context, log *slog.Logger) {
	rest, since := time.Duration(0), time.Now()
	for c.watch(ctx, log) {
		log.Error("the private PostgreSQL has ended by itself; starting it again", "how", c.howEnded(), "log", c.lay.log())
		c.note(func(h *History) { h.Ends++; h.LastEnd, h.RunsSince = time.Now(), time.Time{} })
		if time.Since(since) > soundAfter {
			rest = 0
		}
		for {
			if wait(ctx, rest) != nil {
				return
			}
			err := c.revive(ctx)
			if ctx.Err() != nil {
				return
			}
			rest = min(max(2*rest, firstRest), mostRest)
			if err == nil {
				break
			}
			log.Error("the private PostgreSQL cannot be started", "error", err, "again_in", rest)
			c.note(func(h *History) { h.Problem = err.Error() })
		}
		since = time.Now()
		log.Info("the private PostgreSQL runs again", "process", c.server().pid)
		c.note(func(h *History) { h.RunsSince, h.Problem = since, "" })
	}
}

// watch returns true when PostgreSQL has ended, false when ctx has.
func (c *Cluster) watch(ctx context.Context, log *slog.Logger) bool {
	for {
		c.mu.Lock()
		started := c.child
		c.mu.Unlock()
		var done chan struct{} // nil, never ready, for a PostgreSQL of another process
		if started != nil {
			done = started.done
		}
		t := time.NewTimer(watchEvery)
		select {
		case <-ctx.Done():
		case <-done:
		case <-t.C:
		}
		t.Stop()
		if ctx.Err() != nil {
			return false
		}
		if !c.alive() {
			return true
		}
		if err := c.lay.boundLog(); err != nil {
			log.Warn("the log of the private PostgreSQL cannot be kept small", "error", err)
		}
	}
}

// revive adopts the PostgreSQL another process has started meanwhile, or starts one. It creates nothing: a cluster whose
// files have gone is for a person to bring back.
func (c *Cluster) revive(ctx context.Context) error {
	starting, err := openLock(c.lay.startLock())
	if err != nil {
		return unwritable(c.lay.dataDir, err)
	}
	defer starting.release()
	if err := starting.take(ctx, true); err != nil {
		return err
	}
	major, err := c.lay.existing()
	if err != nil {
		return err
	}
	if major == "" {
		return fmt.Errorf("the database's files are gone from %s: put them back, or stop Gatehouse and restore a backup", c.lay.cluster())
	}
	before := c.URL()
	if _, err := c.bringUp(ctx, major); err != nil {
		return err
	}
	if c.URL() != before {
		return errors.New("PostgreSQL runs again, but at another address because its port was taken: restart Gatehouse")
	}
	return nil
}

func (c *Cluster) howEnded() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.child == nil:
		return "not known: another process had started it"
	case c.child.how == nil:
		return "shut down"
	}
	return c.child.how.Error()
}

func (c *Cluster) note(f func(*History)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	f(&c.history)
}

// wait lets d pass, or returns ctx's error.
func wait(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}
