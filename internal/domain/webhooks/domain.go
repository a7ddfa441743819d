package webhooks

import (
	"context"
	"encoding/json"
	"time"

	"github.com/gatehouse-hq/gatehouse/internal/infra/egress"
	"github.com/gatehouse-hq/gatehouse/internal/infra/events"
	"github.com/gatehouse-hq/gatehouse/internal/infra/jobs"
	"github.com/gatehouse-hq/gatehouse/internal/infra/pg"
	"github.com/gatehouse-hq/gatehouse/internal/infra/seal"
)

// Wire is what the delivery side knows of the wire format: keys, headers, bodies.
type Wire interface {
	// NewKey makes a random key; public is empty for HMAC.
	NewKey(s Scheme) (id, private, public string)
	// CheckHeaders returns the index of the first header that cannot be sent, and why, or -1. part is "name" or "value".
	CheckHeaders(hs []Header) (index int, part, reason string)
	// Body is the exact body of an event's requests.
	Body(e events.Event) ([]byte, error)
}

// Addresses decides which typed addresses may be called. An *egress.Client is one.
type Addresses interface {
	Check(ctx context.Context, rawURL string) error
	Allow() egress.AllowList
}

// Deps are what the use cases stand on.
type Deps struct {
	DB        *pg.DB
	Recorder  events.Recorder
	Sealer    *seal.Sealer
	Addresses Addresses
	Wire      Wire
}

// Domain is the use cases of webhooks. It is safe for concurrent use.
type Domain struct {
	Deps
	jobs    jobs.Jobs
	wait    func(ctx context.Context, id jobs.ID, max time.Duration) (jobs.State, bool)
	inspect Inspector
	event   func(ctx context.Context, id string) (events.Event, error)
	types   []events.Type // exposed ones, by name
	changed func(endpointID string)
}

// New builds the domain. Connect before the first use.
func New(d Deps) *Domain { return &Domain{Deps: d, changed: func(string) {}} }

// Inspector reads tasks. A jobs.Runtime is one.
type Inspector interface {
	Get(ctx context.Context, id jobs.ID) (jobs.Job, error)
	List(ctx context.Context, f jobs.Filter) (jobs.Page, error)
}

// Queue is what the domain needs of bus and queue, which are built from the modules of all domains and so come later.
type Queue struct {
	Jobs    jobs.Jobs
	Inspect Inspector
	Wait    func(ctx context.Context, id jobs.ID, max time.Duration) (jobs.State, bool)
	Event   func(ctx context.Context, id string) (events.Event, error)
	Types   []events.Type // every declared type
}

// Connect hands over bus and queue. Call it once, before the first use.
func (d *Domain) Connect(q Queue) {
	d.jobs, d.inspect, d.wait, d.event = q.Jobs, q.Inspect, q.Wait, q.Event
	for _, t := range q.Types {
		if t.Exposure == events.Webhook {
			d.types = append(d.types, t)
		}
	}
}

// OnChange names who is told, in this process, right after an endpoint was changed, switched or deleted. Other processes
// are told by a notification on ChangedChannel.
func (d *Domain) OnChange(f func(endpointID string)) { d.changed = f }

// ChangedChannel carries the ids of endpoints that were changed.
const ChangedChannel = "gatehouse_webhook_endpoints"

// announce tells every sender, once tx has committed, that what it knows of the endpoint is old.
func (d *Domain) announce(ctx context.Context, tx pg.Tx, id string) error {
	tx.AfterCommit(func() { d.changed(id) })
	_, err := tx.Exec(ctx, `select pg_notify($1, $2)`, ChangedChannel, id)
	return err
}

// None is the input of an operation that needs none.
type None struct{}

// Job kinds of this domain.
const (
	FanoutKind  = "webhook.fanout"
	DeliverKind = "webhook.deliver"
	TestKind    = "webhook.send_test"
	RecoverKind = "webhook.recover"
	CatchUpKind = "webhook.catch_up"
)

// Queues that deliveries go to.
const (
	DeliverQueue = "webhook"
	BacklogQueue = "webhook_backlog"
)

// DeliverArgs are the arguments of a delivery's task. RequestID is set on one that was asked for.
type DeliverArgs struct {
	EndpointID  string     `json:"endpoint_id"`
	EventID     string     `json:"event_id"`
	RequestID   string     `json:"request_id,omitempty"`
	Trigger     Trigger    `json:"trigger,omitempty"` // left out: automatic
	RequestedAt *time.Time `json:"requested_at,omitempty"`
	Actor       string     `json:"actor,omitempty"`
	// Aside: the delivery has a schedule of its own, which this task must not disturb.
	Aside bool `json:"aside,omitempty"`
}

// TriggerOf is the trigger, automatic when left out.
func (a DeliverArgs) TriggerOf() Trigger {
	if a.Trigger == "" {
		return Automatic
	}
	return a.Trigger
}

func deliverSubject(raw json.RawMessage) string {
	var a DeliverArgs
	if json.Unmarshal(raw, &a) != nil || a.EventID == "" {
		return ""
	}
	return "event " + a.EventID
}
