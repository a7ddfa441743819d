package jobs

import (
	"context"
	"encoding/json"
	"time"

	"github.com/gatehouse-hq/gatehouse/internal/infra/pg"
)

// Kind declares a sort of job. Kinds are data handed over at construction.
type Kind struct {
	Name        string // stable; at least 2 characters, no spaces or commas
	Title       string // for people
	Description string
	Queue       string
	Policy      Policy
	Handler     Handler
	// Awaited: somebody waits for jobs of this kind, so its end is written at
	// once and notified, instead of in batches up to 250 ms late.
	Awaited bool
	// RetriedBy names the section that owns retries of this kind; Tasks then
	// refuses and links there.
	RetriedBy string
	// Cancelled is told of each job that a person cancelled: a waiting one in the
	// transaction of the cancel, a running one right after its attempt. nil tells
	// nobody. It is not called for CancelMatching, whose caller knows.
	Cancelled func(ctx context.Context, tx pg.Tx, args json.RawMessage) error
	// Subject tells a person what these args are about; nil shows nothing.
	Subject func(args json.RawMessage) string
}

// Policy says when a failed job is tried again. Only the job layer reads it.
type Policy struct {
	Attempts int                             // attempts in one cycle, ≥ 1
	Backoff  func(attempt int) time.Duration // wait after the n-th failure, before jitter
	Timeout  time.Duration                   // of one attempt; > 0 always
	MaxAge   time.Duration                   // of one cycle, snoozes included; 0 means 14 days
}

// Queue is one lane of workers.
type Queue struct {
	Name     string
	Workers  int
	Cooldown time.Duration // pause between two fetches; caps throughput at Workers/Cooldown
	// NoConn: its handlers hold no database connection while they wait for the
	// outside, so they do not count against the pool.
	NoConn bool
}

// Queues is the table of lanes of jobs.md: separate ones, so that a slow
// receiver cannot slow indexing or mail.
func Queues(webhookWorkers int) []Queue {
	backlog := webhookWorkers / 5
	return []Queue{
		{Name: "index", Workers: 4, Cooldown: 10 * time.Millisecond},
		{Name: "notify", Workers: 2, Cooldown: 10 * time.Millisecond},
		{Name: "webhook_fanout", Workers: 2, Cooldown: 5 * time.Millisecond},
		{Name: "maintenance", Workers: 1, Cooldown: 100 * time.Millisecond},
		{Name: "bulk", Workers: 1, Cooldown: 100 * time.Millisecond},
		{Name: "fetch", Workers: 3, Cooldown: 20 * time.Millisecond},
		{Name: "webhook", Workers: webhookWorkers - backlog, Cooldown: 5 * time.Millisecond, NoConn: true},
		{Name: "webhook_backlog", Workers: backlog, Cooldown: 5 * time.Millisecond, NoConn: true},
	}
}

// DefaultBackoff is 1 s doubling, at most 15 minutes.
func DefaultBackoff(attempt int) time.Duration {
	return exponential(attempt, time.Second, 2, 15*time.Minute)
}

// MailBackoff is 20 s, then three times the one before: eight attempts take
// about six hours.
func MailBackoff(attempt int) time.Duration {
	return exponential(attempt, 20*time.Second, 3, 4*time.Hour)
}

// WebhookBackoff is the field's usual schedule: 5 s, 5 min, 30 min, 2 h, 5 h,
// then 10 h each; 18 attempts take about 5.3 days.
func WebhookBackoff(attempt int) time.Duration {
	steps := []time.Duration{5 * time.Second, 5 * time.Minute, 30 * time.Minute, 2 * time.Hour, 5 * time.Hour, 10 * time.Hour}
	return steps[min(max(attempt, 1), len(steps))-1]
}

func exponential(attempt int, first time.Duration, factor float64, most time.Duration) time.Duration {
	d := float64(first)
	for i := 1; i < attempt && d < float64(most); i++ {
		d *= factor
	}
	return min(time.Duration(d), most)
}
