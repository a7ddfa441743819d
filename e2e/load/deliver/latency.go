package deliver

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/gatehouse-hq/gatehouse/e2e/load/lab"
	"github.com/gatehouse-hq/gatehouse/e2e/load/report"
)

// generators write the events of a steady load, so that a slow commit delays
// one of many and not the clock.
const generators = 16

// steady writes events at a fixed rate, whatever becomes of them, and returns
// the times from commit to arrival. A load that waited for each answer would
// slow down with the server and hide what it measures.
func (s *site) steady(ctx context.Context, perSecond float64, length time.Duration) (took []time.Duration, err error) {
	s.to.Watch()
	var mu sync.Mutex
	committed := map[string]time.Time{}
	var failed error
	due := make(chan struct{}, 4096)
	var writers sync.WaitGroup
	for range generators {
		writers.Go(func() {
			for range due {
				id, err := s.writeOne(ctx, 0)
				now := time.Now()
				mu.Lock()
				if err != nil {
					failed = err
				} else {
					committed[id] = now
				}
				mu.Unlock()
			}
		})
	}
	started := time.Now()
	n := max(1, int(perSecond*length.Seconds()))
	for i := range n {
		time.Sleep(time.Until(started.Add(time.Duration(float64(i) / perSecond * float64(time.Second)))))
		due <- struct{}{}
	}
	close(due)
	writers.Wait()
	if failed != nil {
		return nil, failed
	}
	for id, at := range committed {
		for {
			if arrived, ok := s.to.Arrived(id); ok {
				took = append(took, max(0, arrived.Sub(at))) // a relay may be faster than the news of the commit
				break
			}
			select {
			case <-ctx.Done():
				return nil, fmt.Errorf("%d of %d events arrived: %w", len(took), n, ctx.Err())
			case <-time.After(time.Millisecond):
			}
		}
	}
	return took, nil
}

// Idle measures commit → received at a modest, steady rate.
func Idle(ctx context.Context, l *lab.Lab, r *report.Report) error {
	section := r.Section("Commit → received, idle")
	return with(ctx, l, func(ctx context.Context, s *site) error {
		if err := s.endpoints(ctx, 1, true); err != nil {
			return err
		}
		_, bare, err := lab.Bare(ctx, s.to.URL("bare"), 1, time.Duration(l.N(1000))*time.Millisecond)
		if err != nil {
			return err
		}
		took, err := s.steady(ctx, 60, time.Duration(l.N(12_000))*time.Millisecond)
		if err != nil {
			return err
		}
		section.Latency("60 events/s to one endpoint", took, 6, 30, "one event a commit, at fixed times")
		section.Add(report.Figure{Name: "for comparison: a bare request and its answer, median", Values: []float64{report.Milliseconds(report.Quantile(bare, 0.5))}, Unit: "ms"})
		return nil
	})
}

// Load measures commit → received at rising rates.
func Load(ctx context.Context, l *lab.Lab, r *report.Report) error {
	median, tail := report.Series{Name: "p50"}, report.Series{Name: "p99"}
	err := with(ctx, l, func(ctx context.Context, s *site) error {
		if err := s.endpoints(ctx, 1, true); err != nil {
			return err
		}
		for _, rate := range []float64{15, 60, 125, 250, 500, 1000, 2000} {
			took, err := s.steady(ctx, rate, time.Duration(l.N(4000))*time.Millisecond)
			if err != nil {
				return fmt.Errorf("%.0f/s: %w", rate, err)
			}
			median.Points = append(median.Points, report.Point{X: rate, Y: report.Milliseconds(report.Quantile(took, 0.5))})
			tail.Points = append(tail.Points, report.Point{X: rate, Y: report.Milliseconds(report.Quantile(took, 0.99))})
		}
		return nil
	})
	r.Plot(report.Plot{File: "latency.svg", Title: "Commit → received against load, one endpoint", X: "events/s", Y: "ms", LogY: true, Series: []report.Series{median, tail}})
	return err
}
