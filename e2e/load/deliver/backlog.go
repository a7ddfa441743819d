package deliver

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/gatehouse-hq/gatehouse/e2e/load/lab"
	"github.com/gatehouse-hq/gatehouse/e2e/load/report"
)

// drained is what became of a backlog, and of fresh events beside it.
type drained struct {
	delivered, seconds float64
	updates, snoozes   float64
	fresh              []time.Duration
}

// Backlog gives a receiver that takes 5 ms more than it can take.
func Backlog(ctx context.Context, l *lab.Lab, r *report.Report) error {
	const delay = 5 * time.Millisecond
	section := r.Section("A backlog at a receiver that takes 5 ms, and fresh events for another")
	return with(ctx, l, func(ctx context.Context, s *site) error {
		s.to.Plan("alone", delay)
		limit, _, err := lab.Bare(ctx, s.to.URL("alone"), 1, time.Duration(l.N(2000))*time.Millisecond)
		if err != nil {
			return err
		}
		d, err := s.backlog(ctx, l.N(2000), delay, time.Minute)
		if err != nil {
			return err
		}
		rate := d.delivered / d.seconds
		section.Add(report.Figure{Name: fmt.Sprintf("drain of %s", report.Number(d.delivered)), Values: []float64{rate}, Unit: "/s",
			Ref:  &report.Reference{Name: "the receiver alone", Value: limit, Unit: "/s"},
			Note: "the receiver alone is a bare client that sends the same signed body, one request at a time over one connection, to the same receiver"})
		section.Add(report.Figure{Name: "drain, of the receiver's own limit", Values: []float64{100 * rate / limit}, Unit: "%", Bar: report.AtLeast(90)})
		section.Add(report.Figure{Name: "job row updates per delivery", Values: []float64{d.updates / (d.delivered + float64(len(d.fresh)))}, Bar: report.AtMost(4.5)})
		section.Add(report.Figure{Name: "snoozes per delivery", Values: []float64{d.snoozes / d.delivered}})
		section.Latency("a fresh event for another endpoint meanwhile", d.fresh, 0, 50, "")
		return nil
	})
}

// Slow gives a receiver that takes 1 s a backlog that it will not get through.
func Slow(ctx context.Context, l *lab.Lab, r *report.Report) error {
	section := r.Section("A backlog at a receiver that takes 1 s, and fresh events for another")
	return with(ctx, l, func(ctx context.Context, s *site) error {
		d, err := s.backlog(ctx, l.N(500), time.Second, time.Duration(l.N(20_000))*time.Millisecond)
		if err != nil {
			return err
		}
		section.Latency("a fresh event for another endpoint meanwhile", d.fresh, 0, 50, fmt.Sprintf("over %.0f s", d.seconds))
		section.Add(report.Figure{Name: "snoozes", Values: []float64{d.snoozes / d.seconds}, Unit: "/s", Bar: report.AtMost(100),
			Note: "counted from the rows themselves, which note each time they are put off"})
		section.Add(report.Figure{Name: "job row updates of every sort", Values: []float64{d.updates / d.seconds}, Unit: "/s",
			Note: "a snooze costs two, one to claim and one to put off; the rest are those of deliveries and of the fresh events"})
		return nil
	})
}

// backlog writes n events for one slow endpoint and, while it works them off
// for at most that long, single ones for another.
func (s *site) backlog(ctx context.Context, n int, delay, most time.Duration) (d drained, err error) {
	if _, err := s.endpoint(ctx, 0, 0, delay); err != nil {
		return d, err
	}
	if _, err := s.endpoint(ctx, 1, 1, 0); err != nil {
		return d, err
	}
	before, err := s.JobUpdates(ctx)
	if err != nil {
		return d, err
	}
	started := time.Now()
	if err := s.write(ctx, n, 0, 1); err != nil {
		return d, err
	}
	waited, stop := context.WithTimeout(ctx, most)
	defer stop()
	var waiting sync.WaitGroup
	defer waiting.Wait()
	over := make(chan struct{})
	waiting.Go(func() {
		_ = s.to.Wait(waited, lab.Hook(0), n) // how far it came is counted
		d.seconds = time.Since(started).Seconds()
		close(over)
	})
	for ctx.Err() == nil && !closed(over) {
		took, err := s.fresh(ctx, len(d.fresh)+1)
		if err != nil {
			return d, err
		}
		d.fresh = append(d.fresh, took)
		time.Sleep(50 * time.Millisecond)
	}
	<-over
	d.delivered = float64(s.to.Count(lab.Hook(0)).Requests)
	if d.snoozes, err = s.Snoozes(ctx); err != nil {
		return d, err
	}
	count := s.JobUpdates
	if int(d.delivered) >= n {
		count = s.stillUpdates
	}
	after, err := count(ctx)
	d.updates = after - before
	return d, err
}

func closed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// fresh writes one event for the second endpoint, which has had all earlier ones.
func (s *site) fresh(ctx context.Context, nth int) (time.Duration, error) {
	started := time.Now()
	if err := s.write(ctx, 1, 1, 1); err != nil {
		return 0, err
	}
	err := s.to.Wait(ctx, lab.Hook(1), nth)
	return time.Since(started), err
}

// stillUpdates is how often rows of the queue were updated, once nothing is
// left to do: states are written up to 250 ms late, and backends tell what they
// did up to a second late.
func (s *site) stillUpdates(ctx context.Context) (n float64, err error) {
	last := -1.0
	for range 8 {
		if n, err = s.JobUpdates(ctx); err != nil || n == last {
			return n, err
		}
		last = n
		time.Sleep(1200 * time.Millisecond)
	}
	return n, nil
}
