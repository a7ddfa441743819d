package edge_test

import (
	"bytes"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/gatehouse-hq/gatehouse/internal/web/assets"
	"github.com/gatehouse-hq/gatehouse/internal/web/edge"
	"github.com/gatehouse-hq/gatehouse/internal/web/ui"
)

// logBook collects what was logged.
type logBook struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *logBook) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *logBook) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// house is an edge at https://shelf.example with one handler behind it.
func house(t *testing.T, h edge.Handler) (http.Handler, *logBook) {
	t.Helper()
	return houseAt(t, "https://shelf.example", h)
}

func houseAt(t *testing.T, base string, h edge.Handler) (http.Handler, *logBook) {
	t.Helper()
	address, err := url.Parse(base)
	if err != nil {
		t.Fatal(err)
	}
	book := &logBook{}
	e := edge.New(edge.Config{
		Assets: assets.New(), Log: slog.New(slog.NewTextHandler(book, nil)), BaseURL: address,
		TrustedProxies: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")},
		Messages:       map[string]edge.Message{"tasks.retried": {Tone: ui.Done, One: "The task will be tried again.", Many: "# tasks will be tried again."}},
	})
	return e.Chain(e.Handle(h)), book
}

func ask(h http.Handler, r *http.Request) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

func getPage(path string) *http.Request { return httptest.NewRequest(http.MethodGet, path, nil) }

func post(path string, form url.Values) *http.Request {
	r := httptest.NewRequest(http.MethodPost, path, strings.NewReader(form.Encode()))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	return r
}

func wants(t *testing.T, text string, fragments ...string) {
	t.Helper()
	for _, f := range fragments {
		if !strings.Contains(text, f) {
			t.Errorf("missing %q in %s", f, text)
		}
	}
}

func TestPanicIsACalmPageAndALogLine(t *testing.T) {
	t.Parallel()
	h, book := house(t, func(http.ResponseWriter, *http.Request) error { panic("the shelf fell: secret-detail") })
	w := ask(h, getPage("/x"))
	if w.Code != http.StatusInternalServerError {
		t.Errorf("status %d, want 500", w.Code)
	}
	id := w.Header().Get("X-Request-Id")
	wants(t, w.Body.String(), "Something went wrong here", id)
	wants(t, book.String(), "the shelf fell", id, "edge_test.go")
	if strings.Contains(w.Body.String(), "secret-detail") {
		t.Error("the panic's text is on the page")
	}
}

func TestPanicAfterTheAnswerBeganCutsTheConnection(t *testing.T) {
	t.Parallel()
	h, book := house(t, func(w http.ResponseWriter, _ *http.Request) error {
		_, _ = w.Write([]byte("half a page"))
		panic("too late")
	})
	server := httptest.NewServer(h)
	defer server.Close()
	if response, err := server.Client().Get(server.URL); err == nil {
		defer func() { _ = response.Body.Close() }()
		var body bytes.Buffer
		if _, err := body.ReadFrom(response.Body); err == nil {
			t.Errorf("half an answer passed for a whole one: %q", body.String())
		}
	}
	wants(t, book.String(), "too late")
}

func TestStreamsAreFlushedThroughTheChain(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	h, _ := house(t, func(w http.ResponseWriter, _ *http.Request) error {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = w.Write([]byte(": hello\n\n"))
		w.(http.Flusher).Flush()
		if err := http.NewResponseController(w).Flush(); err != nil {
			return err
		}
		<-release
		return nil
	})
	server := httptest.NewServer(h)
	defer server.Close()
	request, err := http.NewRequest(http.MethodGet, server.URL, nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Accept-Encoding", "gzip")
	response, err := server.Client().Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	buffer := make([]byte, 9)
	if _, err := response.Body.Read(buffer); err != nil || string(buffer) != ": hello\n\n" {
		t.Errorf("read %q, %v while the handler still runs", buffer, err)
	}
	close(release)
}

func TestTheRequestIsKnownInItsContext(t *testing.T) {
	t.Parallel()
	var id, client string
	h, _ := house(t, func(_ http.ResponseWriter, r *http.Request) error {
		id, client = edge.RequestID(r.Context()), edge.ClientIP(r.Context()).String()
		return nil
	})
	r := getPage("/x")
	r.RemoteAddr = "10.1.2.3:4711"
	r.Header.Set("X-Forwarded-For", "6.6.6.6, 203.0.113.9, 10.9.9.9")
	w := ask(h, r)
	if id == "" || id != w.Header().Get("X-Request-Id") {
		t.Errorf("request id %q, header %q", id, w.Header().Get("X-Request-Id"))
	}
	if client != "203.0.113.9" {
		t.Errorf("client is %s, want the rightmost address that no trusted proxy has", client)
	}
}
