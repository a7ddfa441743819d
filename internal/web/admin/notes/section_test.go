package notes_test

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/go-chi/chi/v5"

	"github.com/gatehouse-hq/gatehouse/internal/domain/corpus"
	"github.com/gatehouse-hq/gatehouse/internal/domain/owner"
	"github.com/gatehouse-hq/gatehouse/internal/domain/tasks"
	"github.com/gatehouse-hq/gatehouse/internal/infra/events"
	"github.com/gatehouse-hq/gatehouse/internal/infra/op"
	"github.com/gatehouse-hq/gatehouse/internal/infra/pg"
	"github.com/gatehouse-hq/gatehouse/internal/infra/pg/pgtest"
	"github.com/gatehouse-hq/gatehouse/internal/infra/search"
	"github.com/gatehouse-hq/gatehouse/internal/web/admin/notes"
	"github.com/gatehouse-hq/gatehouse/internal/web/assets"
	"github.com/gatehouse-hq/gatehouse/internal/web/edge"
	"github.com/gatehouse-hq/gatehouse/internal/web/session"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

const base = "https://shelf.example"

// panel is the section behind the real gate, over a database of its own.
type panel struct {
	db *pg.DB
	*corpus.Domain
	engine  *engine
	handler http.Handler
	cookie  *http.Cookie
}

// engine finds what it was told, or fails.
type engine struct {
	search.Engine
	found []search.Hit
	err   error
}

func (e *engine) Search(context.Context, search.Query) (search.Results, error) {
	return search.Results{Hits: e.found, Total: len(e.found)}, e.err
}

// stream answers with one event, as the bus would.
type stream struct{}

func (stream) ListEvents(_ context.Context, q tasks.EventQuery) (tasks.EventPage, error) {
	e := tasks.Event{}
	e.ID, e.Type, e.Subject, e.Data = "0197d0f0-5f2c-7c3e-9d50-1c9a7f0a4b11", corpus.NoteChanged, q.Subject, json.RawMessage(`{"op":"created"}`)
	return tasks.EventPage{Events: []tasks.Event{e}}, nil
}

// still are the domain's handlers, which nobody runs here.
type still struct{}

func (still) Index(context.Context, events.Event) error      { return nil }
func (still) Reindex(context.Context, json.RawMessage) error { return nil }
func (still) Import(context.Context, json.RawMessage) error  { return nil }

func newPanel(t *testing.T) *panel {
	t.Helper()
	db := pgtest.New(t)
	rec := events.NewRecorder(append(corpus.Types(), owner.Types()...), events.NewBell())
	told := &engine{}
	p := &panel{db: db, Domain: corpus.New(corpus.Deps{DB: db, Recorder: rec, Engine: told}), engine: told}
	root, err := url.Parse(base)
	must(t, err)
	e := edge.New(edge.Config{Assets: assets.New(), Log: slog.New(slog.NewTextHandler(io.Discard, nil)), BaseURL: root, Messages: notes.Messages()})
	people := owner.New(db, rec)
	gate := session.New(people, e, false)
	set, err := op.Collect(p.Module(still{}).Ops...)
	must(t, err)
	r := chi.NewRouter()
	r.Route("/admin", func(r chi.Router) {
		r.Use(gate.Require)
		notes.New(p.Domain, stream{}, op.NewPlans(db, set), e).Routes(r)
	})
	r.NotFound(e.NotFound().ServeHTTP)
	p.handler = e.Chain(r)
	must(t, people.FixSetupToken(t.Context(), "a one-time token", false))
	token, err := people.SetUp(t.Context(), "a one-time token", "o@shelf.example", "correct horse battery", owner.Visit{Address: "192.0.2.1"})
	must(t, err)
	p.cookie = &http.Cookie{Name: "gatehouse", Value: token}
	return p
}

func (p *panel) send(r *http.Request) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	p.handler.ServeHTTP(w, r)
	return w
}

func (p *panel) get(path string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(http.MethodGet, base+path, nil)
	r.AddCookie(p.cookie)
	return p.send(r)
}

func (p *panel) post(path string, form url.Values) *httptest.ResponseRecorder {
	r := httptest.NewRequest(http.MethodPost, base+path, strings.NewReader(form.Encode()))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.AddCookie(p.cookie)
	return p.send(r)
}

// put creates a note past the panel.
func (p *panel) put(t *testing.T, n corpus.NewNote) corpus.Note {
	t.Helper()
	receipt, err := p.Create(t.Context(), n)
	must(t, err)
	return p.read(t, receipt.NoteID)
}

func (p *panel) read(t *testing.T, id string) corpus.Note {
	t.Helper()
	n, err := p.Get(t.Context(), id)
	must(t, err)
	return n
}

func wiki(title, body string) corpus.NewNote {
	return corpus.NewNote{Genre: corpus.Wiki, Title: title, Body: body}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func equal[T comparable](t *testing.T, want, got T, what string) {
	t.Helper()
	if got != want {
		t.Errorf("%s: got %v, want %v", what, got, want)
	}
}

func contains(t *testing.T, body string, wanted ...string) {
	t.Helper()
	for _, w := range wanted {
		if !strings.Contains(body, w) {
			t.Errorf("the page does not hold %q", w)
		}
	}
}

func lacks(t *testing.T, body string, unwanted ...string) {
	t.Helper()
	for _, w := range unwanted {
		if strings.Contains(body, w) {
			t.Errorf("the page holds %q", w)
		}
	}
}
