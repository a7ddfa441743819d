package subscriber

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/gatehouse-hq/gatehouse/internal/infra/lease"
	"github.com/gatehouse-hq/gatehouse/internal/infra/pg"
)

// lines are the lines of this process, one for each endpoint it has sent to.
type lines struct {
	db     *pg.DB
	keeper *lease.Keeper

	mu   sync.Mutex
	byID map[string]*line
}

func newLines(db *pg.DB) *lines {
	return &lines{db: db, byID: map[string]*line{},
		keeper: lease.New(db, lease.Table{Name: "public.webhook_endpoint_state", Key: "endpoint_id"}, lease.Term)}
}

func (ls *lines) get(id string) *line {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	l := ls.byID[id]
	if l == nil {
		l = &line{id: id, keeper: ls.keeper, owed: ls.owed}
		ls.byID[id] = l
	}
	return l
}

// owed counts what waits for an endpoint, up to a bound past which a prediction is no better.
func (ls *lines) owed(ctx context.Context, id string) (n int, err error) {
	err = ls.db.QueryRow(ctx, `
select count(*) from (select from public.webhook_deliveries where endpoint_id = $1::uuid and state = 'waiting' limit 20000) w`, id).Scan(&n)
	if err != nil {
		return 0, fmt.Errorf("count what waits for endpoint %s: %w", id, err)
	}
	return n, nil
}

// changed makes everyone in line look again before they send.
func (l *line) changed() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.changedAt = time.Now()
	l.shut = false
	l.notBefore = time.Time{} // read anew from the database
}

// learn takes over what the database knows.
func (l *line) learn(s standing, r *receiver) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if s.notBefore > 0 {
		if at := s.at.Add(s.notBefore); at.After(l.notBefore) {
			l.notBefore = at
		}
	}
	l.gap = 0
	if r.perSecond > 0 {
		l.gap = time.Second / time.Duration(r.perSecond)
	}
	if s.failing {
		l.failing = true
	}
}

// staleAfter is the age at which a standing is looked up again before a POST, whatever was announced.
const staleAfter = time.Second

// stale reports whether what was looked up may no longer be so.
func (l *line) stale(s standing) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.changedAt.After(s.at) || time.Since(s.at) > staleAfter
}

func (ls *lines) all() []*line {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	out := make([]*line, 0, len(ls.byID))
	for _, l := range ls.byID {
		out = append(out, l)
	}
	return out
}

const (
	// deepWorth is how much a backlog must be worth for its deliveries to be spread at once, and deepLine how full the line
	// must be: a line that is not full is held up by this machine, not by its receiver, and drains best with all workers.
	deepWorth = time.Second
	deepLine  = lineWorth * 4 / 5
)

// deep is the time over which new deliveries are spread, or 0 if they may come at once.
func (l *line) deep(ctx context.Context) time.Duration {
	l.mu.Lock()
	full := l.ahead(time.Now()) >= deepLine
	l.mu.Unlock()
	if !full {
		return 0
	}
	if n, d := l.drain(ctx); d > deepWorth {
		return spread(n, d)
	}
	return 0
}

// expect counts deliveries that were just created, until the next look at the database, and those that were spread.
func (l *line) expect(n int, spread bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.backlog += n
	if spread {
		l.putOff += n
	}
}

// depths are the endpoints of this process with a deep backlog.
func (ls *lines) depths(ctx context.Context) map[string]time.Duration {
	out := map[string]time.Duration{}
	for _, l := range ls.all() {
		if d := l.deep(ctx); d > 0 {
			out[l.id] = d
		}
	}
	return out
}
