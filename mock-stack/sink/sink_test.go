package sink

import (
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func serve(t *testing.T) (*Sink, *httptest.Server) {
	t.Helper()
	s := New()
	server := httptest.NewServer(s)
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
		server.Client().CloseIdleConnections()
	})
	return s, server
}

func post(t *testing.T, server *httptest.Server, name, id, body string) (*http.Response, error) {
	t.Helper()
	request, err := http.NewRequest(http.MethodPost, server.URL+"/hook/"+name, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Webhook-Id", id)
	client := *server.Client()
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return client.Do(request)
}

func TestStepsAnswerInOrderAndRequestsAreKept(t *testing.T) {
	t.Parallel()
	s, server := serve(t)
	s.SetPlan("a", Plan{Steps: []Step{{Status: 500, Count: 2}, {Status: 429, RetryAfter: "soon", Count: 1}, {Status: 302, Location: "/x"}}})
	want := []int{500, 500, 429, 302, 302}
	for i, status := range want {
		response, err := post(t, server, "a", "evt_1", `{"n":"ü"}`)
		if err != nil {
			t.Fatal(err)
		}
		_ = response.Body.Close()
		if response.StatusCode != status {
			t.Errorf("request %d: got %d, want %d", i+1, response.StatusCode, status)
		}
		if status == 429 && response.Header.Get("Retry-After") != "soon" {
			t.Errorf("Retry-After %q", response.Header.Get("Retry-After"))
		}
	}
	received := s.Received("a")
	if len(received) != len(want) || string(received[0].Body) != `{"n":"ü"}` || received[0].Headers.Get("Webhook-Id") != "evt_1" {
		t.Fatalf("received %+v", received)
	}
	if got := s.Count("a"); got != (Count{Requests: 5, DistinctIDs: 1, MaxInFlight: 1}) {
		t.Errorf("count %+v", got)
	}
	if s.Count("b").Requests != 0 {
		t.Error("another hook counted too")
	}
}

func TestDropClosesWithoutAnswer(t *testing.T) {
	t.Parallel()
	s, server := serve(t)
	s.SetPlan("d", Plan{Steps: []Step{{Drop: true}}})
	if response, err := post(t, server, "d", "x", "{}"); err == nil {
		_ = response.Body.Close()
		t.Fatal("got an answer")
	}
	if s.Count("d").Requests != 1 {
		t.Error("the dropped request was not counted")
	}
}

func TestHostileBodies(t *testing.T) {
	t.Parallel()
	s, server := serve(t)
	s.SetPlan("drip", Plan{Steps: []Step{{Body: "hello", Drip: Duration(5 * time.Millisecond)}}})
	s.SetPlan("endless", Plan{Steps: []Step{{Endless: true}}})
	s.SetPlan("bomb", Plan{Steps: []Step{{GzipSize: 3 << 20}}})
	s.SetPlan("headers", Plan{Steps: []Step{{HeaderBytes: 256 << 10}}})
	tests := map[string]struct {
		read int64
		want string
	}{
		"drip":    {read: 7, want: "hello.."},
		"endless": {read: 4, want: "\x00\x00\x00\x00"},
	}
	for name, test := range tests {
		response, err := post(t, server, name, "x", "{}")
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(io.LimitReader(response.Body, test.read))
		if err != nil || string(got) != test.want {
			t.Errorf("%s: %q, %v", name, got, err)
		}
		_ = response.Body.Close()
	}
	response, err := post(t, server, "bomb", "x", "{}")
	if err != nil {
		t.Fatal(err)
	}
	opened, err := io.Copy(io.Discard, response.Body) // the default client opens gzip
	if err != nil || opened != 3<<20 || !response.Uncompressed {
		t.Errorf("bomb opened to %d, %v, %v", opened, response.Uncompressed, err)
	}
	_ = response.Body.Close()
	response, err = post(t, server, "headers", "x", "{}")
	if err != nil {
		t.Fatal(err)
	}
	_ = response.Body.Close()
	if len(response.Header) < 64 {
		t.Errorf("only %d headers", len(response.Header))
	}
}

func TestControlRoutes(t *testing.T) {
	t.Parallel()
	s, server := serve(t)
	do := func(method, path, body string) (int, string) {
		request, err := http.NewRequest(method, server.URL+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		response, err := server.Client().Do(request)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = response.Body.Close() }()
		text, err := io.ReadAll(response.Body)
		if err != nil {
			t.Fatal(err)
		}
		return response.StatusCode, string(text)
	}
	if status, text := do("PUT", "/__mock/sink/c/plan", `{"steps":[{"status":410,"delay":"1ms"}],"record":"ids"}`); status != 204 {
		t.Fatalf("plan: %d %s", status, text)
	}
	for _, bad := range []string{`{"stepz":[]}`, `{"steps":[{"status":99}]}`, `{"steps":[{},{}]}`, `{"record":"some"}`, `{"steps":[{"delay":"1 day"}]}`} {
		if status, _ := do("PUT", "/__mock/sink/c/plan", bad); status != 400 {
			t.Errorf("plan %s: %d", bad, status)
		}
	}
	response, err := post(t, server, "c", "evt_9", "{}")
	if err != nil {
		t.Fatal(err)
	}
	_ = response.Body.Close()
	if response.StatusCode != 410 {
		t.Errorf("status %d", response.StatusCode)
	}
	if _, text := do("GET", "/__mock/sink/c/ids", ""); strings.TrimSpace(text) != `{"evt_9":1}` {
		t.Errorf("ids %s", text)
	}
	var counts map[string]Count
	_, text := do("GET", "/__mock/sink", "")
	if err := json.Unmarshal([]byte(text), &counts); err != nil || counts["c"].Requests != 1 {
		t.Errorf("counts %s: %v", text, err)
	}
	if status, _ := do("DELETE", "/__mock/sink/c", ""); status != 204 || s.Count("c").Requests != 0 {
		t.Error("reset left something")
	}
}

func TestWaitReturnsAtTheNthArrival(t *testing.T) {
	t.Parallel()
	s, server := serve(t)
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	waited := make(chan error, 1)
	go func() { waited <- s.Wait(ctx, "w", 2) }()
	for range 2 {
		response, err := post(t, server, "w", "x", "{}")
		if err != nil {
			t.Fatal(err)
		}
		_ = response.Body.Close()
	}
	if err := <-waited; err != nil {
		t.Fatal(err)
	}
	short, stop := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer stop()
	if err := s.Wait(short, "w", 3); err == nil {
		t.Error("waited for a third that never came")
	}
}

func TestLeanSinkCountsAndAnswersThePlannedStatus(t *testing.T) {
	t.Parallel()
	s := New()
	s.SetPlan("l", Plan{Steps: []Step{{Status: 503, Count: 1}}, Record: RecordIDs})
	lean, err := s.ListenLean("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer lean.Close()
	client := &http.Client{Transport: &http.Transport{}}
	defer client.CloseIdleConnections()
	for i, want := range []int{503, 200} {
		request, err := http.NewRequest(http.MethodPost, lean.URL()+"l", strings.NewReader(strings.Repeat("x", 50_000)))
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("Webhook-Id", "evt_same")
		response, err := client.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		_ = response.Body.Close()
		if response.StatusCode != want {
			t.Errorf("request %d: %d", i, response.StatusCode)
		}
	}
	if got := s.Count("l"); got.Requests != 2 || got.DistinctIDs != 1 || got.InFlight != 0 {
		t.Errorf("count %+v", got)
	}
	conn, err := net.Dial("tcp", strings.TrimSuffix(strings.TrimPrefix(lean.URL(), "http://"), "/hook/"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	if _, err := io.WriteString(conn, "nonsense\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Read(make([]byte, 1)); err != io.EOF {
		t.Errorf("nonsense was answered: %v", err)
	}
}

func TestLeanSinkReadsChunkedBodiesAndTellsWhatCame(t *testing.T) {
	t.Parallel()
	s := New()
	lean, err := s.ListenLean("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer lean.Close()
	seen := make(chan string, 4)
	lean.Watch(func(hook, id string) { seen <- hook + " " + id })
	client := &http.Client{Transport: &http.Transport{MaxConnsPerHost: 1}} // the second request comes behind the first one's trailer
	defer client.CloseIdleConnections()
	for range 2 {
		// A reader of unknown length is sent in chunks.
		request, err := http.NewRequest(http.MethodPost, lean.URL()+"c", io.MultiReader(strings.NewReader(strings.Repeat("x", 70_000))))
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("Webhook-Id", "evt_c")
		request.Trailer = http.Header{"X-Sum": {"1"}}
		response, err := client.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		_ = response.Body.Close()
		if got := <-seen; got != "c evt_c" || response.StatusCode != http.StatusOK {
			t.Errorf("watched %q, answered %d", got, response.StatusCode)
		}
	}
}
