package lease_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gatehouse-hq/gatehouse/internal/infra/lease"
	"github.com/gatehouse-hq/gatehouse/internal/infra/pg"
	"github.com/gatehouse-hq/gatehouse/internal/infra/pg/pgtest"
)

func TestMain(m *testing.M) { pgtest.Main(m, pgtest.NoLeaks) }

const key = "01900000-0000-7000-8000-000000000001"

// table is a database with one row to lease, and a keeper for each process.
func table(t *testing.T) (db *pg.DB, keeper func(term time.Duration) *lease.Keeper) {
	t.Helper()
	db = pgtest.New(t)
	_, err := db.Exec(t.Context(), `
create table things (id uuid primary key, lease_token uuid, busy_until timestamptz, wanted_at timestamptz, free_at timestamptz)`)
	if err == nil {
		_, err = db.Exec(t.Context(), `insert into things (id) values ($1)`, key)
	}
	if err != nil {
		t.Fatal(err)
	}
	return db, func(term time.Duration) *lease.Keeper {
		return lease.New(db, lease.Table{Name: "public.things", Key: "id"}, term)
	}
}

func acquire(t *testing.T, k *lease.Keeper) *lease.Lease {
	t.Helper()
	l, err := k.Acquire(t.Context(), key)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func busy(t *testing.T, k *lease.Keeper) time.Duration {
	t.Helper()
	_, err := k.Acquire(t.Context(), key)
	var b *lease.BusyError
	if !errors.As(err, &b) {
		t.Fatalf("took what another holds: %v", err)
	}
	return b.FreeIn
}

func release(t *testing.T, l *lease.Lease) {
	t.Helper()
	if err := l.Release(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); !ok(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("not within a minute: %s", what)
		}
	}
}

func TestOneHolder(t *testing.T) {
	t.Parallel()
	_, keeper := table(t)
	var inside, most, taken atomic.Int64
	var all sync.WaitGroup
	for range 8 {
		k := keeper(lease.Term)
		all.Go(func() {
			for range 40 {
				l, err := k.Acquire(context.Background(), key)
				if err != nil {
					continue
				}
				taken.Add(1)
				if n := inside.Add(1); n > most.Load() {
					most.Store(n)
				}
				time.Sleep(time.Millisecond)
				inside.Add(-1)
				if err := l.Release(context.Background()); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	if most.Load() != 1 || taken.Load() < 8 {
		t.Errorf("%d at once, %d times taken", most.Load(), taken.Load())
	}
}

func TestWantedAndForecast(t *testing.T) {
	t.Parallel()
	_, keeper := table(t)
	a, b := keeper(lease.Term), keeper(lease.Term)
	held := acquire(t, a)
	if held.Wanted() != 0 || held.Left() <= 0 || held.Left() > lease.Term {
		t.Errorf("wanted %s, left %s", held.Wanted(), held.Left())
	}
	held.Forecast(20 * time.Second)
	// It counts down between two renewals, and a machine may stall in that time; unpublished it would be the term's 30 s, or 0.
	eventually(t, "the forecast is published", func() bool { free := busy(t, b); return free > 5*time.Second && free <= 20*time.Second })
	eventually(t, "the holder knows that it is wanted", func() bool { return held.Wanted() > 0 })
	release(t, held)
	next := acquire(t, b)
	if next.Wanted() != 0 || next.Token() == held.Token() {
		t.Error("the new lease has something of the old one")
	}
	release(t, next)
}

// A holder that stops renewing (a crash, SIGSTOP) loses the lease by its term; its late release frees nothing.
func TestExpiryFences(t *testing.T) {
	t.Parallel()
	db, keeper := table(t)
	lost := acquire(t, keeper(lease.Term))
	// Its process is gone as far as the database knows.
	if _, err := db.Exec(t.Context(), `update things set lease_token = gen_random_uuid(), busy_until = clock_timestamp() - interval '1 second'`); err != nil {
		t.Fatal(err)
	}
	next := acquire(t, keeper(lease.Term))
	eventually(t, "the loser finds out", func() bool { return lost.Left() <= 0 })
	release(t, lost)
	var token string
	if err := db.QueryRow(t.Context(), `select lease_token::text from things`).Scan(&token); err != nil || token != next.Token() {
		t.Errorf("the late release changed the lease: %s, %v", token, err)
	}
	release(t, next)
}

// A short term is renewed for as long as it is held.
func TestRenewal(t *testing.T) {
	t.Parallel()
	db, keeper := table(t)
	held := acquire(t, keeper(time.Second))
	var taken time.Time
	if err := db.QueryRow(t.Context(), `select busy_until from things`).Scan(&taken); err != nil {
		t.Fatal(err)
	}
	// Nobody else asks: a machine that stalls for longer than the term would rightly hand it on.
	eventually(t, "it lasts for three terms", func() bool {
		var long bool
		err := db.QueryRow(t.Context(), `select busy_until > $1::timestamptz + interval '2 seconds' and lease_token = $2::uuid from things`,
			taken, held.Token()).Scan(&long)
		if err != nil {
			t.Fatal(err)
		}
		return long
	})
	release(t, held)
	if _, err := keeper(time.Second).Acquire(t.Context(), "01900000-0000-7000-8000-00000000ffff"); !errors.Is(err, lease.ErrNoRow) {
		t.Errorf("a key without a row: %v", err)
	}
}

// What a holder keeps for a moment longer is done early when the process stops, and once in any case.
func TestCloseWaitsForNothing(t *testing.T) {
	t.Parallel()
	_, keeper := table(t)
	k := keeper(lease.Term)
	held := acquire(t, k)
	var calls atomic.Int64
	k.After(time.Hour, func() {
		calls.Add(1)
		release(t, held)
	})
	k.Close()
	k.Close()
	if calls.Load() != 1 {
		t.Errorf("called %d times", calls.Load())
	}
	release(t, acquire(t, keeper(lease.Term)))
	k.After(time.Hour, func() { calls.Add(1) })
	if calls.Load() != 2 {
		t.Error("a closed keeper waits")
	}
}
