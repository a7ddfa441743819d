// Package sink is a fake webhook receiver: it answers on /hook/<name> as planned for that name and remembers what came.
package sink

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"
)

// maxRequestBody bounds what a test can make the sink hold; the product's own bodies stay under 20 kB.
const maxRequestBody = 8 << 20

// Received is one request as it arrived. Body is base64 in JSON, so the exact bytes survive.
type Received struct {
	Method     string      `json:"method"`
	Path       string      `json:"path"`
	Host       string      `json:"host"`
	Headers    http.Header `json:"headers"`
	Body       []byte      `json:"body"`
	ReceivedAt time.Time   `json:"received_at"`
	Connection string      `json:"connection"` // the sender's address: the same for requests on one connection
	Status     int         `json:"status"`     // what the plan answered; 0 for a dropped connection
}

// Count is what a hook has seen since its last reset.
type Count struct {
	Requests    int `json:"requests"`
	DistinctIDs int `json:"distinct_ids"`
	InFlight    int `json:"in_flight"`
	MaxInFlight int `json:"max_in_flight"`
}

// Sink is an http.Handler for /hook/<name> and for the control routes under /__mock/sink. The zero value is not ready: use New.
type Sink struct {
	mu    sync.Mutex
	hooks map[string]*hook
	now   func() time.Time
}

type hook struct {
	plan        Plan
	answered    int
	requests    int
	inFlight    int
	maxInFlight int
	received    []Received
	ids         map[string]int
	arrived     chan struct{} // closed and replaced at each arrival while someone waits
}

// New returns a sink whose every hook answers 200 and records in full.
func New() *Sink {
	return &Sink{hooks: map[string]*hook{}, now: time.Now}
}

// hook returns the named hook, made on first use. Call it with the lock held.
func (s *Sink) hook(name string) *hook {
	h, ok := s.hooks[name]
	if !ok {
		h = &hook{ids: map[string]int{}}
		s.hooks[name] = h
	}
	return h
}

// SetPlan gives a hook a new plan, counted from its next request. What it has received stays.
func (s *Sink) SetPlan(name string, plan Plan) {
	s.mu.Lock()
	defer s.mu.Unlock()
	h := s.hook(name)
	h.plan, h.answered = plan, 0
}

// Reset forgets a hook: plan, counters and what it received. Requests in flight end as their old plan says.
func (s *Sink) Reset(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.hooks, name)
}

// ResetAll forgets every hook.
func (s *Sink) ResetAll() {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.hooks)
}

// Received returns the requests of a hook that records in full, oldest first.
func (s *Sink) Received(name string) []Received {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Received{}, s.hook(name).received...)
}

// IDs returns how often each webhook-id came. A hook that only counts returns none.
func (s *Sink) IDs(name string) map[string]int {
	s.mu.Lock()
	defer s.mu.Unlock()
	ids := make(map[string]int, len(s.hook(name).ids))
	for id, n := range s.hook(name).ids {
		ids[id] = n
	}
	return ids
}

// Count returns a hook's counters.
func (s *Sink) Count(name string) Count {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.hook(name).count()
}

func (h *hook) count() Count {
	return Count{Requests: h.requests, DistinctIDs: len(h.ids), InFlight: h.inFlight, MaxInFlight: h.maxInFlight}
}

// Wait returns once a hook has seen at least n requests, or with the context's error.
func (s *Sink) Wait(ctx context.Context, name string, n int) error {
	for {
		s.mu.Lock()
		h := s.hook(name)
		if h.requests >= n {
			s.mu.Unlock()
			return nil
		}
		if h.arrived == nil {
			h.arrived = make(chan struct{})
		}
		arrived := h.arrived
		s.mu.Unlock()
		select {
		case <-arrived:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// ServeHTTP answers hooks and control routes.
func (s *Sink) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if name, ok := strings.CutPrefix(r.URL.Path, "/hook/"); ok && name != "" {
		s.receive(w, r, name)
		return
	}
	if strings.HasPrefix(r.URL.Path, "/__mock/sink") {
		s.control(w, r)
		return
	}
	http.NotFound(w, r)
}

func (s *Sink) receive(w http.ResponseWriter, r *http.Request, name string) {
	h, step, record := s.arrive(name)
	defer func() {
		s.mu.Lock()
		h.inFlight--
		s.mu.Unlock()
	}()
	var body bytes.Buffer
	if record == RecordFull {
		if _, err := body.ReadFrom(http.MaxBytesReader(w, r.Body, maxRequestBody)); err != nil {
			http.Error(w, "body unreadable", http.StatusBadRequest)
			return
		}
	} else if _, err := io.Copy(io.Discard, r.Body); err != nil {
		return
	}
	s.remember(h, r, body.Bytes(), step, record)
	step.answer(w, r, s.now)
}

// arrive counts a request in and picks its step.
func (s *Sink) arrive(name string) (*hook, Step, Recording) {
	s.mu.Lock()
	defer s.mu.Unlock()
	h := s.hook(name)
	step := h.plan.at(h.answered)
	h.answered++
	h.inFlight++
	h.maxInFlight = max(h.maxInFlight, h.inFlight)
	record := h.plan.Record
	if record == "" {
		record = RecordFull
	}
	return h, step, record
}

// remember stores a request that was read whole, and wakes whoever waits for it.
func (s *Sink) remember(h *hook, r *http.Request, body []byte, step Step, record Recording) {
	s.mu.Lock()
	defer s.mu.Unlock()
	h.requests++
	if record != RecordCount {
		if id := r.Header.Get("Webhook-Id"); id != "" {
			h.ids[id]++
		}
	}
	if record == RecordFull {
		h.received = append(h.received, Received{
			Method: r.Method, Path: r.URL.RequestURI(), Host: r.Host, Headers: r.Header.Clone(), Body: body,
			ReceivedAt: s.now(), Connection: r.RemoteAddr, Status: step.status(),
		})
	}
	if h.arrived != nil {
		close(h.arrived)
		h.arrived = nil
	}
}

func strictJSON(raw []byte, into any) error {
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(into); err != nil {
		return err
	}
	if decoder.More() {
		return errors.New("more than one JSON value")
	}
	return nil
}
