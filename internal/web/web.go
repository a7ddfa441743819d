// Package web mounts the faces of Gatehouse and orders what every request
// passes on its way in.
package web

import (
	"context"
	"net/http"
	"time"

	"github.com/go-chi/chi/v5"

	"github.com/gatehouse-hq/gatehouse/internal/web/assets"
	"github.com/gatehouse-hq/gatehouse/internal/web/edge"
	"github.com/gatehouse-hq/gatehouse/internal/web/session"
)

// Faces are the parts that the site is mounted from.
type Faces struct {
	Edge   *edge.Edge
	Gate   *session.Gate
	Assets *assets.Set
	Admin  func(chi.Router) // behind the gate
	API    func(chi.Router) // guards itself: session or token
	MCP    func(chi.Router) // guards itself: token
	Public func(chi.Router) // open to everyone

	// Ready proves that the database answers and has the schema.
	Ready func(context.Context) error
	// Healthy says in one word whether anything is stuck: "ok" or what is wrong.
	Healthy func(context.Context) (verdict string, ok bool, err error)
}

// New returns the handler of the whole site.
func New(f Faces) http.Handler { return f.Edge.Chain(f.routes()) }

func (f Faces) routes() chi.Router {
	r := chi.NewRouter()
	// Before the mounts, which inherit it.
	r.MethodNotAllowed(f.Edge.MethodNotAllowed(func(asked *http.Request) []string { return methods(r, asked.URL.Path) }).ServeHTTP)
	r.Use(headAsGet)
	r.Handle(assets.Prefix+"*", f.Assets.Handler())
	r.Get("/healthz", func(w http.ResponseWriter, _ *http.Request) { answer(w, http.StatusOK, "ok") })
	r.Get("/readyz", f.ready)
	r.Get("/healthz/tasks", f.healthy)
	f.Gate.Routes(r)
	r.Route("/admin", func(r chi.Router) {
		r.Use(f.Gate.Require)
		f.Admin(r)
		r.NotFound(f.Edge.NotFound().ServeHTTP)
	})
	f.API(r)
	f.MCP(r)
	f.Public(r)
	r.NotFound(f.Edge.NotFound().ServeHTTP)
	return r
}

// headAsGet finds for HEAD the route of GET: monitors ask with HEAD, and whatever answers GET answers HEAD (RFC 9110, 9.1).
// The connection leaves the body out. chi's own middleware of that purpose misses the root of a mounted face.
func headAsGet(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodHead {
			chi.RouteContext(r.Context()).RouteMethod = http.MethodGet
		}
		next.ServeHTTP(w, r)
	})
}

// methods are those that the routes take at path. What answers GET answers HEAD.
func methods(routes chi.Routes, path string) []string {
	var taken []string
	for _, m := range []string{http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete} {
		looked := m
		if m == http.MethodHead {
			looked = http.MethodGet
		}
		if routes.Match(chi.NewRouteContext(), looked, path) {
			taken = append(taken, m)
		}
	}
	return taken
}

// probeTime bounds what a health check may wait for.
const probeTime = 5 * time.Second

func (f Faces) ready(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), probeTime)
	defer cancel()
	if err := f.Ready(ctx); err != nil {
		f.Edge.Log.WarnContext(ctx, "not ready", "error", err)
		answer(w, http.StatusServiceUnavailable, "not ready")
		return
	}
	answer(w, http.StatusOK, "ready")
}

func (f Faces) healthy(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), probeTime)
	defer cancel()
	verdict, ok, err := f.Healthy(ctx)
	switch {
	case err != nil:
		f.Edge.Log.WarnContext(ctx, "health cannot be told", "error", err)
		answer(w, http.StatusServiceUnavailable, "unknown")
	case !ok:
		answer(w, http.StatusServiceUnavailable, verdict)
	default:
		answer(w, http.StatusOK, verdict)
	}
}

func answer(w http.ResponseWriter, status int, word string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, _ = w.Write([]byte(word + "\n"))
}
