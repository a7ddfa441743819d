package faults

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/gatehouse-hq/gatehouse/e2e/blackbox"
	"github.com/gatehouse-hq/gatehouse/internal/infra/pg/pgtest"
	"github.com/gatehouse-hq/gatehouse/mock-stack/sink"
)

// world is one scenario's installation: servers on one database, receivers,
// and writers who keep a book of what they were promised.
type world struct {
	*testing.T
	cluster *pgtest.Cluster // nil: the run's shared one
	pool    *pgxpool.Pool   // ours, past the link
	link    *blackbox.Link
	servers []*blackbox.Server
	owner   *blackbox.Owner
	sink    *sink.Sink
	hooks   []string
	book    *book

	stop func() // ends the load
}

type setup struct {
	servers int
	hooks   int
	own     bool // a PostgreSQL of its own, which may be hurt
	durable bool // it loses nothing when it is killed
	clock   int  // seconds its clock is ahead
	env     []string
}

// newWorld starts everything; it is gone with the test.
func newWorld(t *testing.T, s setup) *world {
	t.Helper()
	w := &world{T: t, sink: sink.New(), book: newBook(), stop: func() {}}
	url := ""
	if s.own {
		url = w.ownCluster(s)
	} else {
		url = pgtest.URL(t)
	}
	w.pool = open(t, url)
	var err error
	if w.link, err = blackbox.NewLink(url); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.link.Close)
	web := httptest.NewServer(w.sink)
	t.Cleanup(web.Close)
	// Processes on one database need one key: what one has sealed the other must open.
	env := append([]string{"GATEHOUSE_EGRESS_ALLOW=127.0.0.1", "GATEHOUSE_SEAL_KEY=" + strings.Repeat("5e", 32)}, s.env...)
	for range s.servers {
		w.servers = append(w.servers, start(t, w.link.URL(), env...))
	}
	if w.owner, err = blackbox.SetUp(t.Context(), w.servers[0]); err != nil {
		t.Fatal(err)
	}
	for n := range s.hooks {
		w.hooks = append(w.hooks, hook(n))
		w.sink.SetPlan(hook(n), sink.Plan{})
		w.call("webhooks.create", map[string]any{"url": web.URL + "/hook/" + hook(n), "event_types": []string{"corpus.note.changed"}, "scheme": "hmac"})
	}
	return w
}

func (w *world) ownCluster(s setup) (url string) {
	w.Helper()
	settings := map[string]string{"max_connections": "200"}
	if s.durable {
		for name, value := range pgtest.DurableSettings() {
			settings[name] = value
		}
		// The machine does not lose power, so nothing has to reach the disk; a killed PostgreSQL must find its log.
		settings["fsync"] = "off"
	}
	var env []string
	if s.clock != 0 {
		env = append(env, "LD_PRELOAD="+shiftedClock(w.T, s.clock))
	}
	c, err := pgtest.StartCluster(w.Context(), settings, env...)
	if err != nil {
		w.Fatal(err)
	}
	w.Cleanup(func() {
		if err := c.Stop(context.Background()); err != nil {
			w.Errorf("stop the scenario's PostgreSQL: %v", err)
		}
	})
	w.cluster = c
	return c.URL()
}

// call is the owner acting on the first server, without faults.
func (w *world) call(operation string, in map[string]any) {
	w.Helper()
	if err := w.owner.Call(w.Context(), w.servers[0], operation, in, nil); err != nil {
		w.Fatal(err)
	}
}

func (w *world) must(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

// restart ends a server by do and starts it again.
func (w *world) restart(s *blackbox.Server, end func()) {
	w.Helper()
	end()
	again(w.T, s)
	w.must(s.Ready(w.Context()))
}

// allReady waits until every server answers.
func (w *world) allReady() {
	w.Helper()
	for _, s := range w.servers {
		w.must(s.Ready(w.Context()))
	}
}

// allLost waits until every server has noticed that it cannot work.
func (w *world) allLost() {
	w.Helper()
	for _, s := range w.servers {
		w.must(blackbox.Eventually(w.Context(), 30*time.Second, func() error {
			if s.Answers(w.Context()) == nil {
				return errors.New("the server still says that it is ready")
			}
			return nil
		}))
	}
}

// tellToStop signals s and waits until it says that it stops.
func (w *world) tellToStop(s *blackbox.Server) {
	w.Helper()
	const said = "stopping; a second signal stops at once"
	before := strings.Count(s.Log(1<<20), said)
	w.must(s.Tell(syscall.SIGTERM))
	w.must(blackbox.Eventually(w.Context(), 30*time.Second, func() error {
		if strings.Count(s.Log(1<<20), said) <= before {
			return errors.New("the server does not say that it stops")
		}
		return nil
	}))
}

// load lets n writers work until finish.
func (w *world) load(n int, seed uint64) {
	ctx, stop := context.WithCancel(w.Context())
	var writers sync.WaitGroup
	for i := range n {
		wr := &writer{w: w, n: i, random: rand.New(rand.NewPCG(seed, uint64(i)+2))}
		writers.Go(func() { wr.run(ctx) })
	}
	w.stop = func() {
		stop()
		writers.Wait()
	}
	w.Cleanup(w.stop)
}

// more waits until n more writes were acknowledged.
func (w *world) more(n int) {
	w.Helper()
	target := w.book.acknowledged.Load() + int64(n)
	w.must(blackbox.Eventually(w.Context(), 60*time.Second, func() error {
		if have := w.book.acknowledged.Load(); have < target {
			return fmt.Errorf("%d writes are missing; the last one failed with: %v", target-have, w.book.lastError.Load())
		}
		return nil
	}))
}

// finish ends the load and holds the three ledgers against each other.
func (w *world) finish() {
	w.Helper()
	w.stop()
	w.settled()
	w.compare()
}

// writer creates, changes and deletes notes of its own, and notes what it was promised.
type writer struct {
	w      *world
	n      int
	random *rand.Rand
	mine   []*entry
}

// book is the first ledger: what was acknowledged.
type book struct {
	words        atomic.Int64 // no two writes are of the same word
	acknowledged atomic.Int64
	refused      atomic.Int64
	lastError    atomic.Value

	mu      sync.Mutex
	entries []*entry
}

// entry is what is known of one note.
type entry struct {
	id        string
	published bool
	word      string // the body's, from the last acknowledged write
	writes    int    // acknowledged
	deleted   bool
	doubt     bool // a write was cut off: it may have happened
}

func newBook() *book { return &book{} }

// newWord returns a word that is like no other: search engines forgive typing slips.
func (b *book) newWord() string {
	sum := sha256.Sum256(strconv.AppendInt(nil, b.words.Add(1), 10))
	for i := range sum {
		sum[i] = 'a' + sum[i]%26
	}
	return string(sum[:14])
}

func (wr *writer) run(ctx context.Context) {
	for ctx.Err() == nil {
		call, cancel := context.WithTimeout(ctx, 15*time.Second)
		err := wr.write(call)
		cancel()
		pause := 15 * time.Millisecond
		if err != nil {
			wr.w.book.refused.Add(1)
			wr.w.book.lastError.Store(err.Error())
			pause = 50 * time.Millisecond
		} else {
			wr.w.book.acknowledged.Add(1)
		}
		select {
		case <-ctx.Done():
		case <-time.After(pause):
		}
	}
}

// write does one thing. After an error nobody can say whether it happened.
func (wr *writer) write(ctx context.Context) error {
	w, s := wr.w, wr.w.servers[wr.random.IntN(len(wr.w.servers))]
	word := w.book.newWord()
	what := wr.random.IntN(10)
	if what < 5 || len(wr.mine) == 0 {
		e := &entry{published: wr.random.IntN(3) > 0, word: word, writes: 1}
		var made struct {
			NoteID string `json:"note_id"`
		}
		err := w.owner.Call(ctx, s, "corpus.create", map[string]any{"genre": "wiki", "title": "Note " + word, "body": word, "published": e.published}, &made)
		if err != nil {
			return err
		}
		e.id = made.NoteID
		wr.mine = append(wr.mine, e)
		w.book.add(e)
		return nil
	}
	i := wr.random.IntN(len(wr.mine))
	e := wr.mine[i]
	if what < 9 {
		err := w.owner.Call(ctx, s, "corpus.update", map[string]any{"id": e.id, "body": word}, nil)
		w.book.change(func() {
			if e.doubt = err != nil; err == nil {
				e.word, e.writes = word, e.writes+1
			}
		})
		return err
	}
	err := w.owner.Call(ctx, s, "corpus.delete", map[string]any{"ids": []string{e.id}}, nil)
	wr.mine = append(wr.mine[:i], wr.mine[i+1:]...)
	w.book.change(func() {
		if e.doubt = err != nil; err == nil {
			e.deleted, e.writes = true, e.writes+1
		}
	})
	return err
}

func (b *book) add(e *entry) { b.change(func() { b.entries = append(b.entries, e) }) }

func (b *book) change(f func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	f()
}
