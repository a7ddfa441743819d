// Package webtest is the site as a browser meets it, for tests of its faces:
// the edge's chain, the sign-in gate, and an owner who is signed in.
package webtest

import (
	"bytes"
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-chi/chi/v5"

	"github.com/gatehouse-hq/gatehouse/internal/domain/owner"
	"github.com/gatehouse-hq/gatehouse/internal/web/assets"
	"github.com/gatehouse-hq/gatehouse/internal/web/edge"
	"github.com/gatehouse-hq/gatehouse/internal/web/session"
)

// Password is the owner's.
const Password = "a long enough password"

// House is a site in a test.
type House struct {
	Edge   *edge.Edge
	Gate   *session.Gate
	Router *chi.Mux
	Log    *Log
	cookie *http.Cookie
	served http.Handler
}

// New sets the owner up and signs in. Mount what is tested on Router.
func New(t testing.TB, o *owner.Domain, messages map[string]edge.Message) *House {
	t.Helper()
	ctx := context.Background()
	link, err := o.SetupLink(ctx, false)
	if err != nil {
		t.Fatal(err)
	}
	token, err := o.SetUp(ctx, link, "ada@example.com", Password, owner.Visit{Address: "192.0.2.1", UserAgent: "test"})
	if err != nil {
		t.Fatal(err)
	}
	h := &House{Router: chi.NewRouter(), Log: &Log{}, cookie: &http.Cookie{Name: "gatehouse", Value: token}}
	h.Edge = edge.New(edge.Config{Assets: assets.New(), Log: slog.New(slog.NewTextHandler(h.Log, nil)),
		BaseURL: &url.URL{Scheme: "http", Host: "site.example"}, Messages: messages})
	h.Gate = session.New(o, h.Edge, false)
	h.served = h.Edge.Chain(h.Router)
	return h
}

// Owner sends a request as the signed-in owner's browser.
func (h *House) Owner(r *http.Request) *httptest.ResponseRecorder {
	r.AddCookie(h.cookie)
	return h.Stranger(r)
}

// Stranger sends a request without a session.
func (h *House) Stranger(r *http.Request) *httptest.ResponseRecorder {
	r.Host = "site.example"
	w := httptest.NewRecorder()
	h.served.ServeHTTP(w, r)
	return w
}

// Serve answers over a real connection, as streams need it, with the owner's
// cookie on every request.
func (h *House) Serve(t testing.TB, writeTimeout time.Duration) *httptest.Server {
	t.Helper()
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.AddCookie(h.cookie)
		h.served.ServeHTTP(w, r)
	}))
	s.Config.WriteTimeout = writeTimeout
	s.Start()
	t.Cleanup(s.Close)
	return s
}

// Get is a page's request.
func Get(path string) *http.Request { return httptest.NewRequest(http.MethodGet, path, nil) }

// Post is a form of our own site; fields alternate names and values.
func Post(path string, fields ...string) *http.Request {
	v := url.Values{}
	for i := 0; i+1 < len(fields); i += 2 {
		v.Add(fields[i], fields[i+1])
	}
	r := httptest.NewRequest(http.MethodPost, path, strings.NewReader(v.Encode()))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("Sec-Fetch-Site", "same-origin")
	return r
}

// Log collects what the site logs.
type Log struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *Log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *Log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}
