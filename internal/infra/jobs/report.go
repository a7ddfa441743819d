package jobs

import (
	"context"
	"encoding/json"
)

// Run is what a handler may know about the attempt it is in.
type Run struct {
	ID      ID
	Kind    string
	Attempt int // in this cycle, from 1; a snoozed try does not count
	Total   int // over all cycles
	report  func(json.RawMessage)
}

type runKey struct{}

// WithRun is for implementations: it puts the running attempt into ctx. report
// receives what the handler passes to Report.
func WithRun(ctx context.Context, r Run, report func(json.RawMessage)) context.Context {
	r.report = report
	return context.WithValue(ctx, runKey{}, r)
}

// Current returns the attempt whose handler ctx belongs to, and false outside
// of a handler.
func Current(ctx context.Context) (Run, bool) {
	r, ok := ctx.Value(runKey{}).(Run)
	return r, ok
}

// Report attaches a small JSON value (status code, timings) to the running
// attempt; the last one wins. Outside of a handler, or when v cannot be
// marshalled, it does nothing: a report never fails the work it describes.
func Report(ctx context.Context, v any) {
	r, ok := Current(ctx)
	if !ok || r.report == nil {
		return
	}
	if b, err := json.Marshal(v); err == nil {
		r.report(b)
	}
}
