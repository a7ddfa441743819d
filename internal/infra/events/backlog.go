package events

import (
	"context"
	"fmt"
	"time"

	"github.com/gatehouse-hq/gatehouse/internal/infra/jobs"
	"github.com/gatehouse-hq/gatehouse/internal/infra/pg"
)

// countLimit bounds counts: past it they say "at least".
const countLimit = 10_000

// Limits above which the panel alerts.
const (
	AlertWaiting = 1000
	AlertAge     = 5 * time.Minute
)

// Backlog is how far relaying is behind and what the outbox holds.
type Backlog struct {
	Waiting  jobs.Count    `json:"waiting"`
	Oldest   time.Duration `json:"oldest_ns"` // age of the event that waits longest; 0 when none
	Poisoned jobs.Count    `json:"poisoned"`
	Faults   int64         `json:"-"`     // of all that waits
	Bytes    int64         `json:"bytes"` // table with its indexes
	// Held: a live process knows a newer list of subscriptions, so this one does not relay.
	Held bool `json:"held"`
}

// Alarming reports whether an owner should be told.
func (b Backlog) Alarming() bool {
	return b.Waiting.N > AlertWaiting || b.Oldest > AlertAge || b.Poisoned.N > 0
}

// Backlog counts what waits and what is set aside; counts stop at 10,000.
func (b *Bus) Backlog(ctx context.Context) (Backlog, error) {
	var s Backlog
	version, err := b.RegistryVersion(ctx)
	if err != nil {
		return s, err
	}
	var seconds float64
	err = b.cfg.DB.QueryRow(ctx, `
select w.n, coalesce(extract(epoch from clock_timestamp() - w.oldest), 0)::float8, p.n,
  pg_total_relation_size('public.events'), `+outdated+`, w.faults
from (select count(*) n, min(occurred_at) oldest, coalesce(sum(attempts), 0)::bigint faults from (select occurred_at, attempts from public.events where `+waiting+` order by txid, seq limit $1) a) w,
  (select count(*) n from (select 1 from public.events where poisoned_at is not null limit $1) b) p`, countLimit+1, version).
		Scan(&s.Waiting.N, &seconds, &s.Poisoned.N, &s.Bytes, &s.Held, &s.Faults)
	if err != nil {
		return s, fmt.Errorf("count the event backlog: %w", err)
	}
	s.Oldest = max(time.Duration(seconds*float64(time.Second)), 0)
	for _, c := range []*jobs.Count{&s.Waiting, &s.Poisoned} {
		if c.N > countLimit {
			*c = jobs.Count{N: countLimit, AtLeast: true}
		}
	}
	return s, nil
}

// OldSnapshot is a session whose old transaction keeps dead rows of all tables
// from being cleaned up (field case F05).
type OldSnapshot struct {
	PID         int32         `json:"pid"`
	Application string        `json:"application"`
	Age         time.Duration `json:"age_ns"`
	State       string        `json:"state"` // idle in transaction, active …
}

// OldSnapshots are the sessions of this database, of our own role, whose
// transaction is older than age, oldest first, at most ten.
func OldSnapshots(ctx context.Context, q pg.Querier, age time.Duration) ([]OldSnapshot, error) {
	rows, err := q.Query(ctx, `
select pid, coalesce(application_name, ''), extract(epoch from clock_timestamp() - xact_start)::float8, coalesce(state, '')
from pg_stat_activity
where datname = current_database() and (backend_xmin is not null or backend_xid is not null)
  and pid <> pg_backend_pid() and backend_type = 'client backend'
  and xact_start < clock_timestamp() - $1::float8 * interval '1 second'
order by xact_start limit 10`, age.Seconds())
	if err != nil {
		return nil, fmt.Errorf("look for old snapshots: %w", err)
	}
	defer rows.Close()
	var list []OldSnapshot
	for rows.Next() {
		var s OldSnapshot
		var seconds float64
		if err := rows.Scan(&s.PID, &s.Application, &seconds, &s.State); err != nil {
			return nil, fmt.Errorf("look for old snapshots: %w", err)
		}
		s.Age = time.Duration(seconds * float64(time.Second))
		list = append(list, s)
	}
	return list, rows.Err()
}
