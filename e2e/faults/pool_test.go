package faults

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gatehouse-hq/gatehouse/e2e/blackbox"
)

// Every worker of the database-bound queues and the relay stand at a lock of a
// foreign session: visitors still read, and when it lets go all goes on.
func TestWorkersAtALockLeaveVisitorsTheirReserve(t *testing.T) {
	t.Parallel()
	w := newWorld(t, setup{servers: 1, hooks: 2, env: []string{"GATEHOUSE_POOL_SIZE=36"}})
	w.published("Read me")
	w.settled()
	w.load(4, 8)
	w.more(10)
	for _, table := range []string{"search_documents", "webhook_deliveries", "river.river_job"} {
		f := w.hold(table, "exclusive")
		f.reached(1)
		for range 40 {
			w.reads("/wiki/read-me")
		}
		f.release()
	}
	w.more(10)
	w.finish()
}

// A session that has written everywhere and does not end holds up no start: one process more comes up beside it, and nobody
// else stands behind it.
func TestAStartWaitsForNoWriter(t *testing.T) {
	t.Parallel()
	w := newWorld(t, setup{servers: 1, hooks: 1})
	w.published("Before")
	w.settled()
	var tables []string
	w.must(w.pool.QueryRow(t.Context(), `select array_agg(format('%I.%I', schemaname, tablename)) from pg_tables where schemaname in ('public', 'river')`).Scan(&tables))
	if len(tables) < 20 {
		t.Fatalf("only the tables %v", tables)
	}
	f := w.hold(strings.Join(tables, ", "), "row exclusive") // what a write holds until its end
	w.servers = append(w.servers, start(t, w.link.URL(), "GATEHOUSE_SEAL_KEY="+strings.Repeat("5e", 32), "GATEHOUSE_EGRESS_ALLOW=127.0.0.1"))
	w.published("Beside it")
	w.settled()
	w.compareOutbox()
	w.compareReceived()
	f.release()
}

// More requests stand at a lock than the pool has connections. Nobody waits
// for ever: the pool's users are told to try again, and when the lock is gone
// all is as before.
func TestPoolExhaustedByRequests(t *testing.T) {
	t.Parallel()
	w := newWorld(t, setup{servers: 1, hooks: 1, env: []string{"GATEHOUSE_POOL_SIZE=36"}})
	w.published("Read me")
	f := w.hold("notes", "exclusive")
	var crowd sync.WaitGroup
	var mu sync.Mutex
	answers := map[string]int{}
	for n := range 45 {
		crowd.Go(func() {
			err := w.owner.Call(t.Context(), w.servers[0], "corpus.create", map[string]any{"genre": "wiki", "title": fmt.Sprintf("Crowd %d", n)}, nil)
			what := "saved"
			if refused, ok := err.(*blackbox.Refused); ok {
				what = fmt.Sprint(refused.Status)
			} else if err != nil {
				what = "no answer"
			}
			mu.Lock()
			answers[what]++
			mu.Unlock()
		})
	}
	f.reached(20)
	crowd.Wait() // the caller's patience is 30 s
	t.Logf("while the lock was held: %v", answers)
	if answers["no answer"] > 0 {
		t.Errorf("%d requests had no answer in 30 s", answers["no answer"])
	}
	f.release()
	w.must(blackbox.Eventually(t.Context(), 20*time.Second, func() error {
		res, err := http.Get(w.servers[0].URL + "/wiki/read-me")
		if err != nil {
			return err
		}
		defer func() { _ = res.Body.Close() }()
		if res.StatusCode != http.StatusOK {
			return fmt.Errorf("a visitor gets %s", res.Status)
		}
		return nil
	}))
	w.published("After")
	w.settled()
	w.compareOutbox()
	w.compareReceived()
}

// reads is a visitor who does not want to wait.
func (w *world) reads(path string) {
	w.Helper()
	impatient := &http.Client{Timeout: 5 * time.Second}
	res, err := impatient.Get(w.servers[0].URL + path)
	w.must(err)
	defer func() { _ = res.Body.Close() }()
	if res.StatusCode != http.StatusOK {
		w.Errorf("a visitor of %s gets %s", path, res.Status)
	}
}
