package live

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"
)

const soon = 5 * time.Second

func TestWhatHappensBetweenAPageAndItsStreamIsTold(t *testing.T) {
	t.Parallel()
	w, h, s := site(t)
	page := h.Position(context.Background())
	w.set("events", "2")
	if m := read(t, s, page).next(t, soon); m.event != "events" {
		t.Errorf("told %v", m)
	}
	// While the hub watches, a page is made from what it saw last.
	page = h.Position(context.Background())
	w.set("tasks", "2")
	got := read(t, s, page)
	for m := got.next(t, soon); m.event != "tasks"; m = got.next(t, soon) {
	}
}

// The page comes from one process and its stream from another.
func TestAPositionHoldsInEveryProcess(t *testing.T) {
	t.Parallel()
	w, h, _ := site(t)
	other := New(w.look, everybody, quiet())
	s := httptest.NewServer(other)
	t.Cleanup(func() { other.Close(); s.Close() })
	page := h.Position(context.Background())
	if m := read(t, s, page).next(t, soon); m.event != "hello" {
		t.Errorf("nothing happened, and told %v", m)
	}
	w.set("tasks", "2")
	r := read(t, s, page)
	for m := r.next(t, soon); m.event != "tasks"; m = r.next(t, soon) {
	}
}

func TestWhosePlaceIsUnknownIsToldEverything(t *testing.T) {
	t.Parallel()
	w, h, s := site(t)
	w.mu.Lock()
	w.err = errors.New("no database")
	w.mu.Unlock()
	page := h.Position(context.Background())
	w.mu.Lock()
	w.err = nil
	w.mu.Unlock()
	for _, last := range []string{page, "tasks.4", "<b>", strings.Repeat("a", 2000)} {
		r := read(t, s, last)
		if m := r.next(t, soon); m.event != "events tasks" {
			t.Errorf("%.20q: told %v", last, m)
		}
	}
}

func TestWhoIsSignedOutIsToldThatAndNothingElse(t *testing.T) {
	t.Parallel()
	w, h, s := site(t)
	r := read(t, s, "")
	r.next(t, soon)
	w.mu.Lock()
	w.out = true
	w.topics["tasks"] = "2"
	w.mu.Unlock()
	h.Ring()
	if said := r.ended(t); !slices.Equal(said, []string{"out"}) {
		t.Errorf("said %v", said)
	}
}

// Without a change too: at the latest with the next beat.
func TestAnEndedSessionEndsAStreamOnWhichNothingHappens(t *testing.T) {
	t.Parallel()
	w, h, s := site(t)
	h.beat = 10 * time.Millisecond
	r := read(t, s, "")
	first := r.next(t, soon)
	beat := r.next(t, soon)
	if first.event != "hello" && first.event != "beat" || beat.event != "beat" {
		t.Errorf("told %v and %v", first, beat)
	}
	w.mu.Lock()
	w.out = true
	w.mu.Unlock()
	if said := r.ended(t); said[len(said)-1] != "out" {
		t.Errorf("said %v", said)
	}
}

// When it cannot be told who reads, nothing is said; the browser asks again with what it last saw.
func TestWhenItCannotBeToldWhoReadsTheStreamEnds(t *testing.T) {
	t.Parallel()
	w, h, s := site(t)
	r := read(t, s, "")
	r.next(t, soon)
	w.mu.Lock()
	w.lost = errors.New("no database")
	w.topics["tasks"] = "2"
	w.mu.Unlock()
	h.Ring()
	if said := r.ended(t); len(said) > 0 {
		t.Errorf("said %v", said)
	}
}

// A proxy that hands nothing on before the end of an answer.
func TestABriefAnswerEndsWithItsFirstMessage(t *testing.T) {
	t.Parallel()
	w, h, s := site(t)
	brief := func() reader { return open(t, s.URL+"?brief&last="+h.Position(context.Background()), "") }
	r := brief()
	w.set("tasks", "2")
	if said := r.ended(t); !slices.Equal(said, []string{"tasks"}) {
		t.Errorf("said %v", said)
	}
	r = open(t, s.URL+"?brief&last=unknown", "")
	if said := r.ended(t); !slices.Equal(said, []string{"events tasks"}) {
		t.Errorf("said %v", said)
	}
}

// One client takes nothing: neither the others nor the end of the program wait for it.
func TestAClientThatDoesNotReadHoldsNothingUp(t *testing.T) {
	t.Parallel()
	w, h, s := site(t)
	far, near := net.Pipe() // without a buffer: the first byte that is not taken blocks
	defer func() { _ = far.Close() }()
	stuck := &http.Server{Handler: h, ReadHeaderTimeout: time.Minute}
	stuck.RegisterOnShutdown(h.Close)
	one := &oneConn{conn: near, more: make(chan struct{})}
	served := make(chan error, 1)
	go func() { served <- stuck.Serve(one) }()
	if _, err := io.WriteString(far, "GET / HTTP/1.1\r\nHost: a\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	var all []reader
	for range 200 {
		all = append(all, read(t, s, ""))
	}
	for _, r := range all {
		r.next(t, soon)
	}
	w.set("tasks", "2")
	for _, r := range all {
		if m := r.next(t, soon); m.event != "tasks" {
			t.Errorf("told %v", m)
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), writeTime/2)
	defer cancel()
	if err := stuck.Shutdown(ctx); err != nil {
		t.Errorf("the program ends: %v", err)
	}
	if err := <-served; !errors.Is(err, http.ErrServerClosed) {
		t.Errorf("served until: %v", err)
	}
	for _, r := range all {
		r.ended(t)
	}
}

// oneConn accepts one connection.
type oneConn struct {
	conn net.Conn
	more chan struct{}
}

func (l *oneConn) Accept() (net.Conn, error) {
	if c := l.conn; c != nil {
		l.conn = nil
		return c, nil
	}
	<-l.more
	return nil, net.ErrClosed
}

func (l *oneConn) Close() error   { close(l.more); return nil }
func (l *oneConn) Addr() net.Addr { return &net.UnixAddr{Name: "pipe", Net: "unix"} }
