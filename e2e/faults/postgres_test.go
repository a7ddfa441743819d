package faults

import (
	"fmt"
	"syscall"
	"testing"
	"time"

	"github.com/gatehouse-hq/gatehouse/e2e/blackbox"
)

// PostgreSQL is stopped under two working servers and started again: nobody
// has to touch the servers.
func TestPostgresStoppedAndStarted(t *testing.T) {
	t.Parallel()
	w := newWorld(t, setup{servers: 2, hooks: 2, own: true, durable: true})
	w.load(4, 1)
	for _, how := range []syscall.Signal{syscall.SIGINT, syscall.SIGQUIT, syscall.SIGKILL} {
		w.more(30)
		w.must(w.cluster.Hurt(t.Context(), how))
		w.allLost() // an outage, not a hiccup
		w.must(w.cluster.Again(t.Context()))
		w.allReady()
	}
	w.more(30)

	// The machine is switched off, and the servers come up before their database.
	w.must(w.cluster.Hurt(t.Context(), syscall.SIGKILL))
	for _, s := range w.servers {
		s.Signal(syscall.SIGKILL)
		again(t, s)
		w.must(blackbox.Eventually(t.Context(), 30*time.Second, func() error { return s.Said("the database cannot be reached") }))
	}
	w.must(w.cluster.Again(t.Context()))
	w.allReady()
	w.more(30)
	w.finish()
}

// Connections are ended by the database, cut by the network, swallowed and refused.
func TestConnectionsLost(t *testing.T) {
	t.Parallel()
	w := newWorld(t, setup{servers: 2, hooks: 2, own: true})
	w.load(4, 2)
	for what, hurt := range map[string]func(){
		"all terminated": func() { w.terminate(`true`) },
		"LISTEN ended":   func() { w.terminate(`query ilike 'listen%' or query ilike '%pg_notify%'`) },
		"heartbeat ended": func() {
			w.terminate(`application_name = 'gatehouse presence'`)
		},
		"all cut": w.link.Cut,
		"cut and refused": func() {
			w.link.Refuse(true)
			w.link.Cut()
			w.allLost()
			w.link.Refuse(false)
		},
		"swallowed": func() {
			w.link.Stall(true)
			w.allLost()
			w.link.Stall(false)
		},
	} {
		w.more(20)
		t.Log(what)
		hurt()
	}
	w.more(20)
	w.finish()
}

// terminate ends the servers' backends that where names.
func (w *world) terminate(where string) {
	w.Helper()
	_, err := w.pool.Exec(w.Context(), `select pg_terminate_backend(pid) from pg_stat_activity
		where datname = current_database() and pid <> pg_backend_pid() and backend_type = 'client backend' and (`+where+`)`)
	if err != nil {
		w.Logf("terminating: %v", err) // our own pool's other connections go as well
	}
}

// The LISTEN connection is ended in the second of a commit: the event is
// relayed all the same, and LISTEN is issued again (field case F02).
func TestListenEndedWhileAnEventCommits(t *testing.T) {
	t.Parallel()
	w := newWorld(t, setup{servers: 1, hooks: 1})
	for range 3 {
		w.terminate(`query ilike 'listen%'`)
		// As psql does: no bell rings in any process.
		_, err := w.pool.Exec(t.Context(), `insert into notes (owner_id, genre, title, segment, path, body, published) select id, 'wiki', 'T' || clock_timestamp(), 't' || extract(epoch from clock_timestamp())::text, 't' || extract(epoch from clock_timestamp())::text, 'x', true from owners`)
		w.must(err)
		w.must(blackbox.Eventually(t.Context(), 10*time.Second, func() error { return w.nothingUnrelayed() }))
	}
	w.must(blackbox.Eventually(t.Context(), 20*time.Second, func() error { return w.listens(1) }))
	w.settled()
	w.compareOutbox()
	w.compareReceived()
}

func (w *world) nothingUnrelayed() error {
	return w.none("events wait", `select count(*) from events where fanned_out_at is null`)
}

func (w *world) listens(processes int) error {
	return w.none("listeners are missing", `select $1 - count(*) from pg_stat_activity where datname = current_database() and query ilike 'listen%'`, processes)
}

// none is an error unless the count is 0.
func (w *world) none(what, query string, args ...any) error {
	var n int
	if err := w.pool.QueryRow(w.Context(), query, args...).Scan(&n); err != nil {
		return err
	}
	if n != 0 {
		return fmt.Errorf("%d %s", n, what)
	}
	return nil
}
