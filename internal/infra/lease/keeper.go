package lease

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/gatehouse-hq/gatehouse/internal/infra/pg"
)

const (
	// Term is how long a lease lasts without being renewed.
	Term = 30 * time.Second
	// renewEvery is the pause between two looks: renewal, forecast and whether another process wants it, in one statement.
	renewEvery = 100 * time.Millisecond
	// askTime bounds one statement; a lease is never so short that this matters.
	askTime = 5 * time.Second
)

// Table names the rows that hold leases. It has the columns lease_token (uuid), busy_until, wanted_at, free_at
// (timestamptz), and a row for each key.
type Table struct {
	Name string // with its schema
	Key  string // a uuid column
}

// Keeper takes and renews the leases of one process. It is safe for concurrent use and works only while leases are held.
type Keeper struct {
	db   *pg.DB
	sql  statements
	term time.Duration

	mu      sync.Mutex
	held    map[*Lease]struct{}
	renewal bool // the goroutine that renews is running
	later   map[*wait]struct{}
	closed  bool
	changed chan struct{}
}

type statements struct{ acquire, renew, release string }

// New makes a keeper. term is Term outside of tests.
func New(db *pg.DB, t Table, term time.Duration) *Keeper {
	return &Keeper{db: db, term: term, held: map[*Lease]struct{}{}, later: map[*wait]struct{}{}, changed: make(chan struct{}, 1), sql: statements{
		// One row, one statement: taken, or noted as wanted. The clock is read per row, after any wait for its lock. A
		// forecast that nobody renews means a holder that is gone: then the end of the term is what there is to wait for.
		acquire: fmt.Sprintf(`
update %[1]s set
  lease_token = case when busy_until is null or busy_until <= clock_timestamp() then $2::uuid else lease_token end,
  wanted_at = case when busy_until is null or busy_until <= clock_timestamp() then null else coalesce(wanted_at, clock_timestamp()) end,
  free_at = case when busy_until is null or busy_until <= clock_timestamp() then clock_timestamp() else free_at end,
  busy_until = case when busy_until is null or busy_until <= clock_timestamp() then clock_timestamp() + $3::interval else busy_until end
where %[2]s = $1::uuid
returning lease_token = $2::uuid, coalesce(extract(epoch from
  case when free_at > clock_timestamp() - interval '2 seconds' then least(free_at, busy_until) else busy_until end - clock_timestamp()), 0)::float8`, t.Name, t.Key),
		// Locked in the order of keys, as every statement that takes several of these rows does.
		renew: fmt.Sprintf(`
with asked as (
  select * from unnest($1::uuid[], $2::uuid[], $3::float8[]) a (key, token, free)
), mine as materialized (
  select s.%[2]s as key, s.wanted_at, a.free from %[1]s s join asked a on s.%[2]s = a.key and s.lease_token = a.token
  order by s.%[2]s for no key update of s
)
update %[1]s s set busy_until = clock_timestamp() + $4::interval, free_at = clock_timestamp() + make_interval(secs => mine.free)
from mine where s.%[2]s = mine.key
returning s.%[2]s::text, coalesce(extract(epoch from clock_timestamp() - mine.wanted_at), -1)::float8`, t.Name, t.Key),
		release: fmt.Sprintf(`
update %[1]s set lease_token = null, busy_until = null, free_at = null, wanted_at = null
where %[2]s = $1::uuid and lease_token = $2::uuid`, t.Name, t.Key),
	}}
}

// BusyError says that another holds the lease, and when it expects to be free.
type BusyError struct{ FreeIn time.Duration }

func (e *BusyError) Error() string { return fmt.Sprintf("held by another for about %s", e.FreeIn) }

// ErrNoRow is the error of Acquire for a key that has no row.
var ErrNoRow = fmt.Errorf("nothing there to lease: %w", pgx.ErrNoRows)

// Acquire takes the lease of key, or fails with a *BusyError after noting that it is wanted. A lease nobody renewed for
// its term is taken over.
func (k *Keeper) Acquire(ctx context.Context, key string) (*Lease, error) {
	token := newToken()
	asked := time.Now() // before the statement: the own idea of the end is never later than the database's
	var ours bool
	var free float64
	err := k.db.QueryRow(ctx, k.sql.acquire, key, token, k.term).Scan(&ours, &free)
	switch {
	case pg.NoRows(err):
		return nil, ErrNoRow
	case err != nil:
		return nil, fmt.Errorf("take the lease of %s: %w", key, err)
	case !ours:
		return nil, &BusyError{FreeIn: max(time.Duration(free*float64(time.Second)), 0)}
	}
	l := &Lease{keeper: k, key: key, token: token}
	until := asked.Add(k.term)
	l.until.Store(&until)
	k.mu.Lock()
	defer k.mu.Unlock()
	k.held[l] = struct{}{}
	if !k.renewal {
		k.renewal = true
		go k.renew(context.Background())
	}
	return l, nil
}

// renew runs while leases are held. A failed look is made up by the next: the term is three hundred looks long.
func (k *Keeper) renew(ctx context.Context) {
	timer := time.NewTimer(renewEvery)
	defer timer.Stop()
	for {
		select {
		case <-timer.C:
		case <-k.changed:
		}
		k.mu.Lock()
		if len(k.held) == 0 {
			k.renewal = false
			k.mu.Unlock()
			return
		}
		leases := make(map[string]*Lease, len(k.held))
		for l := range k.held {
			leases[l.key] = l
		}
		k.mu.Unlock()
		k.look(ctx, leases)
		timer.Reset(renewEvery)
	}
}

func (k *Keeper) look(ctx context.Context, leases map[string]*Lease) {
	ctx, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	var keys, tokens []string
	var free []float64
	for key, l := range leases {
		keys, tokens, free = append(keys, key), append(tokens, l.token), append(free, time.Duration(l.forecast.Load()).Seconds())
	}
	asked := time.Now()
	rows, err := k.db.Query(ctx, k.sql.renew, keys, tokens, free, k.term)
	if err != nil {
		return
	}
	var key string
	var wanted float64
	renewed := map[string]bool{}
	_, err = pgx.ForEachRow(rows, []any{&key, &wanted}, func() error {
		renewed[key] = true
		leases[key].renewed(asked.Add(k.term), wanted)
		return nil
	})
	if err != nil {
		return
	}
	for key, l := range leases {
		if !renewed[key] {
			l.until.Store(nil) // taken over
		}
	}
}

// After calls f once, after d or when the keeper is closed: for a holder that keeps a lease for a moment longer, in case it
// needs it again at once.
func (k *Keeper) After(d time.Duration, f func()) {
	k.mu.Lock()
	if k.closed {
		k.mu.Unlock()
		f()
		return
	}
	defer k.mu.Unlock()
	w := &wait{f: f}
	w.timer = time.AfterFunc(d, func() { k.call(w) })
	k.later[w] = struct{}{}
}

// wait is what After was given.
type wait struct {
	f     func()
	timer *time.Timer
}

func (k *Keeper) call(w *wait) {
	k.mu.Lock()
	_, due := k.later[w]
	delete(k.later, w)
	k.mu.Unlock()
	if due {
		w.timer.Stop()
		w.f()
	}
}

// Close calls what After was given without waiting further. What is held otherwise stays until it is released.
func (k *Keeper) Close() {
	k.mu.Lock()
	k.closed = true
	waits := slices.Collect(maps.Keys(k.later))
	k.mu.Unlock()
	for _, w := range waits {
		k.call(w)
	}
}

func (k *Keeper) forget(l *Lease) {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.held, l)
	if len(k.held) == 0 {
		select {
		case k.changed <- struct{}{}:
		default:
		}
	}
}

// newToken is a random UUID (RFC 9562, version 4).
func newToken() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails: crypto/rand ends the process instead
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	h := hex.EncodeToString(b[:])
	return h[:8] + "-" + h[8:12] + "-" + h[12:16] + "-" + h[16:20] + "-" + h[20:]
}
