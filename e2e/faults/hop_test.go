package faults

import (
	"errors"
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/gatehouse-hq/gatehouse/e2e/blackbox"
	"github.com/gatehouse-hq/gatehouse/internal/infra/pg/pgtest"
	"github.com/gatehouse-hq/gatehouse/mock-stack/sink"
)

// hops are the places between a commit and the outside at which work can be
// stopped: by a lock on the table that the next step writes.
func hops() map[string]string {
	return map[string]string{
		"in the middle of a relay pass":   "river.river_job",
		"in the middle of an index task":  "search_documents",
		"in the middle of a fan-out task": "webhook_deliveries",
		"before a delivery's attempt":     "webhook_endpoint_state",
		"before an attempt is logged":     "webhook_attempts",
	}
}

// Both servers are killed at each hop, with work standing in it.
func TestKilledAtEachHop(t *testing.T) {
	t.Parallel()
	w := newWorld(t, setup{servers: 2, hooks: 2})
	w.load(3, 3)
	for where, table := range hops() {
		w.more(15)
		t.Log(where)
		f := w.hold(table, "exclusive")
		f.reached(1)
		for _, s := range w.servers {
			w.must(s.Tell(syscall.SIGKILL))
		}
		for _, s := range w.servers {
			s.Signal(syscall.SIGKILL)
			again(t, s)
		}
		f.release()
		w.allReady()
	}
	w.more(15)
	w.finish()
}

// A signal to stop comes while work of each kind stands at a hop: it ends
// within its grace, the process says so with exit code 0, and nothing is done twice.
func TestStoppedAtEachHop(t *testing.T) {
	t.Parallel()
	w := newWorld(t, setup{servers: 1, hooks: 2})
	s := w.servers[0]
	for where, table := range hops() {
		t.Log(where)
		w.load(3, 4)
		w.more(10)
		f := w.hold(table, "exclusive")
		f.reached(1)
		w.tellToStop(s) // the stop stands at the lock as well
		f.release()
		w.stop()
		w.endsWith(s, 0, 25*time.Second)
		again(t, s)
		w.must(s.Ready(t.Context()))
	}
	w.finish()
	if n := w.repeats(); n > 0 {
		t.Errorf("%d requests were made twice by orderly stops", n)
	}
}

func (w *world) endsWith(s *blackbox.Server, want int, most time.Duration) {
	w.Helper()
	code, err := s.Ended(most)
	if err != nil {
		w.Fatal(err)
	}
	if code != want {
		w.Errorf("the process ended with %d, want %d: %s", code, want, s.Log(2000))
	}
}

// repeats counts requests whose id had come before.
func (w *world) repeats() (n int) {
	for _, name := range w.hooks {
		for _, times := range w.sink.IDs(name) {
			n += times - 1
		}
	}
	return n
}

// published makes one public note, and with it one event for the receivers.
func (w *world) published(title string) {
	w.Helper()
	w.call("corpus.create", map[string]any{"genre": "wiki", "title": title, "body": title, "published": true})
}

// A stop waits for a delivery under way: one request in total, and the next
// process does not repeat it (field case F09).
func TestStoppedDuringADelivery(t *testing.T) {
	t.Parallel()
	w := newWorld(t, setup{servers: 1, hooks: 1})
	s, name := w.servers[0], w.hooks[0]
	w.sink.SetPlan(name, sink.Plan{Steps: []sink.Step{{Status: 200, Delay: sink.Duration(3 * time.Second)}}})
	w.published("First")
	w.published("Second")
	w.must(blackbox.Eventually(t.Context(), 20*time.Second, func() error { return w.inFlight(name) }))
	s.Signal(syscall.SIGTERM)
	w.endsWith(s, 0, 0)
	if got := w.sink.Count(name); got.Requests != 1 || got.InFlight != 0 {
		t.Errorf("while the stop waited: %d requests, %d not answered", got.Requests, got.InFlight)
	}
	w.sink.SetPlan(name, sink.Plan{})
	again(t, s)
	w.settled()
	w.compareOutbox()
	w.compareReceived()
	if got := w.sink.Count(name); got.Requests != 2 {
		t.Errorf("%d requests for two events", got.Requests)
	}
}

// The second signal does not wait; what was cut off is done again, under the
// same id (field case F09).
func TestSecondSignalForcesTheStop(t *testing.T) {
	t.Parallel()
	w := newWorld(t, setup{servers: 1, hooks: 1})
	s, name := w.servers[0], w.hooks[0]
	w.sink.SetPlan(name, sink.Plan{Steps: []sink.Step{{Status: 200, Delay: sink.Duration(9 * time.Second)}}})
	w.published("First")
	w.must(blackbox.Eventually(t.Context(), 20*time.Second, func() error { return w.inFlight(name) }))
	w.must(s.Tell(syscall.SIGTERM))
	w.must(blackbox.Eventually(t.Context(), 5*time.Second, func() error { return s.Said("a second signal stops at once") }))
	w.must(s.Tell(syscall.SIGTERM))
	if _, err := s.Ended(7 * time.Second); err != nil {
		t.Fatal(err)
	}
	w.sink.SetPlan(name, sink.Plan{})
	again(t, s)
	w.settled()
	w.compareOutbox()
	w.compareReceived()
	if got := w.sink.Count(name); got.DistinctIDs != 1 || got.Requests != 2 {
		t.Errorf("%d requests with %d ids, want 2 with one", got.Requests, got.DistinctIDs)
	}
}

func (w *world) inFlight(name string) error {
	if w.sink.Count(name).InFlight == 0 {
		return errors.New("no request is under way")
	}
	return nil
}

// Two processes are replaced one after the other, again and again, under load:
// by a service manager, by Ctrl-C, by a terminal that is closed.
func TestRollingRestart(t *testing.T) {
	t.Parallel()
	w := newWorld(t, setup{servers: 2, hooks: 2})
	w.load(4, 5)
	for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP} {
		for _, s := range w.servers {
			w.more(15)
			w.restart(s, func() {
				s.Signal(sig)
				w.endsWith(s, 0, 0)
			})
		}
	}
	w.more(15)
	w.finish()
	if n := w.repeats(); n > 0 {
		t.Errorf("%d requests were made twice by orderly restarts", n)
	}
}

// What was started to outlive its terminal does.
func TestNohupOutlivesTheTerminal(t *testing.T) {
	t.Parallel()
	s, err := blackbox.Prepare(binary(), pgtest.URL(t), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	s.Wrap("nohup")
	t.Cleanup(func() { s.Signal(syscall.SIGKILL) })
	again(t, s)
	for _, err := range []error{s.Ready(t.Context()), s.Tell(syscall.SIGHUP), s.Answers(t.Context())} {
		if err != nil {
			t.Fatal(err)
		}
	}
	s.Signal(syscall.SIGTERM)
	code, err := s.Ended(0)
	if code != 0 || err != nil || strings.Count(s.Log(1<<20), "stopping;") != 1 {
		t.Errorf("ended with %d, %v: %s", code, err, s.Log(2000))
	}
}

// A rebuild of the index and an import under way are stopped: the next process
// brings them to their end.
func TestStoppedDuringReindexAndImport(t *testing.T) {
	t.Parallel()
	w := newWorld(t, setup{servers: 1})
	s := w.servers[0]
	for n := range 20 {
		w.published(fmt.Sprintf("Kept %d", n))
	}
	w.settled()
	f := w.hold("search_documents", "exclusive")
	w.call("corpus.reindex", map[string]any{})
	f.reached(1)
	w.tellToStop(s)
	f.release()
	w.endsWith(s, 0, 25*time.Second)
	again(t, s)
	w.must(s.Ready(t.Context()))
	w.settled()

	f = w.hold("notes", "exclusive")
	var files []map[string]any
	for n := range 50 {
		files = append(files, map[string]any{"path": fmt.Sprintf("Vault/Brought %d.md", n), "text": fmt.Sprintf("brought%d", n)})
	}
	imported := make(chan error, 1)
	in := map[string]any{"name": "Vault", "files": files, "publish_default": true}
	go func() { imported <- w.owner.Call(t.Context(), s, "corpus.import", in, nil) }()
	f.reached(1)
	w.tellToStop(s)
	f.release()
	w.endsWith(s, 0, 25*time.Second)
	err := <-imported
	t.Logf("the import that the stop met: %v", err)
	again(t, s)
	w.must(s.Ready(t.Context()))
	// Whatever came of it, the same files again bring the rest and nothing twice.
	w.must(w.owner.Call(t.Context(), s, "corpus.import", in, nil))
	w.settled()
	w.must(w.none("notes are missing or there twice", `select abs(50 - count(*)) from notes where title like 'Brought %' and deleted_at is null`))
	w.must(w.none("notes are not in the index", `select count(*) from notes n left join search_documents d on d.id = n.id and d.version = n.version where n.deleted_at is null and not n.folder and d.id is null`))
}
