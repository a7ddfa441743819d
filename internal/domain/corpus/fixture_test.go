package corpus_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"sync"
	"testing"

	"github.com/gatehouse-hq/gatehouse/internal/domain/corpus"
	"github.com/gatehouse-hq/gatehouse/internal/domain/corpus/subscriber"
	"github.com/gatehouse-hq/gatehouse/internal/infra/events"
	"github.com/gatehouse-hq/gatehouse/internal/infra/op"
	"github.com/gatehouse-hq/gatehouse/internal/infra/pg"
	"github.com/gatehouse-hq/gatehouse/internal/infra/pg/pgtest"
	"github.com/gatehouse-hq/gatehouse/internal/infra/search"
	"github.com/gatehouse-hq/gatehouse/internal/infra/search/postgres"
)

func TestMain(m *testing.M) { pgtest.Main(m, pgtest.NoLeaks) }

// house is one database with the corpus in it.
type house struct {
	t      testing.TB
	db     *pg.DB
	notes  *corpus.Domain
	engine *flakyEngine
	seen   int64 // events up to this seq were asserted already
}

func newHouse(t testing.TB) *house {
	t.Helper()
	db := pgtest.New(t)
	bell := events.NewBell()
	engine := &flakyEngine{Engine: postgres.New(db)}
	notes := corpus.New(corpus.Deps{DB: db, Recorder: events.NewRecorder(corpus.Types(), bell), Engine: engine, Ring: bell.Ring})
	return &house{t: t, db: db, notes: notes, engine: engine}
}

// flakyEngine fails on demand.
type flakyEngine struct {
	search.Engine
	mu   sync.Mutex
	down bool
	hook func(docs []search.Document) // before an upsert
}

func (e *flakyEngine) set(down bool, hook func([]search.Document)) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.down, e.hook = down, hook
}

func (e *flakyEngine) Upsert(ctx context.Context, docs []search.Document) error {
	e.mu.Lock()
	down, hook := e.down, e.hook
	e.mu.Unlock()
	if down {
		return errors.New("the engine is down")
	}
	if hook != nil {
		hook(docs)
	}
	return e.Engine.Upsert(ctx, docs)
}

func (h *house) create(in corpus.NewNote) corpus.Note {
	h.t.Helper()
	if in.Genre == "" {
		in.Genre = corpus.Wiki
	}
	r, err := h.notes.Create(h.t.Context(), in)
	if err != nil {
		h.t.Fatalf("create %q: %v", in.Title, err)
	}
	return h.get(r.NoteID)
}

func (h *house) get(id string) corpus.Note {
	h.t.Helper()
	n, err := h.notes.Get(h.t.Context(), id)
	if err != nil {
		h.t.Fatalf("get %s: %v", id, err)
	}
	return n
}

func (h *house) update(c corpus.Change) corpus.Note {
	h.t.Helper()
	if _, err := h.notes.Update(h.t.Context(), c); err != nil {
		h.t.Fatalf("update: %v", err)
	}
	return h.get(c.ID)
}

func (h *house) exec(sql string, args ...any) {
	h.t.Helper()
	if _, err := h.db.Exec(h.t.Context(), sql, args...); err != nil {
		h.t.Fatalf("%s: %v", sql, err)
	}
}

// pending reads the events since the last call.
func (h *house) pending() []events.Event {
	h.t.Helper()
	rows, err := h.db.Query(h.t.Context(), `select id::text, seq, type, subject, data from public.events where seq > $1 order by seq`, h.seen)
	if err != nil {
		h.t.Fatal(err)
	}
	defer rows.Close()
	var out []events.Event
	for rows.Next() {
		var e events.Event
		if err := rows.Scan(&e.ID, &e.Seq, &e.Type, &e.Subject, &e.Data); err != nil {
			h.t.Fatal(err)
		}
		h.seen = e.Seq
		out = append(out, e)
	}
	return out
}

// forget leaves the events so far out of what follows.
func (h *house) forget() { h.pending() }

// recorded asserts exactly which events were born since the last call, in any
// order: "created wiki://a", "writing.published writing://b".
func (h *house) recorded(want ...string) {
	h.t.Helper()
	got := []string{}
	for _, e := range h.pending() {
		name := e.Type
		if e.Type == corpus.NoteChanged {
			name = fields(h.t, e).Op
		}
		got = append(got, name+" "+e.Subject)
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		h.t.Errorf("recorded events:\n got %q\nwant %q", got, want)
	}
}

type changedFields struct {
	Op           string  `json:"op"`
	NoteID       string  `json:"note_id"`
	Genre        string  `json:"genre"`
	ParentID     *string `json:"parent_id"`
	Published    bool    `json:"published"`
	WasPublished bool    `json:"was_published"`
	PathChanged  bool    `json:"path_changed"`
}

func fields(t testing.TB, e events.Event) changedFields {
	t.Helper()
	var f changedFields
	if err := json.Unmarshal(e.Data, &f); err != nil {
		t.Fatal(err)
	}
	return f
}

// index does what the relay and the queue do: each event its job.
func (h *house) index() {
	h.t.Helper()
	for _, e := range h.pending() {
		if e.Type != corpus.NoteChanged {
			continue
		}
		if err := subscriber.New(h.notes).Index(h.t.Context(), e); err != nil {
			h.t.Fatalf("index %s: %v", e.Subject, err)
		}
	}
}

// found are the titles that a search gives, in order.
func (h *house) found(text string, publicOnly bool) []string {
	h.t.Helper()
	res, err := h.notes.Search(h.t.Context(), corpus.SearchQuery{Text: text, PublicOnly: publicOnly})
	if err != nil {
		h.t.Fatalf("search %q: %v", text, err)
	}
	out := []string{}
	for _, hit := range res.Hits {
		out = append(out, hit.Note.Title)
	}
	return out
}

func same[T comparable](t testing.TB, what string, got, want []T) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s: got %v, want %v", what, got, want)
	}
}

// refused asserts the code and field of an error.
func refused(t testing.TB, err error, code op.Code, field string) {
	t.Helper()
	var e *op.Error
	if !errors.As(err, &e) || op.CodeOf(err) != code || e.Field() != field {
		t.Errorf("got error %v, want %s at field %q", err, code, field)
	}
}
