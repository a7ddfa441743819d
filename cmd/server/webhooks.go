package main

import (
	"context"

	"github.com/gatehouse-hq/gatehouse/internal/domain/webhooks"
	webhookjobs "github.com/gatehouse-hq/gatehouse/internal/domain/webhooks/subscriber"
	"github.com/gatehouse-hq/gatehouse/internal/infra/egress"
	"github.com/gatehouse-hq/gatehouse/internal/infra/events"
)

// newWebhooks builds the webhooks domain and what sends for it.
func (a *app) newWebhooks(rec events.Recorder) error {
	sealer, err := loadSealer(a.cfg)
	if err != nil {
		return err
	}
	a.outside = egress.New(egress.Options{Allow: a.cfg.egressAllow})
	a.webhooks = webhooks.New(webhooks.Deps{DB: a.pool, Recorder: rec, Sealer: sealer, Addresses: a.outside, Wire: webhookjobs.Wire{}})
	a.deliveries = webhookjobs.New(a.webhooks, a.outside, version)
	a.deliveries.Sent = a.metrics.Sent
	return nil
}

// connectWebhooks hands bus and queue over, which are built later than the domains.
func (a *app) connectWebhooks() {
	a.webhooks.Connect(webhooks.Queue{Jobs: a.runtime, Inspect: a.runtime, Wait: a.runtime.Wait, Types: a.bus.Types(), Event: a.event})
	a.endHooks = a.deliveries.Connect(webhookjobs.Queue{Jobs: a.runtime, Event: a.event, Listener: a.listener})
}

func (a *app) event(ctx context.Context, id string) (events.Event, error) {
	e, err := a.bus.Get(ctx, id)
	return e.Event, err
}
