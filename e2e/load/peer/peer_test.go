package peer

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gatehouse-hq/gatehouse/e2e/load/report"
)

// standIn is a sender with a publish API: it delivers at once, or never.
type standIn struct {
	mu        sync.Mutex
	endpoints []string
	events    []string
	deaf      bool
	sending   sync.WaitGroup
}

func (s *standIn) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Header.Get("Authorization") != "Bearer for-tests" {
		http.Error(w, "who are you", http.StatusUnauthorized)
		return
	}
	var in struct{ URL, Event string }
	if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	w.WriteHeader(http.StatusAccepted)
	if r.URL.Path == "/endpoints" {
		s.endpoints = append(s.endpoints, in.URL)
		return
	}
	s.events = append(s.events, in.Event)
	if s.deaf {
		return
	}
	for _, to := range s.endpoints {
		s.sending.Go(func() {
			res, err := http.Post(to, "application/json", strings.NewReader(`{"event": "`+in.Event+`"}`))
			if err == nil {
				_, _ = io.Copy(io.Discard, res.Body)
				_ = res.Body.Close()
			}
		})
	}
}

func (s *standIn) start(t *testing.T, more map[string]string) Config {
	t.Helper()
	server := httptest.NewServer(s)
	t.Cleanup(func() { server.Close(); s.sending.Wait() })
	env := map[string]string{
		"PEER_URL": server.URL + "/publish", "PEER_NAME": "stand-in", "PEER_HEADER": "Authorization: Bearer for-tests\nX-More: 1",
		"PEER_BODY": `{"event": "{{.Type}} {{.N}}"}`, "PEER_ENDPOINT_URL": server.URL + "/endpoints", "PEER_ENDPOINT_BODY": `{"url": "{{.URL}}"}`,
		"PEER_ENDPOINTS": "3", "PEER_EVENTS": "40", "PEER_PUBLISHERS": "4",
	}
	for name, value := range more {
		env[name] = value
	}
	c, wanted, err := FromEnv(func(name string) string { return env[name] })
	if err != nil || !wanted {
		t.Fatalf("wanted %v, error %v", wanted, err)
	}
	return c
}

func TestPeerIsMeasuredAgainstTheSameReceiver(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	s := &standIn{}
	var printed bytes.Buffer
	r := report.New(&printed, 1)
	r.Section("Gatehouse").Add(report.Figure{Name: "the built binary: 5 events", Values: []float64{1000}, Unit: "/s"})
	r.Plot(report.Plot{File: "throughput.svg", Series: []report.Series{{Name: "Gatehouse", Points: []report.Point{{X: 3, Y: 1000}}}}})
	if err := s.start(t, nil).Measure(ctx, r, 20*time.Millisecond); err != nil {
		t.Fatal(err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.endpoints) != 3 || len(s.events) < 42 || s.events[0] != "load.t0 1" {
		t.Errorf("%d endpoints, %d events, the first %q; want 3 endpoints, a first event, 40, and single ones", len(s.endpoints), len(s.events), s.events[0])
	}
	seen := map[string]bool{}
	for _, e := range s.events {
		if seen[e] {
			t.Errorf("%q was published twice", e)
		}
		seen[e] = true
	}
	text := r.Markdown()
	for _, want := range []string{"## stand-in, against the same receiver", "| stand-in: 40 events, each to 3 endpoints |", "× Gatehouse, the built binary (1,000/s)", "published → received", "| stand-in (|"} {
		if !strings.Contains(text, strings.TrimSuffix(want, "|")) {
			t.Errorf("the report does not hold %q:\n%s", want, text)
		}
	}
}

func TestPeerThatDeliversNothingIsNotWaitedForLong(t *testing.T) {
	t.Parallel()
	s := &standIn{deaf: true}
	c := s.start(t, nil)
	c.Patience = 50 * time.Millisecond
	err := c.Measure(t.Context(), report.New(io.Discard, 1), 0)
	if err == nil || !strings.Contains(err.Error(), "endpoint 0 has had 0 of 1 events") {
		t.Errorf("error %v; want one that says what is missing", err)
	}
}

func TestPeerThatRefuses(t *testing.T) {
	t.Parallel()
	s := &standIn{}
	c := s.start(t, map[string]string{"PEER_HEADER": "", "PEER_ENDPOINT_URL": ""})
	err := c.Measure(t.Context(), report.New(io.Discard, 1), 0)
	if err == nil || !strings.Contains(err.Error(), "401 Unauthorized: who are you") {
		t.Errorf("error %v; want the peer's answer", err)
	}
}

func TestFromEnvNamesWhatIsWrong(t *testing.T) {
	t.Parallel()
	env := map[string]string{"PEER_URL": "http://127.0.0.1:1", "PEER_BODY": "{{.Nonsense}}", "PEER_ENDPOINT_BODY": "{{", "PEER_HEADER": "a-secret", "PEER_EVENTS": "none"}
	_, _, err := FromEnv(func(name string) string { return env[name] })
	if err == nil {
		t.Fatal("wrong variables are taken")
	}
	for name := range env {
		if name != "PEER_URL" && !strings.Contains(err.Error(), name) {
			t.Errorf("%s is not named in %v", name, err)
		}
	}
	if strings.Contains(err.Error(), "a-secret") {
		t.Errorf("the header is repeated: %v", err)
	}
	if _, wanted, err := FromEnv(func(string) string { return "" }); wanted || err != nil {
		t.Errorf("without variables: wanted %v, error %v", wanted, err)
	}
}
