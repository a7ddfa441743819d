package jobs_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/gatehouse-hq/gatehouse/internal/infra/jobs"
)

func TestSchedulesTakeAsLongAsDocumented(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name        string
		backoff     func(int) time.Duration
		attempts    int
		first       time.Duration
		least, most time.Duration
	}{
		{"default, 10 attempts", jobs.DefaultBackoff, 10, time.Second, 8 * time.Minute, 9 * time.Minute},
		{"mail, 8 attempts", jobs.MailBackoff, 8, 20 * time.Second, 5 * time.Hour, 7 * time.Hour},
		{"webhook, 18 attempts", jobs.WebhookBackoff, 18, 5 * time.Second, 5 * 24 * time.Hour, 5*24*time.Hour + 12*time.Hour},
	} {
		var sum time.Duration
		for n := 1; n < c.attempts; n++ {
			d := c.backoff(n)
			if n > 1 && d < c.backoff(n-1) {
				t.Errorf("%s: wait %d is shorter than the one before", c.name, n)
			}
			sum += d
		}
		if c.backoff(1) != c.first || sum < c.least || sum > c.most {
			t.Errorf("%s: first wait %s, all together %s", c.name, c.backoff(1), sum)
		}
		if c.backoff(0) <= 0 || c.backoff(1000) <= 0 {
			t.Errorf("%s: odd attempts wait %s and %s", c.name, c.backoff(0), c.backoff(1000))
		}
	}
}

func TestQueuesShareTheWebhookWorkers(t *testing.T) {
	t.Parallel()
	sum := 0
	for _, q := range jobs.Queues(200) {
		if q.Workers < 1 || q.Cooldown <= 0 {
			t.Errorf("queue %+v", q)
		}
		if q.NoConn {
			sum += q.Workers
		}
	}
	if sum != 200 {
		t.Errorf("%d webhook workers", sum)
	}
}

func TestClassesKeepTheirReason(t *testing.T) {
	t.Parallel()
	reason := errors.New("why")
	var d *jobs.DiscardError
	for _, c := range []struct {
		err       error
		uncertain bool
	}{{jobs.Discard(reason), false}, {jobs.Hold(reason), true}} {
		if !errors.As(c.err, &d) || d.Uncertain != c.uncertain || !errors.Is(c.err, reason) || c.err.Error() != "why" {
			t.Errorf("%#v", c.err)
		}
	}
	if jobs.Discard(nil).Error() == "" {
		t.Error("discarded without a word")
	}
	var s *jobs.SnoozeError
	if !errors.As(jobs.Snooze(-time.Second), &s) || s.For != 0 {
		t.Errorf("a snooze into the past: %v", s)
	}
}

func TestReportOutsideOfAHandlerDoesNothing(t *testing.T) {
	t.Parallel()
	jobs.Report(context.Background(), 1)
	var got string
	ctx := jobs.WithRun(context.Background(), jobs.Run{ID: 7}, func(b json.RawMessage) { got = string(b) })
	jobs.Report(ctx, map[string]int{"a": 1})
	jobs.Report(ctx, func() {})
	if r, ok := jobs.Current(ctx); !ok || r.ID != 7 || got != `{"a":1}` {
		t.Errorf("run %+v, report %s", r, got)
	}
}
