package tasks

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
)

// The topics that pages listen to.
const (
	TopicTasks  = "tasks"
	TopicEvents = "events"
)

// Pulse describes the present state of each topic in a short text: when the
// text changes, pages that show the topic are out of date.
func (d *Domain) Pulse(ctx context.Context) (map[string]string, error) {
	kinds, err := d.Jobs.Overview(ctx, "")
	if err != nil {
		return nil, fmt.Errorf("feel the pulse of tasks: %w", err)
	}
	last, err := d.List(ctx, Query{Limit: 1})
	if err != nil {
		return nil, fmt.Errorf("feel the pulse of tasks: %w", err)
	}
	moves := int64(0)
	for _, k := range kinds {
		moves += k.Moves
	}
	periodics, err := d.Jobs.Periodic(ctx)
	if err != nil {
		return nil, fmt.Errorf("feel the pulse of periodics: %w", err)
	}
	// Counts stop at a bound, so the newest task is part of it; and a task that was tried in vain is counted as before.
	counts, err := json.Marshal(struct {
		Kinds     any
		Moves     int64
		Last      []Task
		Periodics any
	}{kinds, moves, last.Tasks, periodics})
	if err != nil {
		return nil, err
	}
	page, err := d.ListEvents(ctx, EventQuery{Limit: 1})
	if err != nil {
		return nil, fmt.Errorf("feel the pulse of events: %w", err)
	}
	backlog, err := d.Stream.Backlog(ctx)
	if err != nil {
		return nil, fmt.Errorf("feel the pulse of events: %w", err)
	}
	seq := int64(0)
	if len(page.Events) > 0 {
		seq = page.Events[0].Seq
	}
	stream := strconv.FormatInt(seq, 10) + " " + strconv.Itoa(backlog.Waiting.N) + " " + strconv.Itoa(backlog.Poisoned.N) + " " + strconv.FormatInt(backlog.Faults, 10)
	return map[string]string{TopicTasks: string(counts), TopicEvents: stream}, nil
}
