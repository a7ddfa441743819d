package main

import (
	"context"
	"time"

	"github.com/gatehouse-hq/gatehouse/internal/infra/jobs"
	"github.com/gatehouse-hq/gatehouse/internal/infra/telemetry"
)

// figures asks queue and bus for what /metrics tells.
func (a *app) figures(ctx context.Context) (telemetry.Figures, error) {
	f := telemetry.Figures{Tasks: map[string]map[string]int{}, Oldest: map[string]time.Duration{}}
	kinds, err := a.runtime.Overview(ctx, "")
	if err != nil {
		return f, err
	}
	declared := map[string]bool{}
	for _, k := range a.runtime.Kinds() {
		declared[k.Name] = true
	}
	for _, k := range kinds {
		// A kind of another version is a name that this program does not vouch for.
		if !declared[k.Kind] {
			continue
		}
		f.Tasks[k.Kind] = map[string]int{}
		for _, s := range jobs.States() {
			f.Tasks[k.Kind][string(s)] = k.States[s].N
		}
		if k.Oldest != nil {
			f.Oldest[k.Kind] = age(k.Oldest)
		}
	}
	queues, err := a.runtime.Queues(ctx)
	if err != nil {
		return f, err
	}
	for _, q := range queues {
		f.Queues = append(f.Queues, telemetry.QueueFigures{Name: q.Name, Running: q.Running, Workers: q.Limit, Waiting: q.Waiting.N, Oldest: age(q.Oldest)})
	}
	backlog, err := a.bus.Backlog(ctx)
	f.EventsWaiting, f.EventsPoisoned, f.EventsOldest, f.EventsBytes = backlog.Waiting.N, backlog.Poisoned.N, backlog.Oldest, backlog.Bytes
	return f, err
}

func age(since *time.Time) time.Duration {
	if since == nil {
		return 0
	}
	return max(time.Since(*since), 0)
}
