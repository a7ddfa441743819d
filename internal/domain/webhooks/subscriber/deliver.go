package subscriber

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/gatehouse-hq/gatehouse/internal/domain/webhooks"
	"github.com/gatehouse-hq/gatehouse/internal/infra/events/webhook"
	"github.com/gatehouse-hq/gatehouse/internal/infra/jobs"
	"github.com/gatehouse-hq/gatehouse/internal/infra/pg"
)

var (
	errDeleted    = errors.New("the endpoint was deleted")
	errNoDelivery = errors.New("there is no such delivery any more")
	errTestHeld   = errors.New("sends are on hold, and a test is never sent later")
	errTestWaits  = errors.New("the receiver has asked for no request at present, and a test is never sent later")
)

// delivery is one run of a delivery's task.
type delivery struct {
	h    *Handlers
	args webhooks.DeliverArgs
	run  jobs.Run
	pair pair
	line *line
}

// Deliver makes one attempt, or none if nothing is due any more. It classifies; the queue alone retries.
func (h *Handlers) Deliver(ctx context.Context, raw json.RawMessage) error {
	var args webhooks.DeliverArgs
	if err := json.Unmarshal(raw, &args); err != nil || !pg.ValidUUID(args.EndpointID) || !pg.ValidUUID(args.EventID) {
		return jobs.Discard(errors.New("the arguments name no delivery"))
	}
	run, _ := jobs.Current(ctx)
	d := &delivery{h: h, args: args, run: run, pair: pair{args.EndpointID, args.EventID}, line: h.lines.get(args.EndpointID)}
	s, r, over, err := d.look(ctx)
	if over || err != nil {
		return err
	}
	body, err := h.bodies.get(ctx, args.EventID)
	if err != nil {
		return d.unsendable(ctx, err)
	}
	if err := d.line.enter(ctx, args.TriggerOf() == webhooks.Test); err != nil {
		return err
	}
	if d.line.stale(s) {
		if s, r, over, err = d.look(ctx); over || err != nil {
			d.line.leave(0)
			d.line.settled(ctx)
			return err
		}
	}
	return d.attempt(ctx, s, r, body)
}

// look says whether the delivery is still due, and how to reach its endpoint.
func (d *delivery) look(ctx context.Context) (s standing, r *receiver, over bool, err error) {
	s, err = d.h.lookup.do(ctx, d.pair)
	if err != nil {
		return s, nil, false, err
	}
	if s.held && d.args.TriggerOf() == webhooks.Test {
		return s, nil, true, d.unsendable(ctx, jobs.Discard(errTestHeld))
	}
	if s.notBefore > 0 && d.args.TriggerOf() == webhooks.Test {
		return s, nil, true, d.unsendable(ctx, jobs.Discard(errTestWaits))
	}
	if over, err = d.due(s); over || err != nil {
		return s, nil, true, err
	}
	r, err = d.h.receivers.get(ctx, d.pair.endpoint, s.version)
	if errors.Is(err, errDeleted) {
		return s, nil, true, jobs.Discard(err)
	}
	if err != nil {
		return s, nil, false, d.orKeyless(ctx, err)
	}
	d.line.learn(s, r)
	return s, r, false, nil
}

// due decides by what the database says. over means that the task has nothing left to do.
func (d *delivery) due(s standing) (over bool, err error) {
	asked := d.args.TriggerOf() != webhooks.Automatic
	switch {
	case !s.found:
		return true, jobs.Discard(errNoDelivery)
	case !s.live:
		return true, jobs.Discard(errDeleted)
	case s.state == webhooks.Delivered && !asked:
		return true, nil
	case s.state == webhooks.Delivered && d.args.RequestedAt != nil && s.settledAt != nil && s.settledAt.After(*d.args.RequestedAt):
		return true, nil // sent since it was asked for: this run is a repetition
	case s.givenUp != nil && d.args.RequestedAt != nil && d.args.RequestedAt.Before(*s.givenUp):
		return true, nil
	case d.args.TriggerOf() == webhooks.Test:
		return false, nil // also to an endpoint that is off
	case s.state == webhooks.Parked || s.state == webhooks.Dropped && !asked || !s.enabled:
		return true, nil
	case s.held:
		return true, webhooks.PutOff()
	}
	return false, nil
}

// attempt sends, writes down what came of it, and says what it means for the task. The caller has the turn.
func (d *delivery) attempt(ctx context.Context, s standing, r *receiver, body []byte) error {
	at := time.Now()
	e := entry{pair: d.pair, token: d.line.token(), job: d.run.ID, trigger: d.args.TriggerOf(), actor: d.args.Actor,
		counts: d.args.TriggerOf() != webhooks.Test}
	e.result = webhook.Send(ctx, d.h.client, webhook.Request{URL: r.url, ID: d.pair.event, At: at, Body: body,
		Keys: r.signers(at), Headers: r.headers, UserAgent: d.h.userAgent})
	e.outcome = webhook.Classify(e.result)
	if d.h.Sent != nil {
		d.h.Sent(string(e.outcome.Class), e.result.Total)
	}
	e.wasFailing = s.failing || d.line.isFailing()
	e.state = d.becomes(e.outcome)
	if e.counts {
		d.line.after(e.outcome)
	}
	d.line.leave(time.Since(at))
	w, err := d.h.ledger.do(ctx, e)
	d.sendForMore(ctx)
	d.line.settled(ctx)
	if err != nil {
		return err
	}
	if !w.current {
		// Another process took the lease over meanwhile: what it found out counts.
		return jobs.Snooze(time.Second)
	}
	if err := d.h.consequences(ctx, e, w); err != nil {
		return err
	}
	return verdict(ctx, e)
}

// sendForMore keeps a line with a backlog from running dry. Failing to costs nothing but time: what was put off comes at
// its own hour.
func (d *delivery) sendForMore(ctx context.Context) {
	n := d.line.short()
	if n == 0 {
		return
	}
	m := jobs.Match{Kind: webhooks.DeliverKind, Args: map[string]any{"endpoint_id": d.pair.endpoint}}
	if coming, err := d.h.jobs.PullForward(ctx, m, pullWithin, n); err == nil {
		d.line.pulled(n, coming)
	}
}

// becomes is the state that an outcome settles the delivery in; empty while there is more to come.
func (d *delivery) becomes(o webhook.Outcome) webhooks.DeliveryState {
	last := d.run.Attempt >= webhooks.Attempts
	switch {
	case o.Class == webhook.Delivered:
		return webhooks.Delivered
	case d.args.Aside:
		return "" // its own schedule goes on
	case d.args.TriggerOf() == webhooks.Test && o.Class != webhook.Interrupted:
		return webhooks.Failed // it is tried once
	case o.Class == webhook.Snoozed, o.Class == webhook.Interrupted, o.Class == webhook.Retryable && !last:
		return ""
	}
	return webhooks.Failed
}

// unsendable settles a delivery whose event is gone or does not fit: no attempt is made.
func (d *delivery) unsendable(ctx context.Context, why error) error {
	var discard *jobs.DiscardError
	if !errors.As(why, &discard) {
		return why
	}
	_, err := d.h.domain.DB.Exec(ctx, `
update public.webhook_deliveries set state = 'failed', settled_at = clock_timestamp(), last_error = $3, job_id = $4
where endpoint_id = $1::uuid and event_id = $2::uuid and state = 'waiting'`, d.pair.endpoint, d.pair.event, discard.Err.Error(), int64(d.run.ID))
	if err != nil {
		return fmt.Errorf("settle delivery: %w", err)
	}
	return why
}

// report is what the task's page shows of an attempt; successes carry none, which saves a write.
type report struct {
	Status  int     `json:"status,omitempty"`
	Outcome string  `json:"outcome"`
	TotalMS float64 `json:"total_ms"`
}

// verdict tells the queue.
func verdict(ctx context.Context, e entry) error {
	if e.outcome.Class == webhook.Delivered {
		return nil
	}
	jobs.Report(ctx, report{Status: e.result.Status, Outcome: string(e.outcome.Class), TotalMS: float64(e.result.Total.Microseconds()) / 1000})
	if e.trigger == webhooks.Test && e.outcome.Class != webhook.Interrupted {
		return nil // it has shown the owner what the receiver says: a refusal is an answer, and nobody's failed work
	}
	switch e.outcome.Class {
	case webhook.Snoozed:
		return jobs.Snooze(e.outcome.Wait)
	case webhook.Gone, webhook.Rejected, webhook.Redirected, webhook.Refused:
		return jobs.Discard(e.err())
	case webhook.Delivered, webhook.Retryable, webhook.Interrupted:
	}
	return e.err()
}

// err is the failure in words.
func (e entry) err() error {
	switch {
	case e.result.Err != nil:
		return e.result.Err
	case e.outcome.Class == webhook.Redirected && e.result.Location != "":
		return fmt.Errorf("the receiver answered %d and pointed to %s: edit the endpoint's address", e.result.Status, e.result.Location)
	}
	return fmt.Errorf("the receiver answered %d", e.result.Status)
}
