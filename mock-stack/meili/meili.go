// Package meili is a fake Meilisearch, faithful in what meilisearch-go v0.37 and a search index of notes use: writes are
// asynchronous tasks that may fail after the 202, the primary key is inferred exactly as badly, filters need declared
// attributes. It is laxer than the real engine in one thing: a CJK query matches any substring, where the real one
// matches the words its dictionary finds.
package meili

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"
)

// version is the engine whose answers were copied.
const version = "1.13.3"

// maxPayload is the real default limit of a document payload.
const maxPayload = 100 << 20

// Server is an http.Handler for the whole API and, under /__mock/meili, for its control routes. Use New.
type Server struct {
	key string
	mux *http.ServeMux
	now func() time.Time

	mu        sync.Mutex
	store     store
	tasks     []*task
	done      int // tasks before this one are finished
	faults    faults
	snapshots map[string]snapshot
	requests  map[string]int // "POST /indexes/x/documents" → count, so that a test can show that nothing retried
	changed   chan struct{}  // closed and replaced when the outage changes
	onOutage  func(Outage) error
}

// store is everything the engine keeps on disk, apart from its tasks.
type store map[string]*index

// New returns an empty engine. With a key every route but /health demands it as bearer token.
func New(key string) *Server {
	s := &Server{
		key: key, now: time.Now, store: store{}, snapshots: map[string]snapshot{}, requests: map[string]int{},
		changed: make(chan struct{}), faults: faults{delay: defaultTaskDelay, outage: OutageNone},
	}
	s.mux = s.routes()
	return s
}

func (s *Server) routes() *http.ServeMux {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /health", func(w http.ResponseWriter, _ *http.Request) {
		reply(w, http.StatusOK, map[string]string{"status": "available"})
	})
	for pattern, handle := range map[string]func(*http.Request) (int, any, error){
		"GET /version":                               s.getVersion,
		"GET /stats":                                 s.getStats,
		"GET /indexes":                               s.listIndexes,
		"POST /indexes":                              s.createIndex,
		"GET /indexes/{uid}":                         s.getIndex,
		"PATCH /indexes/{uid}":                       s.updateIndex,
		"DELETE /indexes/{uid}":                      s.deleteIndex,
		"GET /indexes/{uid}/stats":                   s.getIndexStats,
		"GET /indexes/{uid}/settings":                s.getSettings,
		"PATCH /indexes/{uid}/settings":              s.patchSettings,
		"DELETE /indexes/{uid}/settings":             s.resetSettings,
		"GET /indexes/{uid}/settings/{part}":         s.getSetting,
		"PUT /indexes/{uid}/settings/{part}":         s.putSetting,
		"PATCH /indexes/{uid}/settings/{part}":       s.putSetting,
		"DELETE /indexes/{uid}/settings/{part}":      s.deleteSetting,
		"GET /indexes/{uid}/documents":               s.fetchDocuments,
		"POST /indexes/{uid}/documents/fetch":        s.fetchDocuments,
		"POST /indexes/{uid}/documents":              s.replaceDocuments,
		"PUT /indexes/{uid}/documents":               s.mergeDocuments,
		"DELETE /indexes/{uid}/documents":            s.clearDocuments,
		"POST /indexes/{uid}/documents/delete-batch": s.deleteBatch,
		"POST /indexes/{uid}/documents/delete":       s.deleteByFilter,
		"GET /indexes/{uid}/documents/{document}":    s.getDocument,
		"DELETE /indexes/{uid}/documents/{document}": s.deleteDocument,
		"GET /indexes/{uid}/search":                  s.search,
		"POST /indexes/{uid}/search":                 s.search,
		"GET /tasks":                                 s.listTasks,
		"GET /tasks/{task}":                          s.getTask,
	} {
		mux.HandleFunc(pattern, s.locked(handle))
	}
	return mux
}

// locked runs a handler with the store to itself and with all tasks done whose time has come.
func (s *Server) locked(handle func(*http.Request) (int, any, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		r.Body = http.MaxBytesReader(w, r.Body, maxPayload)
		s.mu.Lock()
		s.advance()
		status, body, err := handle(r)
		var raw []byte
		if err == nil {
			raw, err = json.Marshal(body) // under the lock: the body shares the store's maps
		}
		s.mu.Unlock()
		if err != nil {
			replyError(w, err)
			return
		}
		replyRaw(w, status, raw)
	}
}

// ServeHTTP answers as the engine would in its present state of health.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if strings.HasPrefix(r.URL.Path, "/__mock/meili") {
		s.Control(w, r)
		return
	}
	s.mu.Lock()
	s.requests[r.Method+" "+r.URL.Path]++
	outage, changed := s.faults.outage, s.changed
	s.mu.Unlock()
	switch outage {
	case OutageRefuse: // only reached without a listener of our own to close: see Start
		panic(http.ErrAbortHandler)
	case OutageHang:
		select {
		case <-changed:
		case <-r.Context().Done():
		}
		panic(http.ErrAbortHandler)
	case Outage503: // what a proxy in front says
		http.Error(w, "<html><body>503 Service Temporarily Unavailable</body></html>", http.StatusServiceUnavailable)
		return
	case OutageNone:
	}
	if err := s.authorize(r); err != nil {
		replyError(w, err)
		return
	}
	s.mux.ServeHTTP(w, r)
}

func (s *Server) authorize(r *http.Request) error {
	if s.key == "" || r.URL.Path == "/health" {
		return nil
	}
	given := r.Header.Get("Authorization")
	if given == "" {
		return &apiError{http.StatusUnauthorized, "missing_authorization_header", "auth",
			"The Authorization header is missing. It must use the bearer authorization method."}
	}
	if given != "Bearer "+s.key {
		return &apiError{http.StatusForbidden, "invalid_api_key", "auth", "The provided API key is invalid."}
	}
	return nil
}

func (s *Server) getVersion(*http.Request) (int, any, error) {
	return http.StatusOK, map[string]string{"commitSha": "unknown", "commitDate": "unknown", "pkgVersion": version}, nil
}

// readJSON decodes a body as the engine does, with its own errors for the type and form of what was sent.
func readJSON(r *http.Request, into any) error {
	kind, _, _ := strings.Cut(r.Header.Get("Content-Type"), ";")
	if kind == "" {
		return &apiError{http.StatusUnsupportedMediaType, "missing_content_type", "invalid_request",
			"A Content-Type header is missing. Accepted values for the Content-Type header are: `application/json`"}
	}
	if strings.TrimSpace(kind) != "application/json" {
		return &apiError{http.StatusUnsupportedMediaType, "invalid_content_type", "invalid_request",
			"The Content-Type `" + kind + "` is invalid. Accepted values for the Content-Type header are: `application/json`"}
	}
	raw, err := io.ReadAll(r.Body)
	if err != nil {
		var tooLarge *http.MaxBytesError
		if errors.As(err, &tooLarge) {
			return &apiError{http.StatusRequestEntityTooLarge, "payload_too_large", "invalid_request", "The provided payload reached the size limit."}
		}
		return badRequest("bad_request", err.Error())
	}
	if len(raw) == 0 {
		return badRequest("missing_payload", "A json payload is missing.")
	}
	decoder := json.NewDecoder(strings.NewReader(string(raw)))
	decoder.UseNumber() // ids beyond 2^53 keep their digits
	if err := decoder.Decode(into); err != nil {
		return badRequest("malformed_payload", "The json payload provided is malformed. `"+err.Error()+"`.")
	}
	return nil
}
