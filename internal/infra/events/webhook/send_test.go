package webhook

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"
	"unicode/utf8"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
	"go.uber.org/goleak"

	"github.com/gatehouse-hq/gatehouse/internal/infra/egress"
	"github.com/gatehouse-hq/gatehouse/mock-stack/sink"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// stage is a receiver with plans, and a client that is allowed to reach it.
type stage struct {
	sink   *sink.Sink
	url    string
	client *egress.Client
}

func newStage(t testing.TB) stage {
	t.Helper()
	allow, err := egress.ParseAllow("127.0.0.0/8")
	if err != nil {
		t.Fatal(err)
	}
	s := stage{sink: sink.New(), client: egress.New(egress.Options{Allow: allow})}
	server := httptest.NewServer(s.sink)
	s.url = server.URL
	t.Cleanup(func() {
		s.client.Close()
		server.CloseClientConnections()
		server.Close()
	})
	return s
}

func (s stage) send(t testing.TB, name string, step sink.Step) Result {
	t.Helper()
	s.sink.SetPlan(name, sink.Plan{Steps: []sink.Step{step}})
	return Send(t.Context(), s.client, s.attempt(name))
}

func (s stage) attempt(name string) Request {
	return Request{URL: s.url + "/hook/" + name, ID: "evt_1", At: time.Now(), Body: []byte(`{"a":"ü<` + "\u2028" + `"}`), UserAgent: "Gatehouse/test"}
}

func TestOnePostWithBothSignaturesOfARotation(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	old, fresh, private := GenerateSecret(), GenerateSecret(), GenerateKey()
	attempt := s.attempt("a")
	attempt.Keys = []Signer{fresh, old, private}
	attempt.Headers = []Header{{"X-Tenant", "7"}, {"Authorization", "Bearer t"}}
	result := Send(t.Context(), s.client, attempt)
	if result.Status != 200 || result.Err != nil || len(result.KeyIDs) != 3 || result.KeyIDs[0] != fresh.KeyID() {
		t.Fatalf("%+v", result)
	}
	received := s.sink.Received("a")
	if len(received) != 1 {
		t.Fatalf("%d requests", len(received))
	}
	got := received[0]
	if got.Method != http.MethodPost || string(got.Body) != string(attempt.Body) {
		t.Errorf("%s %s", got.Method, got.Body)
	}
	for name, want := range map[string]string{
		"Content-Type": "application/json", "User-Agent": "Gatehouse/test", "Webhook-Id": "evt_1",
		"Webhook-Timestamp": fmt.Sprint(attempt.At.Unix()), "X-Tenant": "7", "Authorization": "Bearer t",
	} {
		if got.Headers.Get(name) != want {
			t.Errorf("%s: %q", name, got.Headers.Get(name))
		}
	}
	for _, key := range []*Secret{old, fresh} {
		verifier, err := standardwebhooks.NewWebhook(key.Text())
		if err != nil {
			t.Fatal(err)
		}
		if err := verifier.Verify(got.Body, got.Headers); err != nil {
			t.Errorf("official verifier: %v", err)
		}
	}
	if !private.Public().Verify(got.Headers.Get("Webhook-Signature"), "evt_1", attempt.At, got.Body) {
		t.Error("v1a does not verify")
	}
	if result.Remote.String() != "127.0.0.1" || result.Total <= 0 || result.Times.FirstByte <= 0 {
		t.Errorf("times %+v", result)
	}
	if again := Send(t.Context(), s.client, attempt); !again.Times.Reused {
		t.Error("the connection was not used again")
	}
}

// metered counts what is read of each answer's body.
type metered struct {
	Doer
	read atomic.Int64
}

func (m *metered) Do(r *http.Request) (*http.Response, error) {
	answer, err := m.Doer.Do(r)
	if err == nil {
		answer.Body = &meteredBody{answer.Body, &m.read}
	}
	return answer, err
}

type meteredBody struct {
	io.ReadCloser
	read *atomic.Int64
}

func (b *meteredBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.read.Add(int64(n))
	return n, err
}

// Field case F17: the status line decides, one POST each, memory flat, a short clean excerpt. Not parallel: what the
// program allocates meanwhile is this test's.
func TestHugeAndEndlessAnswers(t *testing.T) {
	s := newStage(t)
	tests := map[string]struct {
		step      sink.Step
		truncated bool
	}{
		"zeros for ever": {sink.Step{Endless: true}, true},
		"dripping":       {sink.Step{Drip: sink.Duration(200 * time.Millisecond), Body: "ok"}, true},
		"five megabytes": {sink.Step{BodySize: 5 << 20}, true},
		"gzip bomb":      {sink.Step{GzipSize: 1 << 30}, true},
		"many headers":   {sink.Step{HeaderBytes: 1 << 20}, false},
		"broken UTF-8":   {sink.Step{BodyBase64: []byte("a\x00b\xff" + strings.Repeat("ü", 3000))}, true},
		"not gzip":       {sink.Step{Body: "plain", Headers: map[string]string{"Content-Encoding": "gzip"}}, true},
	}
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	for name, test := range tests {
		hook := strings.ReplaceAll(name, " ", "-")
		s.sink.SetPlan(hook, sink.Plan{Steps: []sink.Step{test.step}})
		client := &metered{Doer: s.client}
		result := Send(t.Context(), client, s.attempt(hook))
		if result.Status != 200 || Classify(result).Class != Delivered {
			t.Errorf("%s: %d %v", name, result.Status, result.Err)
		}
		if result.ExcerptTruncated != test.truncated || len(result.Excerpt) > MaxExcerptBytes || !utf8.ValidString(result.Excerpt) || strings.ContainsRune(result.Excerpt, 0) {
			t.Errorf("%s: truncated %v, %d bytes, %.20q", name, result.ExcerptTruncated, len(result.Excerpt), result.Excerpt)
		}
		// What is slow is left after BodyTime, what is large after MaxReadBytes.
		if result.Total >= Deadline || client.read.Load() > MaxReadBytes {
			t.Errorf("%s: took %v for %d bytes", name, result.Total, client.read.Load())
		}
		if name == "many headers" && (!result.HeadersTruncated || len(fmt.Sprint(result.Headers)) > MaxKeptHeaderBytes+1000) {
			t.Errorf("%s: kept %d bytes, truncated %v", name, len(fmt.Sprint(result.Headers)), result.HeadersTruncated)
		}
		if count := s.sink.Count(hook); count.Requests != 1 {
			t.Errorf("%s: %d POSTs", name, count.Requests)
		}
	}
	runtime.ReadMemStats(&after)
	if grown := after.TotalAlloc - before.TotalAlloc; grown > 64<<20 {
		t.Errorf("%d MB allocated", grown>>20)
	}
}

// Field case F14: never followed, never counted as delivered, and the signature stays with the first host.
func TestRedirects(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	for status, location := range map[int]string{302: "/hook/login?SECRET", 301: "https://example.org/SECRET", 307: s.url + "/hook/inner", 308: ""} {
		result := s.send(t, fmt.Sprint("r", status), sink.Step{Status: status, Location: location})
		if result.Status != status || Classify(result).Class != Redirected {
			t.Errorf("%d: %+v", status, result)
		}
		if strings.Contains(result.Location+fmt.Sprint(result.Headers), "SECRET") || (location != "" && !strings.HasPrefix(result.Location, "http")) {
			t.Errorf("%d points to %q", status, result.Location)
		}
	}
	for _, target := range []string{"login", "inner"} {
		if n := s.sink.Count(target).Requests; n != 0 {
			t.Errorf("%s was called %d times", target, n)
		}
	}
}

func TestNoAnswerSaysWhy(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	drop := s.send(t, "drop", sink.Step{Drop: true})
	if drop.Kind != egress.KindReset || drop.Status != 0 || Classify(drop).Class != Retryable || s.sink.Count("drop").Requests != 1 {
		t.Errorf("drop: %+v", drop)
	}
	s.sink.SetPlan("slow", sink.Plan{Steps: []sink.Step{{Delay: sink.Duration(time.Minute)}}})
	short, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if slow := Send(short, s.client, s.attempt("slow")); slow.Kind != egress.KindTimeout || Classify(slow).Class != Retryable {
		t.Errorf("slow: %+v", slow)
	}
	stopped, stop := context.WithCancel(t.Context())
	stop()
	if result := Send(stopped, s.client, s.attempt("stopped")); Classify(result).Class != Interrupted {
		t.Errorf("stopped: %+v", result)
	}
	guarded := egress.New(egress.Options{})
	for _, address := range []string{s.url + "/hook/guarded?SECRET", "https://127.1/?SECRET", "::SECRET"} {
		attempt := s.attempt("guarded")
		attempt.URL = address
		result := Send(t.Context(), guarded, attempt)
		if Classify(result).Class != Refused || strings.Contains(result.Err.Error(), "SECRET") {
			t.Errorf("%s: %+v", address, result)
		}
	}
	if s.sink.Count("guarded").Requests != 0 {
		t.Error("a refused address was called")
	}
}

func TestRetryAfterReachesTheOutcome(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	if got := Classify(s.send(t, "s", sink.Step{Status: 429, RetryAfter: "120"})); got != (Outcome{Snoozed, 2 * time.Minute}) {
		t.Errorf("seconds: %+v", got)
	}
	if got := Classify(s.send(t, "d", sink.Step{Status: 503, RetryAfterIn: sink.Duration(time.Minute)})); got.Class != Snoozed || got.Wait < 55*time.Second || got.Wait > time.Minute {
		t.Errorf("date: %+v", got)
	}
}

func TestAnExcerptOfAnError(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	result := s.send(t, "e", sink.Step{Status: 422, Body: "no such field: ü\n"})
	if result.Excerpt != "no such field: ü\n" || result.ExcerptTruncated {
		t.Errorf("%q %v", result.Excerpt, result.ExcerptTruncated)
	}
}

// FuzzExcerpt: whatever comes, in whatever pieces, the excerpt is short text that PostgreSQL takes.
func FuzzExcerpt(f *testing.F) {
	f.Add([]byte("a\x00\xff"), 3)
	f.Add([]byte(strings.Repeat("ü", 4000)), 7)
	f.Fuzz(func(t *testing.T, raw []byte, length int) {
		excerpt, truncated := readExcerpt(strings.NewReader(string(raw)), int64(length))
		if len(excerpt) > MaxExcerptBytes || !utf8.ValidString(excerpt) || strings.ContainsRune(excerpt, 0) {
			t.Errorf("%q", excerpt)
		}
		if len(raw) <= MaxExcerptBytes && truncated {
			t.Error("a short body counts as truncated")
		}
	})
}

// BenchmarkSend measures sender and receiver together on this machine, against the lean receiver of the benchmarks and
// against net/http that remembers ids.
func BenchmarkSend(b *testing.B) {
	s := newStage(b)
	lean, err := s.sink.ListenLean("127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(lean.Close)
	s.sink.SetPlan("b", sink.Plan{Record: sink.RecordIDs})
	body, err := Body{Type: "corpus.note.changed", ID: "evt_1", Timestamp: time.Now(), Subject: "wiki://a/b", Data: []byte(`{"note_id":"1","published":true}`)}.Encode()
	if err != nil {
		b.Fatal(err)
	}
	keys := []Signer{GenerateSecret()}
	for name, address := range map[string]string{"lean": lean.URL() + "b", "nethttp": s.url + "/hook/b"} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			b.SetParallelism(32)
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					result := Send(b.Context(), s.client, Request{URL: address, ID: "evt_1", At: time.Now(), Body: body, Keys: keys, UserAgent: "Gatehouse/bench"})
					if result.Status != 200 {
						b.Errorf("%+v", result)
						return
					}
				}
			})
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "deliveries/s")
		})
	}
}
