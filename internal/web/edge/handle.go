package edge

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strings"

	"github.com/gatehouse-hq/gatehouse/internal/web/ui"
)

// Handler answers a request or says why it could not. It writes nothing before it returns
// an error.
type Handler func(w http.ResponseWriter, r *http.Request) error

// BodyLimit is how many bytes of a request's body Handle lets a handler read.
const BodyLimit = 1 << 20

// Handle is the one place where a handler's error becomes an answer.
func (e *Edge) Handle(h Handler) http.Handler { return e.HandleSized(BodyLimit, h) }

// HandleSized is Handle for bodies of at most limit bytes, counted as they are read.
// Uploads and long notes need it.
func (e *Edge) HandleSized(limit int64, h Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Body != nil {
			r.Body = http.MaxBytesReader(w, r.Body, limit)
		}
		// What an upload spilled to temporary files goes with the request. net/http knows of no form: it holds the request
		// as it was before the chain put its context in.
		defer func() {
			if r.MultipartForm != nil {
				_ = r.MultipartForm.RemoveAll() // of no use to anyone any more, and the system empties its directory too
			}
		}()
		if err := h(w, r); err != nil {
			e.Fail(w, r, err)
		}
	})
}

// NotFound answers what no route matches.
func (e *Edge) NotFound() http.Handler {
	return e.Handle(func(http.ResponseWriter, *http.Request) error { return ErrNotFound })
}

// MethodNotAllowed answers a method that the address does not take; allowed are
// those that it takes.
func (e *Edge) MethodNotAllowed(allowed func(*http.Request) []string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Allow", strings.Join(allowed(r), ", "))
		e.writeProblem(w, r, methodRefused())
	})
}

// Fail answers with what err means. Middleware that is not a Handler, such as the sign-in
// gate, calls it directly. Faults of ours are logged here and nowhere else; what a person
// sees never contains the text of an error, only messages written for people.
func (e *Edge) Fail(w http.ResponseWriter, r *http.Request, err error) {
	if errors.Is(err, context.Canceled) && r.Context().Err() != nil {
		return // the client is gone
	}
	p := classify(err)
	if p.status >= http.StatusInternalServerError {
		e.Log.ErrorContext(r.Context(), "request failed", "request_id", RequestID(r.Context()),
			"method", r.Method, "path", r.URL.Path, "status", p.status, "error", err)
	}
	if p.status == http.StatusUnauthorized && asksForPage(r) {
		_ = SeeOther(w, r, "/login?next="+url.QueryEscape(r.URL.RequestURI()))
		return
	}
	e.writeProblem(w, r, p)
}

// asksForPage tells a page from a part of one and from an event stream, which cannot be sent to another page.
func asksForPage(r *http.Request) bool {
	return (r.Method == http.MethodGet || r.Method == http.MethodHead) && r.Header.Get("HX-Request") == "" && r.Header.Get("Accept") != "text/event-stream"
}

func (e *Edge) writeProblem(w http.ResponseWriter, r *http.Request, p problem) {
	page := ui.Problem{Title: p.title, What: p.what, Next: p.next, Links: []ui.Link{{Label: "Front page", Href: "/"}}}
	if strings.HasPrefix(r.URL.Path, "/admin/") { // the owner goes on where the owner was
		page.Links = append([]ui.Link{{Label: "Overview", Href: "/admin/"}}, page.Links...)
	}
	if p.status >= http.StatusInternalServerError {
		page.RequestID = RequestID(r.Context())
	}
	if r.Method == http.MethodPost {
		page.Links = []ui.Link{{Label: "Back to the page", Href: e.ownPath(r, r.Referer(), "/")}}
		page.Typed = typed(r)
		if p.again {
			page.Retry = r.URL.RequestURI()
		}
	}
	if p.status == http.StatusUnauthorized {
		page.Links = []ui.Link{{Label: "Sign in", Href: "/login"}}
	}
	if p.retryAfter != "" {
		w.Header().Set("Retry-After", p.retryAfter)
	}
	if err := Render(w, r, p.status, ui.ProblemPage(page)); err != nil {
		e.Log.ErrorContext(r.Context(), "rendering an error page", "request_id", RequestID(r.Context()), "error", err)
		http.Error(w, p.title, p.status)
	}
}
