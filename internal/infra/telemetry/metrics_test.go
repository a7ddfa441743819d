package telemetry_test

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gatehouse-hq/gatehouse/internal/infra/telemetry"
)

func scrape(t *testing.T, m *telemetry.Metrics) string {
	t.Helper()
	w := httptest.NewRecorder()
	m.Handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	if w.Code != http.StatusOK {
		t.Fatalf("status %d: %s", w.Code, w.Body)
	}
	return w.Body.String()
}

func holds(t *testing.T, text string, lines ...string) {
	t.Helper()
	for _, line := range lines {
		if !strings.Contains(text, "\n"+line+"\n") {
			t.Errorf("no line %q in\n%s", line, text)
		}
	}
}

func TestMetricsSayWhatWasCounted(t *testing.T) {
	t.Parallel()
	m := telemetry.NewMetrics(func(context.Context) (telemetry.Figures, error) {
		return telemetry.Figures{
			Tasks:         map[string]map[string]int{"corpus.index": {"retryable": 3, "discarded": 1}},
			Oldest:        map[string]time.Duration{"corpus.index": 90 * time.Second},
			Queues:        []telemetry.QueueFigures{{Name: "index", Running: 2, Workers: 4, Waiting: 7, Oldest: time.Minute}},
			EventsWaiting: 5, EventsPoisoned: 1, EventsOldest: 2 * time.Second, EventsBytes: 8192,
		}, nil
	}, slog.New(slog.DiscardHandler))
	m.Passed(40, 3*time.Millisecond, nil)
	m.Passed(0, time.Second, errors.New("gone"))
	m.Sent("delivered", 30*time.Millisecond)
	m.Sent("retryable", time.Hour)
	holds(t, scrape(t, m),
		`gatehouse_tasks{kind="corpus.index",state="retryable"} 3`, `gatehouse_tasks_oldest_due_seconds{kind="corpus.index"} 90`,
		`gatehouse_queue_running{queue="index"} 2`, `gatehouse_queue_workers{queue="index"} 4`, `gatehouse_queue_waiting{queue="index"} 7`,
		`gatehouse_queue_oldest_due_seconds{queue="index"} 60`,
		`gatehouse_events{state="waiting"} 5`, `gatehouse_events{state="poisoned"} 1`, "gatehouse_events_oldest_waiting_seconds 2", "gatehouse_events_bytes 8192",
		`gatehouse_relay_passes_total{outcome="done"} 1`, `gatehouse_relay_passes_total{outcome="failed"} 1`, "gatehouse_relay_events_total 40",
		`gatehouse_relay_pass_seconds_bucket{le="0.00625"} 1`, `gatehouse_delivery_seconds_bucket{outcome="delivered",le="0.025"} 0`,
		`gatehouse_delivery_seconds_bucket{outcome="delivered",le="0.05"} 1`, `gatehouse_delivery_seconds_count{outcome="retryable"} 1`,
		"gatehouse_figures_ok 1")
}

// However many scrape, the database is asked once; one that does not answer is given up, not asked again at once, and
// what the process counts itself is served all the same.
func TestScrapesDoNotLoadTheDatabase(t *testing.T) {
	t.Parallel()
	var asked atomic.Int32
	m := telemetry.NewMetrics(func(ctx context.Context) (telemetry.Figures, error) {
		asked.Add(1)
		if _, bounded := ctx.Deadline(); !bounded {
			t.Error("a look has no end")
		}
		return telemetry.Figures{}, errors.New("too slow")
	}, slog.New(slog.DiscardHandler))
	var all sync.WaitGroup
	for range 3 {
		all.Go(func() {
			text := scrape(t, m)
			holds(t, text, "gatehouse_figures_ok 0", `gatehouse_relay_passes_total{outcome="done"} 0`)
			if strings.Contains(text, "gatehouse_tasks{") || !strings.Contains(text, "go_goroutines") || !strings.Contains(text, "process_start_time_seconds") {
				t.Errorf("scraped\n%s", text)
			}
		})
	}
	all.Wait()
	if n := asked.Load(); n != 1 {
		t.Errorf("asked %d times", n)
	}
}

func TestNothingButMetricsIsServed(t *testing.T) {
	t.Parallel()
	h := telemetry.NewMetrics(nil, slog.New(slog.DiscardHandler)).Handler()
	for path, want := range map[string]int{"/metrics": http.StatusOK, "/": http.StatusNotFound, "/admin/": http.StatusNotFound, "/debug/pprof/": http.StatusNotFound} {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
		if w.Code != want {
			t.Errorf("%s: %d, want %d", path, w.Code, want)
		}
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(http.MethodHead, "/metrics", nil))
	if w.Code != http.StatusOK {
		t.Errorf("HEAD: %d", w.Code)
	}
}
