package main

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/gatehouse-hq/gatehouse/mock-stack/sink"
)

// throughput writes events and waits until every endpoint has had its own.
func (s *site) throughput(ctx context.Context, n, endpoints int, shared bool) (string, error) {
	if err := s.endpoints(ctx, endpoints, shared); err != nil {
		return "", err
	}
	kinds, each := endpoints, n/endpoints
	if shared {
		kinds, each = 1, n
	}
	if err := s.resetStatements(ctx); err != nil {
		return "", err
	}
	started := time.Now()
	if err := s.write(ctx, n, 0, kinds); err != nil {
		return "", err
	}
	for i := range endpoints {
		if err := s.sink.Wait(ctx, fmt.Sprintf("h%d", i), each); err != nil {
			return "", fmt.Errorf("hook %d has %d of %d, and the queue %s: %w", i, s.sink.Count(fmt.Sprintf("h%d", i)).Requests, each, s.queue(), err)
		}
	}
	took := time.Since(started)
	total := each * endpoints
	var fanned time.Time
	if err := s.db.QueryRow(ctx, `select max(created_at) from webhook_deliveries`).Scan(&fanned); err != nil {
		return "", err
	}
	repeats, most := 0, 0
	for i := range endpoints {
		c := s.sink.Count(fmt.Sprintf("h%d", i))
		repeats += c.Requests - c.DistinctIDs
		most = max(most, c.MaxInFlight)
	}
	if err := s.settled(ctx); err != nil {
		return "", err
	}
	calls, err := s.statements(ctx)
	return fmt.Sprintf("%6.0f deliveries/s  %.2f statements each  %d repeated  %d at once for one endpoint  fan-out done after %s of %s  %s", float64(total)/took.Seconds(),
		float64(calls)/float64(total), repeats, most,
		fanned.Sub(started).Round(time.Millisecond), took.Round(time.Millisecond), rss()), err
}

// settled waits until no delivery is open.
func (s *site) settled(ctx context.Context) error {
	for ctx.Err() == nil {
		var open bool
		if err := s.db.QueryRow(ctx, `select exists (select from webhook_deliveries where state = 'waiting')`).Scan(&open); err != nil || !open {
			return err
		}
		time.Sleep(20 * time.Millisecond)
	}
	return ctx.Err()
}

// backlog gives one slow endpoint more than it can take, and meanwhile sends fresh events to another.
func (s *site) backlog(ctx context.Context, n int, delay, most time.Duration) (string, error) {
	if err := s.endpoints(ctx, 2, false); err != nil {
		return "", err
	}
	s.sink.SetPlan("h0", sink.Plan{Record: sink.RecordIDs, Steps: []sink.Step{{Delay: sink.Duration(delay)}}})
	before, err := s.jobUpdates(ctx)
	if err != nil {
		return "", err
	}
	started := time.Now()
	if err := s.write(ctx, n, 0, 1); err != nil {
		return "", err
	}
	waited, stop := context.WithTimeout(ctx, most)
	defer stop()
	drained := make(chan time.Duration, 1)
	var waiting sync.WaitGroup
	waiting.Go(func() {
		_ = s.sink.Wait(waited, "h0", n)
		drained <- time.Since(started)
	})
	var fresh []time.Duration
	for len(drained) == 0 && ctx.Err() == nil {
		took, err := s.one(ctx, 1, len(fresh)+1)
		if err != nil {
			return "", err
		}
		fresh = append(fresh, took)
		time.Sleep(50 * time.Millisecond)
	}
	waiting.Wait()
	took := <-drained
	got := s.sink.Count("h0").Requests
	time.Sleep(500 * time.Millisecond) // states are written up to 250 ms late
	after, err := s.jobUpdates(ctx)
	rate := float64(got) / took.Seconds()
	return fmt.Sprintf("%6.1f/s = %.0f %% of its limit  %.1f job updates a delivery, %.0f/s  fresh p50 %s p99 %s  at once %d", rate, 100*rate*delay.Seconds(),
		float64(after-before)/float64(got+len(fresh)), float64(after-before)/took.Seconds(), quantile(fresh, 0.5), quantile(fresh, 0.99), s.sink.Count("h0").MaxInFlight), err
}

// one writes one event of a type and waits for its hook to have had its n-th.
func (s *site) one(ctx context.Context, typ, nth int) (time.Duration, error) {
	started := time.Now()
	if err := s.write(ctx, 1, typ, 1); err != nil {
		return 0, err
	}
	err := s.sink.Wait(ctx, fmt.Sprintf("h%d", typ), nth)
	return time.Since(started), err
}

// idle writes single events at a steady, modest rate and takes the time from commit to arrival.
func (s *site) idle(ctx context.Context, length time.Duration) (string, error) {
	if err := s.endpoints(ctx, 1, true); err != nil {
		return "", err
	}
	var took []time.Duration
	for end := time.Now().Add(length); time.Now().Before(end); {
		next := time.Now().Add(time.Second / 60)
		if err := s.write(ctx, 1, 0, 1); err != nil {
			return "", err
		}
		committed := time.Now()
		if err := s.sink.Wait(ctx, "h0", len(took)+1); err != nil {
			return "", err
		}
		took = append(took, time.Since(committed))
		time.Sleep(time.Until(next))
	}
	return fmt.Sprintf("commit → received p50 %s p99 %s  %s", quantile(took, 0.5), quantile(took, 0.99), heap()), nil
}

// hanging compares the throughput of a hundred endpoints without and with one that never answers.
func (s *site) hanging(ctx context.Context) (string, error) {
	const healthy, each = 100, 100
	if err := s.endpoints(ctx, healthy+1, false); err != nil {
		return "", err
	}
	s.sink.SetPlan(fmt.Sprintf("h%d", healthy), sink.Plan{Record: sink.RecordIDs, Steps: []sink.Step{{Delay: sink.Duration(12 * time.Second)}}})
	round := func(nth, kinds int) (float64, error) {
		started := time.Now()
		if err := s.write(ctx, kinds*each, 0, kinds); err != nil {
			return 0, err
		}
		for i := range healthy {
			if err := s.sink.Wait(ctx, fmt.Sprintf("h%d", i), nth*each); err != nil {
				return 0, err
			}
		}
		return float64(healthy*each) / time.Since(started).Seconds(), nil
	}
	if _, err := round(1, healthy); err != nil {
		return "", err
	}
	without, err := round(2, healthy)
	if err != nil {
		return "", err
	}
	with, err := round(3, healthy+1)
	return fmt.Sprintf("%6.0f/s without  %.0f/s with = %.0f %%", without, with, 100*with/without), err
}

func quantile(list []time.Duration, q float64) time.Duration {
	if len(list) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(list))
	return sorted[min(int(q*float64(len(sorted))), len(sorted)-1)].Round(100 * time.Microsecond)
}
