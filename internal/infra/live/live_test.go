package live

import (
	"bufio"
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// world is what the hub looks at.
type world struct {
	mu     sync.Mutex
	topics map[string]string
	err    error
	looks  int
	out    bool // the reader is signed out
	lost   error
}

func (w *world) set(topic, text string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.topics[topic] = text
}

func (w *world) look(context.Context) (map[string]string, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.looks++
	out := map[string]string{}
	for k, v := range w.topics {
		out[k] = v
	}
	return out, w.err
}

func (w *world) still(*http.Request) (bool, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return !w.out, w.lost
}

func everybody(*http.Request) (bool, error) { return true, nil }

func quiet() *slog.Logger { return slog.New(slog.NewTextHandler(io.Discard, nil)) }

// site serves the hub as strictly as the real server does.
func site(t *testing.T) (*world, *Hub, *httptest.Server) {
	t.Helper()
	w := &world{topics: map[string]string{"tasks": "1", "events": "1"}}
	h := New(w.look, w.still, quiet())
	s := httptest.NewUnstartedServer(h)
	s.Config.WriteTimeout = time.Second
	s.Start()
	t.Cleanup(func() { h.Close(); s.Close() })
	return w, h, s
}

// client keeps no connection: each stream has its own, as the leak check wants it.
var client = &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}

// reader reads the messages of one stream.
type reader struct {
	messages chan message
	hangUp   context.CancelFunc
}

type message struct{ event, id string }

func read(t *testing.T, s *httptest.Server, last string) reader {
	t.Helper()
	return open(t, s.URL, last)
}

func open(t *testing.T, address, last string) reader {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(cancel)
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Accept-Encoding", "gzip")
	if last != "" {
		r.Header.Set("Last-Event-ID", last)
	}
	answer, err := client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	if answer.Header.Get("Content-Encoding") != "" || answer.Header.Get("X-Accel-Buffering") != "no" || !strings.Contains(answer.Header.Get("Cache-Control"), "no-store") {
		t.Errorf("headers would hold messages back: %v", answer.Header)
	}
	out := make(chan message, 100)
	go func() {
		defer close(out)
		defer func() { _ = answer.Body.Close() }()
		var m message
		for lines := bufio.NewScanner(answer.Body); lines.Scan(); {
			name, value, _ := strings.Cut(lines.Text(), ": ")
			switch name {
			case "id":
				m.id = value
			case "data":
				m.event = value
				out <- m
			}
		}
	}()
	return reader{out, cancel}
}

// ended waits until the stream is over and returns what it said before.
func (r reader) ended(t *testing.T) []string {
	t.Helper()
	var said []string
	for {
		select {
		case m, open := <-r.messages:
			if !open {
				return said
			}
			said = append(said, m.event)
		case <-time.After(5 * time.Second):
			t.Fatalf("the stream goes on, and said %v", said)
		}
	}
}

func (r reader) next(t *testing.T, within time.Duration) message {
	t.Helper()
	select {
	case m, open := <-r.messages:
		if !open {
			t.Fatal("the stream has ended")
		}
		return m
	case <-time.After(within):
		t.Fatalf("no message within %s", within)
	}
	return message{}
}

func TestAChangeIsToldWithinASecondPastTheWriteTimeout(t *testing.T) {
	t.Parallel()
	w, _, s := site(t)
	r := read(t, s, "")
	if m := r.next(t, 3*time.Second); m.event != "hello" {
		t.Fatalf("first message is %v", m)
	}
	// Past the server's write timeout of a second (field case F37).
	time.Sleep(1500 * time.Millisecond)
	w.set("tasks", "2")
	if m := r.next(t, 1500*time.Millisecond); m.event != "tasks" {
		t.Errorf("told %v", m)
	}
}

func TestARingIsHeardAtOnce(t *testing.T) {
	t.Parallel()
	w, h, s := site(t)
	r := read(t, s, "")
	r.next(t, 3*time.Second)
	w.set("events", "2")
	h.Ring()
	if m := r.next(t, 500*time.Millisecond); m.event != "events" {
		t.Errorf("told %v", m)
	}
}

func TestWhoWasCutOffIsCaughtUp(t *testing.T) {
	t.Parallel()
	w, _, s := site(t)
	first := read(t, s, "")
	hello := first.next(t, 3*time.Second)
	first.hangUp()
	w.set("events", "2")
	w.set("events", "3")
	w.set("tasks", "2")
	again := read(t, s, hello.id)
	got := map[string]bool{}
	for !got["events"] || !got["tasks"] {
		for word := range strings.FieldsSeq(again.next(t, 3*time.Second).event) {
			got[word] = true
		}
	}
	// Who missed nothing is told so.
	same := read(t, s, formatID(map[string]string{"tasks": digest("2"), "events": digest("3")}))
	if m := same.next(t, 3*time.Second); m.event != "hello" || parseID(m.id)["tasks"] != digest("2") {
		t.Errorf("told %v first", m)
	}
	w.set("tasks", "4")
	if m := same.next(t, 3*time.Second); m.event != "tasks" {
		t.Errorf("told %v first", m)
	}
}

func digest(text string) string {
	h := New(func(context.Context) (map[string]string, error) { return map[string]string{"x": text}, nil }, everybody, quiet())
	found, _ := h.once(context.Background())
	return found["x"]
}

func TestCloseEndsEveryStream(t *testing.T) {
	t.Parallel()
	_, h, s := site(t)
	r := read(t, s, "")
	r.next(t, 3*time.Second)
	h.Close()
	select {
	case _, open := <-r.messages:
		if open {
			t.Error("a message after the end")
		}
	case <-time.After(3 * time.Second):
		t.Error("the stream goes on after Close")
	}
	late := read(t, s, "")
	if _, open := <-late.messages; open {
		t.Error("a stream opened after Close")
	}
}

func TestNobodyReadsNobodyLooks(t *testing.T) {
	t.Parallel()
	w, h, s := site(t)
	r := read(t, s, "")
	r.next(t, 3*time.Second)
	r.hangUp()
	deadline := time.Now().Add(5 * time.Second)
	for {
		h.mu.Lock()
		watching := h.watching
		h.mu.Unlock()
		if !watching {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("still looking, %d times", w.looks)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

func TestAFailedLookTellsNothingAndIsTriedAgain(t *testing.T) {
	t.Parallel()
	w, h, s := site(t)
	w.mu.Lock()
	w.err = errors.New("no database")
	w.mu.Unlock()
	r := read(t, s, "")
	h.Ring()
	w.mu.Lock()
	w.err = nil
	w.mu.Unlock()
	h.Ring()
	if m := r.next(t, 3*time.Second); m.event != "hello" {
		t.Errorf("told %v", m)
	}
}

func FuzzParseID(f *testing.F) {
	f.Add("events.0a1b2c3d-tasks.4e5f6071")
	f.Add("x")
	f.Fuzz(func(t *testing.T, id string) {
		if seen := parseID(id); seen != nil && strings.ContainsAny(formatID(seen), "\r\n: ") {
			t.Fatalf("%q would break out of its line", id)
		}
	})
}
