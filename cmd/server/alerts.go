package main

import (
	"context"

	"github.com/gatehouse-hq/gatehouse/internal/domain"
	"github.com/gatehouse-hq/gatehouse/internal/domain/tasks"
)

// alertsOf tells the page of tasks what a domain worries about.
func alertsOf(ask func(ctx context.Context) ([]domain.Alert, error)) tasks.Check {
	return func(ctx context.Context) ([]tasks.Reason, error) {
		alerts, err := ask(ctx)
		out := make([]tasks.Reason, 0, len(alerts))
		for _, w := range alerts {
			verdict := tasks.Attention
			if w.Stuck {
				verdict = tasks.Stuck
			}
			out = append(out, tasks.Reason{Code: w.Code, Verdict: verdict, Title: w.Title, Evidence: w.Evidence, Next: w.Next, Link: w.Link})
		}
		return out, err
	}
}
