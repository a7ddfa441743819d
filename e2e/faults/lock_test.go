package faults

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/gatehouse-hq/gatehouse/e2e/blackbox"
)

// foreign is a session of somebody else that holds a lock on a table: whoever
// needs the table stops there, in the middle of its work.
type foreign struct {
	w    *world
	conn *pgx.Conn
	tx   pgx.Tx
}

// hold locks a table in a mode such as "access exclusive".
func (w *world) hold(table, mode string) *foreign {
	w.Helper()
	conn, err := pgx.ConnectConfig(w.Context(), w.pool.Config().ConnConfig.Copy())
	w.must(err)
	f := &foreign{w: w, conn: conn}
	w.Cleanup(func() { _ = conn.Close(context.Background()) })
	f.tx, err = conn.Begin(w.Context())
	w.must(err)
	_, err = f.tx.Exec(w.Context(), "lock table "+table+" in "+mode+" mode")
	w.must(err)
	return f
}

// release lets go; a session that a fault has ended holds nothing any more.
func (f *foreign) release() {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	_ = f.tx.Rollback(ctx)
	_ = f.conn.Close(ctx)
}

// reached waits until n sessions stand at the lock.
func (f *foreign) reached(n int) {
	f.w.Helper()
	f.w.must(blackbox.Eventually(f.w.Context(), 30*time.Second, func() error {
		var waiting int
		err := f.w.pool.QueryRow(f.w.Context(), `
			select count(*) from pg_stat_activity where wait_event_type = 'Lock' and $1 = any(pg_blocking_pids(pid))`, f.conn.PgConn().PID()).Scan(&waiting)
		if err == nil && waiting < n {
			err = errors.New("nobody has come to the lock")
		}
		return err
	}))
}
