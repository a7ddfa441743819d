package subscriber_test

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gatehouse-hq/gatehouse/internal/domain/webhooks"
	"github.com/gatehouse-hq/gatehouse/internal/domain/webhooks/subscriber"
	"github.com/gatehouse-hq/gatehouse/internal/infra/jobs"
	"github.com/gatehouse-hq/gatehouse/internal/infra/op"
	"github.com/gatehouse-hq/gatehouse/internal/infra/seal"
	"github.com/gatehouse-hq/gatehouse/mock-stack/sink"
)

// A process that cannot open an endpoint's secrets leaves its deliveries to one that can: no attempt is spent, nothing is
// held against the receiver, and the owner is told.
func TestWithoutTheKeyDeliveriesWaitForAProcessThatHasIt(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	id := h.endpoint("a").Endpoint.ID
	h.process.stop()
	other := make([]byte, seal.KeyBytes)
	other[0] = 1
	h.process = h.startWith(other, nil)
	h.db = h.process.db
	events := h.happen(5, "thing.made", `{}`)
	eventually(t, "each was put off", func() bool { return h.putOff() == len(events) })
	for _, e := range events {
		h.settles(id, e, webhooks.Waiting)
		if a := h.attempts(id, e); len(a) != 0 {
			t.Errorf("attempts %+v", a)
		}
	}
	alerts, err := h.domain.Alerts(t.Context())
	if err != nil || len(alerts) != 1 || alerts[0].Code != "webhook_key_lost" {
		t.Errorf("alerts %+v, %v", alerts, err)
	}
	if _, err := h.domain.SendTest(t.Context(), webhooks.TestIn{ID: id}); op.CodeOf(err) != op.Unavailable {
		t.Errorf("a test without the key: %v", err)
	}
	able := h.start(nil)
	for _, e := range events {
		h.settles(id, e, webhooks.Delivered)
	}
	if e, err := able.domain.Get(t.Context(), webhooks.GetIn{ID: id}); err != nil || e.FailingSince != nil {
		t.Errorf("endpoint %+v, %v", e, err)
	}
	for e, n := range h.sink.IDs("a") {
		if n != 1 {
			t.Errorf("%s came %d times", e, n)
		}
	}
}

// putOff counts deliveries' tasks that were put off and have spent no attempt.
func (h *house) putOff() (n int) {
	err := h.db.QueryRow(context.Background(), `select count(*) from river.river_job where kind = 'webhook.deliver' and (metadata ->> 'snoozed')::int > 0 and attempt = 0`).Scan(&n)
	if err != nil {
		h.t.Error(err)
	}
	return n
}

// The owner may cancel a delivery's task before its first attempt: the delivery is settled and says so, and a retry of the
// task sends it all the same.
func TestCancelledTaskSettlesItsDelivery(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.sink.SetPlan("a", sink.Plan{Steps: []sink.Step{{Status: 500, Count: 1}}})
	id := h.endpoint("a").Endpoint.ID
	h.process.stop()
	h.process = h.start(func(int) time.Duration { return time.Hour })
	h.db = h.process.db
	h.happen(1, "thing.made", `{}`)
	h.status(id, webhooks.Failing)
	event := h.happen(1, "thing.made", `{}`)[0] // starts five minutes out
	h.settles(id, event, webhooks.Waiting)
	page, err := h.runtime.List(t.Context(), jobs.Filter{Kind: webhooks.DeliverKind, Args: map[string]string{"event_id": event}})
	if err != nil || len(page.Jobs) != 1 {
		t.Fatalf("%d tasks, %v", len(page.Jobs), err)
	}
	task := page.Jobs[0]
	if err := h.runtime.Cancel(t.Context(), task.ID, jobs.Expected{State: task.State}); err != nil {
		t.Fatal(err)
	}
	h.settles(id, event, webhooks.Cancelled)
	if err := h.runtime.Retry(t.Context(), task.ID, jobs.Expected{State: jobs.Cancelled}); err != nil {
		t.Fatal(err)
	}
	h.settles(id, event, webhooks.Delivered)
}

// Cancelled while its request is on its way, it is settled likewise.
func TestCancelledWhileItIsSent(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.sink.SetPlan("a", sink.Plan{Steps: []sink.Step{{Status: 500, Delay: sink.Duration(8 * time.Second)}}})
	id := h.endpoint("a").Endpoint.ID
	event := h.happen(1, "thing.made", `{}`)[0]
	h.arrivesInFlight("a")
	page, err := h.runtime.List(t.Context(), jobs.Filter{Kind: webhooks.DeliverKind, States: []jobs.State{jobs.Running}})
	if err != nil || len(page.Jobs) != 1 {
		t.Fatalf("%d tasks, %v", len(page.Jobs), err)
	}
	if err := h.runtime.Cancel(t.Context(), page.Jobs[0].ID, jobs.Expected{State: jobs.Running}); err != nil {
		t.Fatal(err)
	}
	h.settles(id, event, webhooks.Cancelled)
}

// However many retries wait, recovery begins with one and doubles each second (field case F19).
func TestManyRetriesAreNotPulledForwardAtOnce(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	id, first := h.failingOnce()
	const n = 300
	h.happen(n, "thing.made", `{}`) // five minutes out
	eventually(t, "they are owed", func() bool { return h.waiting(id) == n+1 })
	if _, err := h.domain.Redeliver(t.Context(), webhooks.RedeliverIn{EndpointID: id, EventIDs: first}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "all are delivered", func() bool { return h.waiting(id) == 0 })
	var steps []int
	eventually(t, "the last step is over", func() bool {
		steps = h.catchUpSteps()
		return len(steps) > 0 && steps[len(steps)-1] == 0
	})
	sum := 0
	for i, moved := range steps[:len(steps)-1] {
		if moved > 1<<i {
			t.Errorf("step %d moved %d: %v", i, moved, steps)
		}
		sum += moved
	}
	// Of the first event's own retry nothing is left to do, but its task is pulled forward like the others.
	if len(steps) < 9 || sum < n {
		t.Errorf("%d retries in steps of %v", sum, steps)
	}
}

// catchUpSteps is how many deliveries each step of catching up moved, as their tasks report it.
func (h *house) catchUpSteps() []int {
	page, err := h.runtime.List(context.Background(), jobs.Filter{Kind: webhooks.CatchUpKind, States: []jobs.State{jobs.Completed}})
	if err != nil {
		h.t.Error(err)
		return nil
	}
	slices.SortFunc(page.Jobs, func(a, b jobs.Job) int { return int(a.ID - b.ID) })
	steps := make([]int, 0, len(page.Jobs))
	for _, listed := range page.Jobs {
		j, err := h.runtime.Get(context.Background(), listed.ID)
		if err != nil || len(j.Attempts) == 0 {
			h.t.Errorf("task %d: %v", listed.ID, err)
			continue
		}
		var report struct{ Deliveries int }
		if err := json.Unmarshal(j.Attempts[len(j.Attempts)-1].Report, &report); err != nil {
			h.t.Error(err)
		}
		steps = append(steps, report.Deliveries)
	}
	return steps
}

// What a deletion would take with it is said by name and number before it is done.
func TestDeletionIsPlanned(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	c, err := h.domain.Create(t.Context(), webhooks.CreateIn{URL: h.hook + "a?token=hidden", Description: "Garden shop", EventTypes: []string{"thing.made"}})
	if err != nil {
		t.Fatal(err)
	}
	id := c.Endpoint.ID
	if _, err := h.domain.Pause(t.Context(), webhooks.Ref{ID: id}); err != nil {
		t.Fatal(err)
	}
	h.happen(3, "thing.made", `{}`)
	eventually(t, "they are parked", func() bool {
		e, err := h.domain.Get(context.Background(), webhooks.GetIn{ID: id})
		return err == nil && e.Parked.N == 3
	})
	var del op.Op
	for _, o := range h.domain.Module(subscriber.New(h.domain, nil, "test")).Ops {
		if o.Name == "webhooks.delete" {
			del = o
		}
	}
	p, frozen, err := del.Plan(t.Context(), json.RawMessage(`{"id":"`+id+`"}`))
	if err != nil || p.Count != 3 || !strings.Contains(p.Summary, "Garden shop") || strings.Contains(p.Summary, "hidden") {
		t.Fatalf("%+v, %v", p, err)
	}
	name := "changed since"
	if _, err := h.domain.Update(t.Context(), webhooks.UpdateIn{ID: id, Description: &name}); err != nil {
		t.Fatal(err)
	}
	var stale webhooks.Ref
	if err := json.Unmarshal(frozen, &stale); err != nil {
		t.Fatal(err)
	}
	if _, err := h.domain.Delete(t.Context(), stale); op.CodeOf(err) != op.Conflict || !strings.Contains(err.Error(), "description") {
		t.Errorf("a plan older than a change: %v", err)
	}
}

// A receiver that refuses a test has answered: nothing failed on our side, and nothing about the endpoint is held open.
func TestFailedTestAlarmsNobody(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.sink.SetPlan("a", sink.Plan{Steps: []sink.Step{{Status: 500, Count: 1}, {Status: 429, RetryAfter: "60", Count: 1}, {Status: 410, Count: 1}}})
	id := h.endpoint("a").Endpoint.ID
	for _, status := range []int{http.StatusInternalServerError, http.StatusTooManyRequests, http.StatusGone} {
		out, err := h.domain.SendTest(t.Context(), webhooks.TestIn{ID: id})
		if err != nil || out.Attempt == nil || out.Attempt.Status != status {
			t.Fatalf("%+v, %v", out, err)
		}
		h.settles(id, out.EventID, webhooks.Failed)
		if j, err := h.runtime.Get(t.Context(), out.Attempt.JobID); err != nil || j.State != jobs.Completed {
			t.Errorf("task after %d: %s, %v", status, j.State, err)
		}
	}
	e, err := h.domain.Get(t.Context(), webhooks.GetIn{ID: id})
	if err != nil || e.Status != webhooks.On || e.Failed.N != 0 || e.NotBefore != nil {
		t.Errorf("endpoint %+v, %v", e, err)
	}
	if alerts, err := h.domain.Alerts(t.Context()); err != nil || len(alerts) != 0 {
		t.Errorf("alerts %+v, %v", alerts, err)
	}
}

// Switching on is planned: how many are parked and what becomes of them is said first, and what is parked after that is not
// dropped along with them.
func TestSwitchingOnIsPlanned(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	id := h.endpoint("a").Endpoint.ID
	if _, err := h.domain.Pause(t.Context(), webhooks.Ref{ID: id}); err != nil {
		t.Fatal(err)
	}
	before := h.happen(3, "thing.made", `{}`)
	for _, e := range before {
		h.settles(id, e, webhooks.Parked)
	}
	set, err := op.Collect(h.domain.Module(subscriber.New(h.domain, nil, "test")).Ops...)
	if err != nil {
		t.Fatal(err)
	}
	plans := op.NewPlans(h.db, set)
	if _, err := op.Ask(t.Context(), plans, "webhooks.enable", webhooks.EnableIn{ID: id}); field(err) != "parked" {
		t.Errorf("a plan without a choice: %v", err)
	}
	deliver, err := op.Ask(t.Context(), plans, "webhooks.enable", webhooks.EnableIn{ID: id, Parked: webhooks.ParkedDeliver})
	if err != nil || deliver.Count != 3 || !strings.Contains(deliver.Summary, "deliver the 3 deliveries") {
		t.Fatalf("%+v, %v", deliver, err)
	}
	drop, err := op.Ask(t.Context(), plans, "webhooks.enable", webhooks.EnableIn{ID: id, Parked: webhooks.ParkedDrop})
	if err != nil || drop.Count != 3 || !strings.Contains(drop.Summary, "drop the 3 deliveries") {
		t.Fatalf("%+v, %v", drop, err)
	}
	later := h.happen(1, "thing.made", `{}`)[0]
	h.settles(id, later, webhooks.Parked)
	on, err := op.Confirm[webhooks.Enabled](t.Context(), plans, "webhooks.enable", drop.ID)
	if err != nil || on.Status != webhooks.On || on.Dropped != 3 || on.Released.N != 1 {
		t.Fatalf("%+v, %v", on, err)
	}
	for _, e := range before {
		h.settles(id, e, webhooks.Dropped)
	}
	h.settles(id, later, webhooks.Delivered)
	if _, err := op.Confirm[webhooks.Enabled](t.Context(), plans, "webhooks.enable", deliver.ID); op.CodeOf(err) != op.Conflict || !strings.Contains(err.Error(), "whether it is on") {
		t.Errorf("a plan older than a change: %v", err)
	}
	if n := h.sink.Count("a").Requests; n != 1 {
		t.Errorf("%d requests", n)
	}
}

// A corrected address is tried at once, however far off the retries are, and its success brings the others.
func TestACorrectedAddressIsTriedAtOnce(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.process.stop()
	h.process = h.start(func(int) time.Duration { return time.Hour })
	h.db = h.process.db
	h.sink.SetPlan("wrong", sink.Plan{Steps: []sink.Step{{Status: 429, RetryAfter: "36000"}}})
	id := h.endpoint("wrong").Endpoint.ID
	h.happen(1, "thing.made", `{}`)
	h.status(id, webhooks.Failing)
	h.happen(3, "thing.made", `{}`) // five minutes out
	eventually(t, "they are owed", func() bool { return h.waiting(id) == 4 })
	if _, err := h.domain.SendTest(t.Context(), webhooks.TestIn{ID: id}); op.CodeOf(err) != op.Conflict || !strings.Contains(err.Error(), "no request before") {
		t.Errorf("a test while the receiver wants none: %v", err)
	}
	name := "a name changes nothing"
	if _, err := h.domain.Update(t.Context(), webhooks.UpdateIn{ID: id, Description: &name}); err != nil {
		t.Fatal(err)
	}
	if e, err := h.domain.Get(t.Context(), webhooks.GetIn{ID: id}); err != nil || e.NotBefore == nil {
		t.Errorf("%+v, %v", e, err)
	}
	right := h.hook + "right"
	if _, err := h.domain.Update(t.Context(), webhooks.UpdateIn{ID: id, URL: &right}); err != nil {
		t.Fatal(err)
	}
	h.arrives("right", 4)
	h.status(id, webhooks.On)
	if n := h.sink.Count("wrong").Requests; n != 1 {
		t.Errorf("%d requests at the old address", n)
	}
}
