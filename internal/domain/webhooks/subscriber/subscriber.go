package subscriber

import (
	"context"
	"time"

	"github.com/gatehouse-hq/gatehouse/internal/domain/webhooks"
	"github.com/gatehouse-hq/gatehouse/internal/infra/events"
	"github.com/gatehouse-hq/gatehouse/internal/infra/events/webhook"
	"github.com/gatehouse-hq/gatehouse/internal/infra/jobs"
	"github.com/gatehouse-hq/gatehouse/internal/infra/pg"
)

// Handlers are the handlers of the webhooks domain in one process.
type Handlers struct {
	domain    *webhooks.Domain
	client    webhook.Doer
	userAgent string
	jobs      jobs.Jobs
	// Sent hears of each request and what became of it: one of few words, and the time until the answer or the failure.
	// Set it before the first job; nil hears nothing. It must not wait.
	Sent func(outcome string, took time.Duration)

	lines     *lines
	receivers *receivers
	bodies    *bodies
	lookup    *group[pair, standing]
	ledger    *group[entry, written]
}

var _ webhooks.Handlers = (*Handlers)(nil)

// New builds the handlers. Requests go out through client (an *egress.Client) and name the program's version.
func New(d *webhooks.Domain, client webhook.Doer, version string) *Handlers {
	h := &Handlers{
		domain: d, client: client, userAgent: "Gatehouse/" + version,
		lines: newLines(d.DB), receivers: &receivers{domain: d, byID: map[string]*receiver{}},
		bodies: &bodies{byID: map[string][]byte{}}, lookup: lookup(d.DB), ledger: ledger(d),
	}
	d.OnChange(h.changed)
	return h
}

// Queue is what the handlers need of bus and queue, which are built later.
type Queue struct {
	Jobs jobs.Jobs
	// Event reads one event, or fails with events.ErrNotFound.
	Event func(ctx context.Context, id string) (events.Event, error)
	// Listener tells what other processes changed; nil in a process that is alone.
	Listener *pg.Listener
}

// Connect hands over bus and queue. Call it once, before the first job. The returned func ends listening and gives back the
// leases that are kept for a moment longer: call it when no job runs any more.
func (h *Handlers) Connect(q Queue) (disconnect func()) {
	h.jobs, h.bodies.read = q.Jobs, q.Event
	deaf := func() {}
	if q.Listener != nil {
		deaf = q.Listener.Subscribe(webhooks.ChangedChannel, h.changed)
	}
	return func() {
		deaf()
		h.lines.keeper.Close()
	}
}

// changed forgets what is known of an endpoint. An empty id, after the connection was lost, means any.
func (h *Handlers) changed(id string) {
	if id != "" {
		h.receivers.forget(id)
		h.lines.get(id).changed()
		return
	}
	for _, l := range h.lines.all() {
		h.receivers.forget(l.id)
		l.changed()
	}
}
