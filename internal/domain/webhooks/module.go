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
		Handler: h.Deliver, Subject: deliverSubject, Cancelled: d.TaskCancelled,
	}, {
		Name: TestKind, Title: "Test an endpoint", Description: "Sends a test event to one endpoint, once.",
		Queue: DeliverQueue, Policy: jobs.Policy{Attempts: 1, Timeout: attemptTime}, Handler: h.Deliver, Awaited: true, Subject: deliverSubject,
		Cancelled: d.TaskCancelled,
	}, {
		Name: CatchUpKind, Title: "Catch up with an endpoint", Description: "Sends what was parked or failed while an endpoint was away: one, then twice as many each second.",
		Queue: "bulk", Policy: bulk, Handler: d.CatchUp,
	}, {
		Name: RecoverKind, Title: "Recover an endpoint", Description: "Queues again what an endpoint should have heard. It goes on where it was interrupted; cancel it to stop.",
		Queue: "bulk", Policy: bulk, Handler: d.RunRecovery,
	}}
}

func (d *Domain) periodics() []jobs.Periodic {
	return []jobs.Periodic{{
		Name: "webhook.prune", Title: "Forget old deliveries", Every: time.Hour, Run: d.Prune,
		Description: "Forgets deliveries 14 days after they settled, drops what was parked for 30 days, and settles deliveries whose task is gone.",
	}, {
		Name: "webhook.partitions", Title: "Prepare the log of attempts", Every: 6 * time.Hour, Run: d.Partitions,
		Description: "Makes the log's next days and drops those older than 14 days, or the oldest ones when it grows past its bound.",
	}}
}

func (d *Domain) ops() []op.Op {
	return []op.Op{
		op.New("webhooks.list", "List endpoints", "Lists webhook endpoints with their state and what waits for them.", op.Read, d.List),
		op.New("webhooks.get", "Read an endpoint", "Reads one webhook endpoint.", op.Read, d.Get),
		op.New("webhooks.create", "Create an endpoint", "Adds a webhook endpoint. Its signing secret is in the answer, this once.", op.Credential, d.Create),
		op.New("webhooks.update", "Change an endpoint", "Changes an endpoint's address, event types, headers, limit or description. What is left out is kept.", op.Write, d.Update),
		op.WithPlan(op.New("webhooks.delete", "Delete an endpoint", "Deletes an endpoint and cancels what waits for it. Its log stays readable.", op.Destructive, d.Delete), d.planDelete),
		op.New("webhooks.pause", "Pause an endpoint", "Switches an endpoint off; deliveries are parked until it is switched on.", op.Write, d.Pause),
		op.WithPlan(op.New("webhooks.enable", "Switch an endpoint on", "Switches an endpoint on, and delivers or drops what was parked.", op.Write, d.Enable), d.planEnable),
		op.New("webhooks.rotate_secret", "Rotate a signing secret", "Gives an endpoint a new secret; the old one may sign as well for a while.", op.Credential, d.RotateSecret),
		op.New("webhooks.send_test", "Send a test", "Sends one test event to an endpoint and answers with what the receiver said.", op.Egress, d.SendTest),
		op.New("webhooks.deliveries", "List deliveries", "Pages through the log of deliveries, newest event first.", op.Read, d.Deliveries),
		op.New("webhooks.attempt", "Read an attempt", "Reads one request and its answer: times, headers, beginning of the body.", op.Read, d.Attempt),
		op.WithPlan(op.New("webhooks.redeliver", "Deliver again", "Sends up to 100 deliveries again, under the ids they had.", op.Egress, d.Redeliver), d.planRedeliver),
		op.WithPlan(op.New("webhooks.redeliver_failed", "Deliver all failed again", "Sends every failed delivery of an endpoint again; can count first.", op.Egress, d.RedeliverFailed), d.planRedeliverFailed),
		op.WithPlan(op.New("webhooks.recover", "Recover a window of time", "Sends what an endpoint should have heard in a window; can count first.", op.Egress, d.Recover), d.planRecover),
		op.New("webhooks.event_types", "List event types", "Lists the types of events that endpoints can select, with examples.", op.Read, d.EventTypes),
	}
}
