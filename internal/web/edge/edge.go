package edge

import (
	"compress/gzip"
	"context"
	"crypto/rand"
	"encoding/hex"
	"io"
	"log/slog"
	"net/http"
	"net/netip"
	"net/url"
	"runtime/debug"
	"sync"
	"time"

	"github.com/gatehouse-hq/gatehouse/internal/web/assets"
	"github.com/gatehouse-hq/gatehouse/internal/web/ui"
)

// Config is what an Edge is made from. Assets, Log and BaseURL are required.
type Config struct {
	Assets         *assets.Set
	Log            *slog.Logger
	BaseURL        *url.URL       // where the outside reaches us; https turns on HSTS and Secure cookies
	TrustedProxies []netip.Prefix // whose X-Forwarded-For is believed
	Messages       map[string]Message

	// Site says what the place is called; nil means the defaults. It is asked on each
	// request, so it must not wait for anything.
	Site func(context.Context) ui.Site
	// Now is time.Now when nil.
	Now func() time.Time
	// OnRequest may put the request id into the context for others, such as the logger
	// and the cause of an event; nil does nothing.
	OnRequest func(ctx context.Context, requestID string) context.Context
}

// Edge wraps handlers. It is immutable after New and safe for concurrent use.
type Edge struct {
	Config
	zippers sync.Pool // *gzip.Writer: a new one costs several hundred kilobytes
}

// New returns an Edge.
func New(c Config) *Edge {
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Site == nil {
		c.Site = func(context.Context) ui.Site { return ui.Site{BaseURL: trimSlash(c.BaseURL)} }
	}
	e := &Edge{Config: c}
	e.zippers.New = func() any { return gzip.NewWriter(io.Discard) }
	return e
}

// passage is what the edge knows of the request that is passing.
type passage struct {
	edge      *Edge
	requestID string
	client    netip.Addr
}

type passageKey struct{}

func passageOf(ctx context.Context) passage {
	p, _ := ctx.Value(passageKey{}).(passage)
	return p
}

// RequestID returns the id of the request that ctx belongs to, "" outside the chain.
func RequestID(ctx context.Context) string { return passageOf(ctx).requestID }

// ClientIP returns the address the request came from, seen through trusted proxies. It is
// the zero Addr outside the chain.
func ClientIP(ctx context.Context) netip.Addr { return passageOf(ctx).client }

// Chain wraps the whole mux.
func (e *Edge) Chain(next http.Handler) http.Handler {
	guarded := e.crossOrigin(next)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		id := newRequestID()
		w.Header().Set("X-Request-Id", id)
		e.secure(w.Header())

		ctx := context.WithValue(r.Context(), passageKey{}, passage{
			edge: e, requestID: id, client: clientIP(r, e.TrustedProxies),
		})
		if e.OnRequest != nil {
			ctx = e.OnRequest(ctx, id)
		}
		ctx = ui.WithEnv(ctx, ui.Env{
			Assets: e.Assets, Now: e.Now(), Site: e.Site(ctx), RequestID: id, Path: e.pagePath(r),
		})
		r = r.WithContext(ctx)

		tracked := &trackedWriter{ResponseWriter: w}
		defer e.recoverPanic(tracked, r)
		guarded.ServeHTTP(tracked, r)
	})
}

// recoverPanic turns a panic into a calm page, or, when a part of an answer is already out,
// cuts the connection so that the part is not taken for the whole.
func (e *Edge) recoverPanic(w *trackedWriter, r *http.Request) {
	cause := recover()
	if cause == nil {
		return
	}
	if cause == http.ErrAbortHandler {
		panic(cause)
	}
	e.Log.ErrorContext(r.Context(), "request panicked", "request_id", RequestID(r.Context()),
		"method", r.Method, "path", r.URL.Path, "panic", cause, "stack", string(debug.Stack()))
	if w.wrote {
		panic(http.ErrAbortHandler)
	}
	e.writeProblem(w, r, broken())
}

// trackedWriter remembers whether an answer has begun. Unwrap and Flush keep flushing and
// deadlines reachable for event streams.
type trackedWriter struct {
	http.ResponseWriter
	wrote bool
}

func (w *trackedWriter) WriteHeader(status int) {
	w.wrote = w.wrote || status >= 200
	w.ResponseWriter.WriteHeader(status)
}

func (w *trackedWriter) Write(p []byte) (int, error) {
	w.wrote = true
	return w.ResponseWriter.Write(p)
}

// Flush implements http.Flusher for handlers that ask for it by assertion.
func (w *trackedWriter) Flush() {
	w.wrote = true
	// An underlying writer that cannot flush sends the bytes when the handler ends.
	_ = http.NewResponseController(w.ResponseWriter).Flush()
}

// Unwrap lets http.ResponseController reach the connection.
func (w *trackedWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func newRequestID() string {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails since Go 1.24
	return hex.EncodeToString(b[:])
}

// pagePath is the page that a form in this answer returns to: the request itself, or, when
// the answer is a part of a page or a form shown again, the page that asked.
func (e *Edge) pagePath(r *http.Request) string {
	if current := r.Header.Get("HX-Current-URL"); current != "" {
		return e.ownPath(r, current, r.URL.Path)
	}
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		return e.ownPath(r, r.Referer(), r.URL.Path)
	}
	return r.URL.RequestURI()
}

func trimSlash(u *url.URL) string {
	if u == nil {
		return ""
	}
	clean := *u
	clean.Path, clean.RawQuery, clean.Fragment = "", "", ""
	return clean.String()
}
