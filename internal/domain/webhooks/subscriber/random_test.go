package subscriber_test

import (
	"context"
	"math/rand/v2"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"github.com/gatehouse-hq/gatehouse/internal/domain/webhooks"
	"github.com/gatehouse-hq/gatehouse/internal/infra/op"
	"github.com/gatehouse-hq/gatehouse/mock-stack/sink"
)

// restless is an owner who changes things while they happen, in one process and the other.
type restless struct {
	*house
	r         *rand.Rand
	processes []*process
	ids       []string            // endpoints
	hooks     []string            // where each is
	secrets   map[string][]string // by hook: every one there ever was
	events    []string
}

// Whatever the owner does meanwhile, and whatever receivers answer, in whichever process: one request at a time, each
// logged once and genuinely signed, and in the end everything has arrived.
func TestARestlessOwnerLosesNothing(t *testing.T) {
	t.Parallel()
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	o := &restless{house: newHouse(t), r: rand.New(rand.NewPCG(seed, 5)), secrets: map[string][]string{}}
	o.processes = []*process{o.process, o.start(nil)}
	for _, hook := range []string{"a", "b", "c"} {
		c := o.endpoint(hook)
		o.ids, o.hooks, o.secrets[hook] = append(o.ids, c.Endpoint.ID), append(o.hooks, hook), []string{c.Secret}
	}
	acts := []func(d *webhooks.Domain, i int) error{o.pause, o.enable, o.rotate, o.limit, o.again, o.recoverAll, o.test, o.receiverTurns, o.receiverTurns}
	for range 60 {
		o.events = append(o.events, o.happen(1+o.r.IntN(4), "thing.made", `{}`)...)
		i := o.r.IntN(len(o.ids))
		d := o.processes[o.r.IntN(2)].domain
		if err := acts[o.r.IntN(len(acts))](d, i); err != nil && op.CodeOf(err) != op.Conflict {
			t.Fatal(err)
		}
	}
	o.settle()
	o.agree()
}

func (o *restless) pause(d *webhooks.Domain, i int) error {
	_, err := d.Pause(o.t.Context(), webhooks.Ref{ID: o.ids[i]})
	return err
}

func (o *restless) enable(d *webhooks.Domain, i int) error {
	_, err := d.Enable(o.t.Context(), webhooks.EnableIn{ID: o.ids[i], Parked: webhooks.ParkedDeliver})
	return err
}

func (o *restless) rotate(d *webhooks.Domain, i int) error {
	c, err := d.RotateSecret(o.t.Context(), webhooks.RotateIn{ID: o.ids[i], Overlap: "none", Force: true})
	if err == nil {
		o.secrets[o.hooks[i]] = append(o.secrets[o.hooks[i]], c.Secret)
	}
	return err
}

func (o *restless) limit(d *webhooks.Domain, i int) error {
	n := []int{0, 100, 1000}[o.r.IntN(3)]
	_, err := d.Update(o.t.Context(), webhooks.UpdateIn{ID: o.ids[i], MaxPerSecond: &n})
	return err
}

func (o *restless) again(d *webhooks.Domain, i int) error {
	_, err := d.Redeliver(o.t.Context(), webhooks.RedeliverIn{EndpointID: o.ids[i], EventIDs: o.events[max(len(o.events)-3, 0):]})
	return err
}

func (o *restless) recoverAll(d *webhooks.Domain, i int) error {
	_, err := d.RedeliverFailed(o.t.Context(), webhooks.RedeliverFailedIn{EndpointID: o.ids[i]})
	return err
}

func (o *restless) test(d *webhooks.Domain, i int) error {
	_, err := d.SendTest(o.t.Context(), webhooks.TestIn{ID: o.ids[i]})
	return err
}

// receiverTurns makes a receiver answer otherwise for a while.
func (o *restless) receiverTurns(_ *webhooks.Domain, i int) error {
	n := 1 + o.r.IntN(4)
	step := []sink.Step{
		{Status: 500, Count: n}, {Status: 400, Count: n}, {Status: 429, RetryAfter: "1", Count: n}, {Status: 302, Location: "/x", Count: n},
		{Drop: true, Count: n}, {Status: 410, Count: 1}, {Delay: sink.Duration(300 * time.Millisecond), Count: n},
	}[o.r.IntN(7)]
	o.sink.SetPlan(o.hooks[i], sink.Plan{Steps: []sink.Step{step, {Status: 204}}})
	return nil
}

// settle is the owner who puts everything in order at last.
func (o *restless) settle() {
	o.t.Helper()
	for i, id := range o.ids {
		o.sink.SetPlan(o.hooks[i], sink.Plan{Steps: []sink.Step{{Status: 204}}})
		eventually(o.t, "everything is matched", func() bool { return o.unmatched() == 0 })
		for _, step := range []func(*webhooks.Domain, int) error{o.pause, o.enable} { // puts what waits for minutes in line
			if err := step(o.domain, i); err != nil {
				o.t.Fatal(err)
			}
		}
		o.quiet(id)
		if _, err := o.domain.RedeliverFailed(o.t.Context(), webhooks.RedeliverFailedIn{EndpointID: id}); err != nil {
			o.t.Fatal(err)
		}
		o.quiet(id)
	}
	eventually(o.t, "no task is open", func() bool {
		var open int
		err := o.db.QueryRow(context.Background(), `select count(*) from river.river_job where kind like 'webhook.%' and kind <> 'webhook.prune' and kind <> 'webhook.partitions' and finalized_at is null`).Scan(&open)
		return err == nil && open == 0
	})
}

func (o *restless) quiet(id string) {
	o.t.Helper()
	eventually(o.t, "nothing waits or is parked", func() bool {
		e, err := o.domain.Get(context.Background(), webhooks.GetIn{ID: id})
		return err == nil && e.Waiting.N == 0 && e.Parked.N == 0
	})
}

// agree compares what happened, what the receivers have, and what the log says.
func (o *restless) agree() {
	o.t.Helper()
	for i, id := range o.ids {
		hook := o.hooks[i]
		got := o.sink.IDs(hook)
		for _, e := range o.events {
			if got[e] == 0 {
				o.t.Errorf("%s never received %s", hook, e)
			}
		}
		var undelivered, logged int
		err := o.db.QueryRow(context.Background(), `
select (select count(*) from webhook_deliveries where endpoint_id = $1::uuid and trigger <> 'test' and state <> 'delivered'),
  (select count(*) from webhook_attempts where endpoint_id = $1::uuid)`, id).Scan(&undelivered, &logged)
		if err != nil || undelivered != 0 {
			o.t.Errorf("%s: %d are not delivered, %v", hook, undelivered, err)
		}
		if c := o.sink.Count(hook); c.MaxInFlight != 1 || c.Requests != logged {
			o.t.Errorf("%s: %d requests at once, %d in all, %d in the log", hook, c.MaxInFlight, c.Requests, logged)
		}
		for _, r := range o.sink.Received(hook) {
			if !genuine(r, o.secrets[hook]) {
				o.t.Errorf("%s: a request under no secret of its own", hook)
			}
		}
	}
}

func genuine(r sink.Received, secrets []string) bool {
	for _, s := range secrets {
		if hook, err := standardwebhooks.NewWebhook(s); err == nil && hook.Verify(r.Body, r.Headers) == nil {
			return true
		}
	}
	return false
}
