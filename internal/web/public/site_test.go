package public_test

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/go-chi/chi/v5"

	"github.com/gatehouse-hq/gatehouse/internal/domain/corpus"
	"github.com/gatehouse-hq/gatehouse/internal/infra/events"
	"github.com/gatehouse-hq/gatehouse/internal/infra/pg"
	"github.com/gatehouse-hq/gatehouse/internal/infra/pg/pgtest"
	"github.com/gatehouse-hq/gatehouse/internal/infra/search"
	"github.com/gatehouse-hq/gatehouse/internal/web/assets"
	"github.com/gatehouse-hq/gatehouse/internal/web/edge"
	"github.com/gatehouse-hq/gatehouse/internal/web/public"
	"github.com/gatehouse-hq/gatehouse/internal/web/ui"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

const base = "https://shelf.example"

// site is the public face over a database of its own.
type site struct {
	*corpus.Domain
	db      *pg.DB
	engine  *engine
	handler http.Handler
}

// engine finds every document it is told to, whether visitors may see it or not.
type engine struct{ found []search.Hit }

func (e *engine) Name() string                                          { return "told" }
func (e *engine) Upsert(context.Context, []search.Document) error       { return nil }
func (e *engine) Remove(context.Context, []string) error                { return nil }
func (e *engine) Each(context.Context, func([]search.Held) error) error { return nil }
func (e *engine) Check(context.Context) error                           { return nil }
func (e *engine) Prepare(context.Context) error                         { return nil }
func (e *engine) Search(_ context.Context, q search.Query) (search.Results, error) {
	hits := e.found[min(q.Offset, len(e.found)):]
	return search.Results{Hits: hits[:min(q.Limit, len(hits))], Total: len(e.found)}, nil
}

func newSite(t *testing.T) *site {
	t.Helper()
	db := pgtest.New(t)
	found := &engine{}
	domain := corpus.New(corpus.Deps{DB: db, Recorder: events.NewRecorder(corpus.Types(), events.NewBell()), Engine: found})
	root, err := url.Parse(base)
	must(t, err)
	set := assets.New()
	e := edge.New(edge.Config{
		Assets: set, Log: slog.New(slog.NewTextHandler(io.Discard, nil)), BaseURL: root,
		Site: func(context.Context) ui.Site {
			return ui.Site{Title: "A Quiet Shelf", Tagline: "Slow notes.", BaseURL: base}
		},
	})
	r := chi.NewRouter()
	public.New(domain, e, func(next http.Handler) http.Handler { return next }).Routes(r)
	r.NotFound(e.NotFound().ServeHTTP)
	return &site{Domain: domain, db: db, engine: found, handler: e.Chain(r)}
}

func (s *site) create(t *testing.T, n corpus.NewNote) corpus.Receipt {
	t.Helper()
	receipt, err := s.Create(t.Context(), n)
	must(t, err)
	return receipt
}

func (s *site) ask(t *testing.T, method, path string, headers ...string) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequest(method, base+path, nil)
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	s.handler.ServeHTTP(w, r)
	return w
}

func (s *site) get(t *testing.T, path string, headers ...string) *httptest.ResponseRecorder {
	t.Helper()
	return s.ask(t, http.MethodGet, path, headers...)
}

// page is the body of a page that must be there.
func (s *site) page(t *testing.T, path string) string {
	t.Helper()
	w := s.get(t, path)
	equal(t, http.StatusOK, w.Code, path)
	return w.Body.String()
}

func wiki(title, body string) corpus.NewNote {
	return corpus.NewNote{Genre: corpus.Wiki, Title: title, Body: body, Published: true}
}

func writing(title, body string) corpus.NewNote {
	return corpus.NewNote{Genre: corpus.Writing, Title: title, Body: body, Published: true}
}

func private(n corpus.NewNote) corpus.NewNote {
	n.Published = false
	return n
}

func contains(t *testing.T, body string, wanted ...string) {
	t.Helper()
	for _, w := range wanted {
		if !strings.Contains(body, w) {
			t.Errorf("the page does not hold %q", w)
		}
	}
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

func lacks(t *testing.T, body string, unwanted ...string) {
	t.Helper()
	for _, w := range unwanted {
		if strings.Contains(body, w) {
			t.Errorf("the page holds %q", w)
		}
	}
}
