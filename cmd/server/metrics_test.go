package main

import (
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// labels are those that a metric may have. A new one is a decision: its values must be few and declared in the program.
var labels = []string{"kind", "state", "queue", "outcome", "le", "quantile", "version"}

var (
	sample = regexp.MustCompile(`^([a-z_]+)(?:\{(.*)\})? [-+0-9.e]+(Inf|NaN)?$`)
	pair   = regexp.MustCompile(`([a-zA-Z_]+)="((?:[^"\\]|\\.)*)"`)
	word   = regexp.MustCompile(`^[a-z][a-z_]*(\.[a-z][a-z_]*)*$`)
)

// What is told outside names kinds and states, never what they are about: with real endpoints, events and failed
// deliveries, no label holds an id, an address or a text.
func TestMetricsTellFiguresAndNothingElse(t *testing.T) {
	t.Parallel()
	s := serveAll(t)
	ctx := t.Context()
	for _, sql := range []string{
		`insert into events (owner_id, type, subject) select id, 'secret.type', 'wiki://very-private' from owners`,
		`insert into river.river_job (kind, queue, args, state, attempt, max_attempts, finalized_at, created_at, scheduled_at)
		 values ('https://kind.example/1', 'default', '{"subject": "wiki://very-private"}', 'completed', 1, 3, now(), now(), now()),
		        ('corpus.index', 'index', '{"subject": "wiki://very-private"}', 'completed', 1, 3, now(), now(), now()),
		        ('corpus.index', 'index', '{}', 'available', 0, 3, null, now() - interval '1 hour', now() - interval '1 hour')`,
	} {
		if _, err := s.pool.Exec(ctx, sql); err != nil {
			t.Fatal(err)
		}
	}
	s.metrics.Passed(1, time.Millisecond, nil)
	s.metrics.Sent("delivered", time.Millisecond)
	w := httptest.NewRecorder()
	s.metrics.Handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	text := w.Body.String()
	for _, want := range []string{
		`gatehouse_tasks{kind="corpus.index",state="completed"} 1`, `gatehouse_tasks{kind="corpus.index",state="pending"} 1`,
		`gatehouse_tasks{kind="webhook.deliver",state="discarded"} 0`, `gatehouse_queue_waiting{queue="index"} 1`,
		`gatehouse_events{state="waiting"} `, `gatehouse_relay_passes_total{outcome="done"} 1`, "gatehouse_figures_ok 1", "go_goroutines ", "process_open_fds ",
	} {
		if !strings.Contains(text, "\n"+want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	if !regexp.MustCompile(`\ngatehouse_tasks_oldest_due_seconds\{kind="corpus.index"\} 36\d\d`).MatchString(text) {
		t.Errorf("the oldest is not an hour due in\n%s", text)
	}
	n := 0
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		m := sample.FindStringSubmatch(line)
		if m == nil {
			t.Errorf("cannot read %q", line)
			continue
		}
		n++
		for _, p := range pair.FindAllStringSubmatch(m[2], -1) {
			number := p[1] == "le" || p[1] == "quantile" || p[1] == "version"
			if !slices.Contains(labels, p[1]) || !number && !word.MatchString(p[2]) {
				t.Errorf("%s has the label %s=%q", m[1], p[1], p[2])
			}
		}
	}
	if n < 100 || strings.Contains(text, "private") || strings.Contains(text, "://") {
		t.Errorf("%d samples in\n%s", n, text)
	}
}

func TestMetricsHaveADoorOfTheirOwn(t *testing.T) {
	t.Parallel()
	s := serveAll(t)
	s.cfg.addr, s.cfg.metricsAddr, s.cfg.role = "127.0.0.1:0", "127.0.0.1:0", "worker"
	d, err := listen(s.cfg)
	if err != nil {
		t.Fatal(err)
	}
	if d.site != nil {
		t.Error("a worker opens the site")
	}
	failed := d.serve(s.app)
	url := "http://" + d.metrics.Addr().String()
	get := func(path string) (int, string) {
		t.Helper()
		a, err := http.Get(url + path)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = a.Body.Close() }()
		b, err := io.ReadAll(a.Body)
		if err != nil {
			t.Fatal(err)
		}
		return a.StatusCode, string(b)
	}
	if code, body := get("/metrics"); code != http.StatusOK || !strings.Contains(body, "gatehouse_tasks{") {
		t.Errorf("%d\n%s", code, body)
	}
	for _, path := range []string{"/", "/login", "/admin/", "/healthz"} {
		if code, _ := get(path); code != http.StatusNotFound {
			t.Errorf("%s answers %d", path, code)
		}
	}
	if err := d.shutdown(t.Context()); err != nil {
		t.Error(err)
	}
	select {
	case err := <-failed:
		t.Errorf("ended with %v", err)
	default:
	}
	if _, err := net.Dial("tcp", d.metrics.Addr().String()); err == nil {
		t.Error("the port is still open")
	}
}

func TestAPortThatIsTakenIsNamedAtTheStart(t *testing.T) {
	t.Parallel()
	other, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = other.Close() }()
	for name, c := range map[string]config{
		"GATEHOUSE_ADDR":         {addr: other.Addr().String(), role: "all"},
		"GATEHOUSE_METRICS_ADDR": {addr: "127.0.0.1:0", metricsAddr: other.Addr().String(), role: "all"},
	} {
		_, err := listen(c)
		if err == nil || !strings.Contains(err.Error(), name) || !strings.Contains(err.Error(), other.Addr().String()) || !strings.Contains(err.Error(), "another program listens there already") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := listen(config{role: "worker", metricsAddr: "192.0.2.1:9"}); err == nil || !strings.Contains(err.Error(), "GATEHOUSE_METRICS_ADDR") {
		t.Errorf("an address that is not this machine's: %v", err)
	}
}
