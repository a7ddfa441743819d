package river

import (
	"context"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/gatehouse-hq/gatehouse/internal/infra/pg"
)

// lostAfter is how long after its end a job counts as lost whose result the
// database does not have: the library tries to write it for 37 s (3 times 10 s
// and the pauses between), then gives up, and would leave the row running for
// a quarter of an hour. The other way to lose a job is a claim whose answer
// the network lost.
const (
	lostAfter = 40 * time.Second
	// shortRun is a run whose end needs no remembering: by lostAfter+shortRun
	// after its claim it is over for long enough.
	shortRun = 5 * time.Second
)

// roster is what this process runs, and what it ran for longer than a moment.
type roster struct {
	mu   sync.Mutex
	runs map[int64]stint
}

// stint is a run of a job; ended is zero while it goes on.
type stint struct{ began, ended time.Time }

func (r *roster) begin(id int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.runs == nil {
		r.runs = map[int64]stint{}
	}
	r.runs[id] = stint{began: time.Now()}
}

func (r *roster) end(id int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.runs[id]
	if s.ended = time.Now(); s.ended.Sub(s.began) < shortRun {
		delete(r.runs, id)
		return
	}
	r.runs[id] = s
}

// holds reports whether a job runs here, or its result may still be on its way.
func (r *roster) holds(id int64) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	s, known := r.runs[id]
	return known && (s.ended.IsZero() || time.Since(s.ended) < lostAfter)
}

// tidy forgets what ended long ago.
func (r *roster) tidy() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for id, s := range r.runs {
		if !s.ended.IsZero() && time.Since(s.ended) >= lostAfter {
			delete(r.runs, id)
		}
	}
}

// findLost lets jobs run again that are lost in this process. Handlers are
// idempotent, so that one whose result alone was lost does no harm.
func (rt *Runtime) findLost(ctx context.Context) {
	if !rt.presence.alive() {
		return
	}
	rt.roster.tidy()
	n := 0
	err := pg.InTx(ctx, rt.db, func(tx pg.Tx) error {
		running, err := held(ctx, tx, rt.cfg.ProcessID, lostAfter+shortRun)
		if err != nil || len(running) == 0 {
			return err
		}
		b := &pgx.Batch{}
		var queues []string
		for _, o := range running {
			if rt.roster.holds(o.id) {
				continue
			}
			if err := rt.rescue(b, o, rt.cfg.ProcessID, "the result of this attempt was lost"); err != nil {
				return err
			}
			queues = append(queues, o.queue)
		}
		if n = len(queues); n == 0 {
			return nil
		}
		tx.AfterCommit(func() { rt.poke(union(queues, nil)...) })
		return tx.SendBatch(ctx, b).Close()
	})
	switch {
	case err != nil && ctx.Err() == nil:
		rt.log.Warn("cannot look for lost tasks; the next look follows", "error", err)
	case n > 0:
		rt.log.Warn("tasks were lost with a connection to the database; they run again", "jobs", n)
	}
}
