package owner_test

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/gatehouse-hq/gatehouse/internal/domain/owner"
	"github.com/gatehouse-hq/gatehouse/internal/infra/op"
	"github.com/gatehouse-hq/gatehouse/internal/infra/pg"
)

// Many guesses sent at once are as few as those sent one after the other.
func TestGuessesAtOnceAreLimitedToo(t *testing.T) {
	t.Parallel()
	d, _ := fresh(t)
	setUp(t, d)
	var looked, shut atomic.Int64
	var all sync.WaitGroup
	for range 60 {
		all.Go(func() {
			_, err := d.SignIn(t.Context(), address, "not the password", owner.Visit{Address: "192.0.2.1"})
			switch op.CodeOf(err) {
			case op.Invalid:
				looked.Add(1)
			case op.TooMany:
				shut.Add(1)
			default:
				t.Error(err)
			}
		})
	}
	all.Wait()
	// Ten, and one whose neighbour was not noted yet: two are tried at once.
	if looked.Load() > 11 || looked.Load()+shut.Load() != 60 {
		t.Errorf("%d of 60 guesses were looked at, %d refused", looked.Load(), shut.Load())
	}
}

// between runs do while a transaction is under way that began with before: do
// waits for it by the time of after, and goes on at its commit.
func between(t *testing.T, db *pg.DB, before func(tx pg.Tx) error, do func() error, after func(tx pg.Tx) error) error {
	t.Helper()
	ended := make(chan error, 1)
	err := pg.InTx(t.Context(), db, func(tx pg.Tx) error {
		if err := before(tx); err != nil {
			return err
		}
		go func() { ended <- do() }()
		waits := func() (n int) {
			err := db.QueryRow(t.Context(), `select count(*) from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`).Scan(&n)
			if err != nil {
				t.Fatal(err)
			}
			return n
		}
		for end := time.Now().Add(time.Minute); waits() == 0; time.Sleep(5 * time.Millisecond) {
			if time.Now().After(end) {
				t.Fatal("it does not wait for the owner's row")
			}
		}
		return after(tx)
	})
	if err != nil {
		t.Fatal(err)
	}
	return <-ended
}

func lockOwner(t *testing.T) func(pg.Tx) error {
	return func(tx pg.Tx) error {
		_, err := tx.Exec(t.Context(), `select from owners for update`)
		return err
	}
}

// changeElsewhere is what a reset in another browser comes to.
func changeElsewhere(t *testing.T) func(pg.Tx) error {
	return func(tx pg.Tx) error {
		if _, err := tx.Exec(t.Context(), `update owners set password_hash = 'another'`); err != nil {
			return err
		}
		_, err := tx.Exec(t.Context(), `delete from sessions`)
		return err
	}
}

func sessions(t *testing.T, db *pg.DB) (n int) {
	t.Helper()
	if err := db.QueryRow(t.Context(), `select count(*) from sessions`).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

// Whoever knows the old password, and is just using it when the owner resets
// it, is not let in and does not set it back.
func TestTheOldPasswordOpensNothingDuringAReset(t *testing.T) {
	t.Parallel()
	d, db := fresh(t)
	setUp(t, d)
	err := between(t, db, lockOwner(t), func() error {
		_, err := d.SignIn(t.Context(), address, password, owner.Visit{Address: "192.0.2.1"})
		return err
	}, changeElsewhere(t))
	if op.CodeOf(err) != op.Invalid || sessions(t, db) != 0 {
		t.Errorf("signing in: %v, %d sessions", err, sessions(t, db))
	}

	d, db = fresh(t)
	mine := setUp(t, d)
	err = between(t, db, lockOwner(t), func() error { return d.ChangePassword(t.Context(), mine, password, "a longer sentence") }, changeElsewhere(t))
	var hash string
	if scan := db.QueryRow(t.Context(), `select password_hash from owners`).Scan(&hash); scan != nil {
		t.Fatal(scan)
	}
	if op.CodeOf(err) != op.Conflict || hash != "another" {
		t.Errorf("changing it: %v, the hash is now %q", err, hash)
	}
}

// A sign-in that commits while the reset is under way is ended by it.
func TestAResetEndsASignInUnderWay(t *testing.T) {
	t.Parallel()
	d, db := fresh(t)
	setUp(t, d)
	link, err := d.SetupLink(t.Context(), true)
	if err != nil {
		t.Fatal(err)
	}
	signsIn := func(tx pg.Tx) error {
		if _, err := tx.Exec(t.Context(), `select from owners for share`); err != nil {
			return err
		}
		_, err := tx.Exec(t.Context(), `insert into sessions (token_hash, owner_id, address, user_agent, expires_at)
			select 'x', id, '', '', clock_timestamp() + interval '1 day' from owners`)
		return err
	}
	err = between(t, db, signsIn, func() error {
		_, err := d.SetUp(t.Context(), link, address, "a longer sentence", owner.Visit{})
		return err
	}, func(pg.Tx) error { return nil })
	if err != nil {
		t.Fatal(err)
	}
	rows, err := db.Query(t.Context(), `select token_hash = 'x' from sessions`)
	if err != nil {
		t.Fatal(err)
	}
	if left, err := pgx.CollectRows(rows, pgx.RowTo[bool]); err != nil || len(left) != 1 || left[0] {
		t.Errorf("sessions, and whether they are the old password's: %v, %v", left, err)
	}
}
