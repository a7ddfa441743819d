package webhooks

import (
	"context"
	"encoding/json"
	"time"

	"github.com/gatehouse-hq/gatehouse/internal/domain"
	"github.com/gatehouse-hq/gatehouse/internal/infra/events"
	"github.com/gatehouse-hq/gatehouse/internal/infra/jobs"
	"github.com/gatehouse-hq/gatehouse/internal/infra/op"
)

// Handlers do the background work; see package subscriber.
type Handlers interface {
	FanOut(ctx context.Context, es []events.Event) error
	Deliver(ctx context.Context, args json.RawMessage) error
}

// Attempts is how often a delivery is tried: for about 5.3 days.
const Attempts = 18

// attemptTime is the limit of one task: half a second to two in line, ten for the exchange, and the writing.
const attemptTime = 15 * time.Second

// Module is what this domain hands over to be run.
func (d *Domain) Module(h Handlers) domain.Module {
	return domain.Module{
		Name:  "webhooks",
		Types: Types(),
		Subscriptions: []events.Subscription{{
			Name:        FanoutKind,
			Title:       "Match events to endpoints",
			Description: "Creates a delivery for each endpoint that selects an event and may hear it.",
			Types:       []string{"**"},
			Exposed:     true,
			Queue:       "webhook_fanout",
			Policy:      jobs.Policy{Attempts: 10, Backoff: jobs.DefaultBackoff, Timeout: 30 * time.Second},
			HandleBatch: h.FanOut,
		}},
		Kinds:     d.kinds(h),
		Periodics: d.periodics(),
		Ops:       d.ops(),
	}
}

func (d *Domain) kinds(h Handlers) []jobs.Kind {
	bulk := jobs.Policy{Attempts: 10, Backoff: jobs.DefaultBackoff, Timeout: 2 * time.Minute}
	return []jobs.Kind{{
		Name: DeliverKind, Title: "Deliver to an endpoint", Description: "Sends one event to one endpoint: one signed POST.",
		Queue: DeliverQueue, Policy: jobs.Policy{Attempts: Attempts, Backoff: jobs.WebhookBackoff, Timeout: attemptTime},
		Handler: h.Deliver, Subject: deliverSubject,
	}, {
		Name: TestKind, Title: "Test an endpoint", Description: "Sends a test event to one endpoint, once.",
		Queue: DeliverQueue, Policy: jobs.Policy{Attempts: 1, Timeout: attemptTime}, Handler: h.Deliver, Awaited: true, Subject: deliverSubject,
	}, {
		Name: CatchUpKind, Title: "Catch up with an endpoint", Description: "Sends what was parked or failed while an endpoint was away: one, then twice as many each second.",
		Queue: "bulk", Policy: bulk, Handler: d.CatchUp,
	}}
}

func (d *Domain) periodics() []jobs.Periodic { return nil }

func (d *Domain) ops() []op.Op { return nil }
