package river

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
)

const (
	// deadAfter is the age of a heartbeat, by the database's clock, from which
	// a process whose lock is free counts as dead.
	deadAfter = 10 * time.Second
	// staleAfter is when a process stops trusting itself: before others may
	// take its jobs over. A paused process wakes up beyond it.
	staleAfter = 7 * time.Second
	// doubtFor is how long after a break each result is checked against the row.
	doubtFor = time.Minute
)

// presence holds the dedicated connection by which this process proves that it
// lives: a session lock, which kill -9 frees at once and a pause does not, and
// a heartbeat in the table processes.
type presence struct {
	url     string
	log     *slog.Logger
	rt      *Runtime
	lockKey int64

	held   atomic.Bool
	beatAt atomic.Pointer[instant] // nil before the first
	doubt  atomic.Pointer[instant] // the last break: others may have taken jobs over
	born   time.Time
}

func newPresence(url string, log *slog.Logger, rt *Runtime) *presence {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails (crypto/rand)
	return &presence{url: url, log: log, rt: rt, lockKey: int64(binary.BigEndian.Uint64(b[:])), born: time.Now()}
}

func newProcessID() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails (crypto/rand)
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[0:4], b[4:6], b[6:8], b[8:10], b[10:16])
}

// instant is a moment on both clocks: the monotonic one stands still while a
// machine sleeps, and the wall's can be set back.
type instant struct {
	mono time.Duration // since the process began
	wall time.Time
}

// since is how long ago i was, as the clock says that saw more time go by: a
// process rather distrusts itself.
func (i instant) since(earlier instant) time.Duration {
	return max(i.mono-earlier.mono, i.wall.Sub(earlier.wall))
}

func (p *presence) now() *instant {
	return &instant{mono: time.Since(p.born), wall: time.Now().Round(0)}
}

func (p *presence) within(t *instant, d time.Duration) bool { return t != nil && p.now().since(*t) < d }

func (p *presence) alive() bool { return p.held.Load() && p.within(p.beatAt.Load(), staleAfter) }

// doubtful reports whether others may have taken over jobs of this process.
func (p *presence) doubtful() bool { return !p.alive() || p.within(p.doubt.Load(), doubtFor) }

func (p *presence) suspect() { p.doubt.Store(p.now()) }

// run keeps the connection until ctx ends and then signs off. ready receives
// the outcome of the first attempt.
func (p *presence) run(ctx context.Context, ready chan<- error) {
	first, lost := true, false
	for ctx.Err() == nil {
		err := p.session(ctx, func() {
			switch {
			case first:
				first = false
				ready <- nil
			case lost:
				p.log.Info("this process is proven alive again and claims tasks")
			}
			lost = false
		})
		p.held.Store(false)
		p.suspect()
		if first {
			ready <- err
			return
		}
		if ctx.Err() != nil {
			return
		}
		lost = true
		p.log.Warn("lost the connection that proves this process alive; claiming stops until it is back", "error", err)
		select {
		case <-ctx.Done():
		case <-time.After(200 * time.Millisecond):
		}
	}
}

func (p *presence) session(ctx context.Context, joined func()) error {
	dial, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	cfg, err := pgx.ParseConfig(p.url)
	if err != nil {
		return errors.New("the database address cannot be read")
	}
	cfg.RuntimeParams["application_name"] = "gatehouse presence"
	conn, err := pgx.ConnectConfig(dial, cfg)
	if err != nil {
		return fmt.Errorf("connect: %w", err)
	}
	defer p.close(ctx, conn)
	if err := p.lock(dial, conn); err != nil {
		return err
	}
	tick := time.NewTicker(p.rt.cfg.Beat)
	defer tick.Stop()
	for {
		if err := p.beat(ctx, conn); err != nil {
			return err
		}
		if last := p.beatAt.Load(); last != nil && !p.within(last, staleAfter) {
			p.suspect() // this process was paused, or its machine slept
		}
		p.beatAt.Store(p.now())
		p.held.Store(true)
		joined()
		select {
		case <-ctx.Done():
			return p.signOff(ctx, conn)
		case <-tick.C:
		}
	}
}

// lock waits for the session lock: a sweeper that takes it for an earlier
// break holds it for one short transaction.
func (p *presence) lock(ctx context.Context, conn *pgx.Conn) error {
	if _, err := conn.Exec(ctx, `select pg_advisory_lock($1)`, p.lockKey); err != nil {
		return fmt.Errorf("take the lock of this process: %w", err)
	}
	return nil
}

func (p *presence) beat(ctx context.Context, conn *pgx.Conn) error {
	ctx, cancel := context.WithTimeout(ctx, 3*time.Second)
	defer cancel()
	limits := map[string]int{}
	if p.rt.cfg.Work {
		for _, q := range p.rt.cfg.Queues {
			limits[q.Name] = q.Workers
		}
	}
	queues, err := json.Marshal(limits)
	if err != nil {
		return err
	}
	var now time.Time
	before := time.Now()
	if err := conn.QueryRow(ctx, `select clock_timestamp()`).Scan(&now); err != nil {
		return fmt.Errorf("read the database's clock: %w", err)
	}
	middle := before.Add(time.Since(before) / 2)
	var others bool
	err = conn.QueryRow(ctx, `
with me as (
  insert into public.processes (id, role, version, registry, queues, lock_key, skew_ms)
  values ($1, $2, $3, $4, $5, $6, $7)
  on conflict (id) do update set beat_at = clock_timestamp(), stopped_at = null, registry = excluded.registry,
    queues = excluded.queues, skew_ms = excluded.skew_ms, lock_key = excluded.lock_key
)
select exists (select from public.processes where id <> $1 and stopped_at is null and queues <> '{}'
  and beat_at > clock_timestamp() - make_interval(secs => $8))`,
		p.rt.cfg.ProcessID, p.rt.cfg.Role, p.rt.cfg.Version, p.rt.cfg.Registry(), queues, p.lockKey,
		middle.Sub(now).Milliseconds(), deadAfter.Seconds()).Scan(&others)
	if err != nil {
		return fmt.Errorf("write the heartbeat: %w", err)
	}
	p.rt.announce.others.Store(others)
	return nil
}

// signOff says that this process stopped by itself, so that nobody waits for
// its heartbeat to grow old.
func (p *presence) signOff(ctx context.Context, conn *pgx.Conn) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
	defer cancel()
	_, err := conn.Exec(ctx, `update public.processes set stopped_at = clock_timestamp() where id = $1`, p.rt.cfg.ProcessID)
	return err
}

func (p *presence) close(ctx context.Context, conn *pgx.Conn) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancel()
	_ = conn.Close(ctx) // the session is over either way
}
