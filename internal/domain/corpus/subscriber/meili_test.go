package subscriber_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"sync"
	"testing"
	"time"

	"github.com/gatehouse-hq/gatehouse/internal/domain/corpus"
	"github.com/gatehouse-hq/gatehouse/internal/domain/corpus/subscriber"
	"github.com/gatehouse-hq/gatehouse/internal/infra/events"
	"github.com/gatehouse-hq/gatehouse/internal/infra/jobs"
	"github.com/gatehouse-hq/gatehouse/internal/infra/jobs/river"
	"github.com/gatehouse-hq/gatehouse/internal/infra/pg"
	"github.com/gatehouse-hq/gatehouse/internal/infra/pg/pgtest"
	"github.com/gatehouse-hq/gatehouse/internal/infra/search/meili"
	fake "github.com/gatehouse-hq/gatehouse/mock-stack/meili"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

const index = "notes"

// house is notes, bus and queue on a database, and a search engine beside it.
type house struct {
	t      *testing.T
	db     *pg.DB
	notes  *corpus.Domain
	queue  *river.Runtime
	server *fake.Running
}

func newHouse(t *testing.T) *house {
	t.Helper()
	server, err := fake.Start("127.0.0.1:0", "")
	must(t, err)
	t.Cleanup(server.Close)
	engine, err := meili.New(server.URL(), "", meili.Options{Index: index})
	must(t, err)
	url, log := pgtest.URL(t), slog.New(slog.DiscardHandler)
	db, err := pg.Open(t.Context(), url, pg.Options{MaxConns: 40, Application: t.Name()})
	must(t, err)
	bell, listener := events.NewBell(), pg.NewListener(url, log)
	notes := corpus.New(corpus.Deps{DB: db, Recorder: events.NewRecorder(corpus.Types(), bell), Engine: engine, Ring: bell.Ring})
	module := notes.Module(subscriber.New(notes))
	bus, err := events.NewBus(events.Config{DB: db, Bell: bell, URL: url, Listener: listener, Types: module.Types, Subscriptions: module.Subscriptions, Log: log})
	must(t, err)
	queue, err := river.New(db, url, listener, log, river.Config{Kinds: append(module.Kinds, bus.Kinds()...), Queues: jobs.Queues(5),
		Periodics: module.Periodics, Work: true, Role: "all", Version: "test"})
	must(t, err)
	notes.Connect(corpus.Queue{Jobs: queue})
	run(t, db, listener, bus, queue)
	return &house{t: t, db: db, notes: notes, queue: queue, server: server}
}

func run(t *testing.T, db *pg.DB, listener *pg.Listener, bus *events.Bus, queue *river.Runtime) {
	t.Helper()
	ctx, kill := context.WithCancel(context.Background())
	var listening sync.WaitGroup
	listening.Go(func() { listener.Run(ctx) })
	must(t, queue.Start(ctx))
	must(t, bus.Start(ctx, queue))
	t.Cleanup(func() {
		end, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		for _, err := range []error{bus.Stop(end), queue.Stop(end)} {
			if err != nil {
				t.Error(err)
			}
		}
		kill()
		listening.Wait()
		db.Close()
	})
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func (h *house) create(title string) string {
	h.t.Helper()
	r, err := h.notes.Create(h.t.Context(), corpus.NewNote{Genre: corpus.Wiki, Title: title, Body: "plum", Published: true})
	must(h.t, err)
	return r.NoteID
}

// state is what search must hold of a note.
type state struct {
	Version   int64
	Title     string
	Published bool
}

func (h *house) inDatabase() map[string]state {
	h.t.Helper()
	rows, err := h.db.Query(h.t.Context(), `select id::text, version, title, published from public.notes where deleted_at is null`)
	must(h.t, err)
	defer rows.Close()
	out := map[string]state{}
	for rows.Next() {
		var id string
		var s state
		must(h.t, rows.Scan(&id, &s.Version, &s.Title, &s.Published))
		out[id] = s
	}
	must(h.t, rows.Err())
	return out
}

func (h *house) inIndex() map[string]state {
	h.t.Helper()
	out := map[string]state{}
	for id, doc := range h.server.Documents(index) {
		var s state
		raw, err := json.Marshal(doc)
		must(h.t, err)
		must(h.t, json.Unmarshal(raw, &s))
		out[id] = s
	}
	return out
}

// settled waits until search holds what the database does: at most the minute
// that field case F30 allows.
func (h *house) settled(when string) {
	h.t.Helper()
	for end := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
		have, want := h.inIndex(), h.inDatabase()
		if maps.Equal(have, want) {
			return
		}
		if time.Now().After(end) {
			h.t.Fatalf("%s: search holds %v, the database %v", when, have, want)
		}
	}
}

// nothingPrivate: whatever the index holds, visitors find public notes only.
func (h *house) nothingPrivate(when string) {
	h.t.Helper()
	res, err := h.notes.Search(h.t.Context(), corpus.SearchQuery{Text: "plum", PublicOnly: true, Limit: 50})
	if err != nil {
		return // not available is private enough
	}
	now := h.inDatabase()
	for _, hit := range res.Hits {
		if !now[hit.Note.ID].Published {
			h.t.Errorf("%s: visitors find %q", when, hit.Note.Title)
		}
	}
}

// verify runs the periodic comparison, for notes that changed long ago.
func (h *house) verify() {
	h.t.Helper()
	_, err := h.db.Exec(h.t.Context(), `update public.notes set updated_at = updated_at - interval '1 hour', deleted_at = deleted_at - interval '1 hour'`)
	must(h.t, err)
	id, err := h.queue.RunPeriodic(h.t.Context(), "corpus.verify")
	must(h.t, err)
	if state, ok := h.queue.Wait(h.t.Context(), id, time.Minute); !ok || state != jobs.Completed {
		h.t.Fatalf("corpus.verify is %s, %v", state, ok)
	}
}

func (h *house) count(f jobs.Filter) int {
	h.t.Helper()
	page, err := h.queue.List(h.t.Context(), f)
	must(h.t, err)
	return len(page.Jobs)
}

// change unpublishes three of the notes, deletes two and makes a new one.
func (h *house) change(ids []string) {
	h.t.Helper()
	_, err := h.notes.Unpublish(h.t.Context(), ids[:3])
	must(h.t, err)
	_, err = h.notes.Delete(h.t.Context(), ids[3:5])
	must(h.t, err)
	h.create("Late")
}

// Whatever befalls the search engine, after its return the index equals the
// database and no task was given up (field case F30).
func TestIndexEqualsDatabase(t *testing.T) {
	t.Parallel()
	for name, befall := range map[string]func(h *house, ids []string){
		"down during writes": func(h *house, ids []string) {
			must(h.t, h.server.SetOutage(fake.OutageRefuse))
			h.change(ids)
			h.failedOnce()
			must(h.t, h.server.SetOutage(fake.OutageNone))
		},
		"tasks fail after 202": func(h *house, ids []string) {
			h.server.SetTaskFaults(fake.TaskFaults{Fail: 4})
			h.change(ids)
			h.failedOnce()
		},
		"tasks vanish after 202": func(h *house, ids []string) {
			h.server.SetTaskFaults(fake.TaskFaults{Vanish: 4})
			h.change(ids)
			h.failedOnce()
		},
		"wiped": func(h *house, ids []string) {
			h.change(ids)
			h.settled("before the wipe")
			h.server.Wipe()
			h.verify()
		},
		"restored from before": func(h *house, ids []string) {
			h.server.Snapshot("before")
			h.change(ids)
			h.settled("before the restore")
			must(h.t, h.server.Restore("before"))
			h.nothingPrivate("just restored")
			h.verify()
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHouse(t)
			var ids []string
			for n := range 6 {
				ids = append(ids, h.create(fmt.Sprintf("Note %d", n)))
			}
			h.settled("at first")
			befall(h, ids)
			h.nothingPrivate("meanwhile")
			h.settled("in the end")
			h.nothingPrivate("in the end")
			if n := h.count(jobs.Filter{States: []jobs.State{jobs.Discarded}}); n > 0 {
				t.Errorf("%d tasks were given up", n)
			}
		})
	}
}

// failedOnce waits until a task shows its failure.
func (h *house) failedOnce() {
	h.t.Helper()
	for end := time.Now().Add(30 * time.Second); h.count(jobs.Filter{Kind: corpus.IndexKind, Error: "Meilisearch"}) == 0; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			h.t.Fatal("no task shows what happened to it")
		}
	}
}

// A comparison that finds nothing queues nothing, and what has just changed is
// left to its own task.
func TestVerifyLeavesOrderAlone(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.create("Note")
	h.settled("at first")
	h.verify()
	h.server.SetTaskFaults(fake.TaskFaults{Fail: 2})
	h.create("On its way")
	must(t, h.notes.Verify(t.Context()))
	if n := h.count(jobs.Filter{Kind: corpus.ReindexKind}); n != 0 {
		t.Errorf("%d rebuilds were queued", n)
	}
	h.settled("in the end")
}
