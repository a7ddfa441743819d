package telemetry

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// Figures are what the database knows at a moment. Names of kinds, states and queues are declared in the program; nothing
// in them comes from outside.
type Figures struct {
	Tasks  map[string]map[string]int // kind → state → how many, counted up to 1,000
	Oldest map[string]time.Duration  // kind → age of the task that is due longest; absent: none is due
	Queues []QueueFigures

	EventsWaiting, EventsPoisoned int // counted up to 10,000
	EventsOldest                  time.Duration
	EventsBytes                   int64
}

// QueueFigures are the load of one queue over all processes.
type QueueFigures struct {
	Name                      string
	Running, Workers, Waiting int
	Oldest                    time.Duration
}

// Look reads the figures. It is called at most once in figuresKept, with a context that ends after lookTime.
type Look func(ctx context.Context) (Figures, error)

const (
	// figuresKept is how old figures may be: however many ask, the database is asked once in that time.
	figuresKept = 10 * time.Second
	// lookTime bounds a look; the statement under way is then cancelled.
	lookTime = 3 * time.Second
)

// Metrics collects what the process counts by itself and serves it together with what a Look finds, in Prometheus' text
// format. Labels are of a few declared words: never an id, an address or a text.
type Metrics struct {
	registry *prometheus.Registry
	log      *slog.Logger

	passes     *prometheus.CounterVec
	relayed    prometheus.Counter
	passTime   prometheus.Histogram
	deliveries *prometheus.HistogramVec
}

// NewMetrics returns metrics at zero. look may be nil: a process may know nothing of a database.
func NewMetrics(look Look, log *slog.Logger) *Metrics {
	m := &Metrics{
		registry: prometheus.NewRegistry(), log: log,
		passes: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "gatehouse_relay_passes_total",
			Help: "Passes of this process's relay that held events or failed."}, []string{"outcome"}),
		relayed: prometheus.NewCounter(prometheus.CounterOpts{Name: "gatehouse_relay_events_total",
			Help: "Events that this process's relay turned into tasks or set aside."}),
		passTime: prometheus.NewHistogram(prometheus.HistogramOpts{Name: "gatehouse_relay_pass_seconds",
			Help: "Time of a pass that held events.", Buckets: prometheus.ExponentialBuckets(0.001, 2.5, 9)}),
		deliveries: prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "gatehouse_delivery_seconds",
			Help: "Time from this process's webhook request to its answer or failure.", Buckets: []float64{.005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 15}}, []string{"outcome"}),
	}
	for _, outcome := range []string{"done", "failed"} {
		m.passes.WithLabelValues(outcome)
	}
	m.registry.MustRegister(m.passes, m.relayed, m.passTime, m.deliveries,
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	if look != nil {
		m.registry.MustRegister(&figures{look: look, log: log})
	}
	return m
}

// Passed counts a pass of the relay.
func (m *Metrics) Passed(held int, took time.Duration, err error) {
	if err != nil {
		m.passes.WithLabelValues("failed").Inc()
		return
	}
	m.passes.WithLabelValues("done").Inc()
	m.relayed.Add(float64(held))
	m.passTime.Observe(took.Seconds())
}

// Sent counts a webhook request; outcome is one of the few words of package webhook.
func (m *Metrics) Sent(outcome string, took time.Duration) {
	m.deliveries.WithLabelValues(outcome).Observe(took.Seconds())
}

// Handler serves /metrics and nothing else.
func (m *Metrics) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{
		ErrorLog:            promLog{m.log},
		ErrorHandling:       promhttp.ContinueOnError,
		MaxRequestsInFlight: 4,
		Timeout:             2 * lookTime,
	}))
	return mux
}

type promLog struct{ *slog.Logger }

func (l promLog) Println(v ...any) {
	for _, one := range v {
		if err, ok := one.(error); ok {
			l.Warn("metrics could not all be collected", "error", err)
		}
	}
}

// The metrics of Figures.
var (
	tasksDesc       = prometheus.NewDesc("gatehouse_tasks", "Tasks by kind and state, counted up to 1000.", []string{"kind", "state"}, nil)
	taskOldestDesc  = prometheus.NewDesc("gatehouse_tasks_oldest_due_seconds", "How long the task that is due longest has been due.", []string{"kind"}, nil)
	runningDesc     = prometheus.NewDesc("gatehouse_queue_running", "Tasks that run.", []string{"queue"}, nil)
	workersDesc     = prometheus.NewDesc("gatehouse_queue_workers", "Workers over all live processes.", []string{"queue"}, nil)
	waitingDesc     = prometheus.NewDesc("gatehouse_queue_waiting", "Tasks that wait, for their time or for a worker, counted up to 1000.", []string{"queue"}, nil)
	queueOldestDesc = prometheus.NewDesc("gatehouse_queue_oldest_due_seconds", "How long the task that is due longest has been due.", []string{"queue"}, nil)
	eventsDesc      = prometheus.NewDesc("gatehouse_events", "Events that wait to be handed over and those set aside, counted up to 10000.", []string{"state"}, nil)
	eventOldestDesc = prometheus.NewDesc("gatehouse_events_oldest_waiting_seconds", "Age of the event that waits longest to be handed over.", nil, nil)
	eventBytesDesc  = prometheus.NewDesc("gatehouse_events_bytes", "Size of the table of events with its indexes.", nil, nil)
	lookedDesc      = prometheus.NewDesc("gatehouse_figures_ok", "1 when the database could be asked for the figures above; 0 when not, and they are then absent.", nil, nil)
)

// figures asks for Figures when somebody scrapes, seldom and briefly.
type figures struct {
	look Look
	log  *slog.Logger

	mu    sync.Mutex
	at    time.Time
	last  Figures
	err   error
	asked bool
}

// Describe implements prometheus.Collector.
func (f *figures) Describe(out chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{tasksDesc, taskOldestDesc, runningDesc, workersDesc, waitingDesc, queueOldestDesc,
		eventsDesc, eventOldestDesc, eventBytesDesc, lookedDesc} {
		out <- d
	}
}

// Collect implements prometheus.Collector. A failure is remembered as long as a finding, so that a database in trouble is
// not asked more often.
func (f *figures) Collect(out chan<- prometheus.Metric) {
	now, err := f.recent()
	gauge := func(d *prometheus.Desc, v float64, labels ...string) {
		out <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
	}
	if err != nil {
		gauge(lookedDesc, 0)
		return
	}
	gauge(lookedDesc, 1)
	for kind, states := range now.Tasks {
		for state, n := range states {
			gauge(tasksDesc, float64(n), kind, state)
		}
	}
	for kind, age := range now.Oldest {
		gauge(taskOldestDesc, age.Seconds(), kind)
	}
	for _, q := range now.Queues {
		gauge(runningDesc, float64(q.Running), q.Name)
		gauge(workersDesc, float64(q.Workers), q.Name)
		gauge(waitingDesc, float64(q.Waiting), q.Name)
		gauge(queueOldestDesc, q.Oldest.Seconds(), q.Name)
	}
	gauge(eventsDesc, float64(now.EventsWaiting), "waiting")
	gauge(eventsDesc, float64(now.EventsPoisoned), "poisoned")
	gauge(eventOldestDesc, now.EventsOldest.Seconds())
	gauge(eventBytesDesc, float64(now.EventsBytes))
}

func (f *figures) recent() (Figures, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.asked && time.Since(f.at) < figuresKept {
		return f.last, f.err
	}
	ctx, cancel := context.WithTimeout(context.Background(), lookTime)
	defer cancel()
	before := f.err
	f.last, f.err = f.look(ctx)
	f.at, f.asked = time.Now(), true
	if f.err != nil && before == nil && !errors.Is(f.err, context.Canceled) {
		f.log.Warn("the database's figures are missing from the metrics", "error", f.err)
	}
	return f.last, f.err
}
