package subscriber_test

import (
	"slices"
	"testing"
	"time"

	"github.com/gatehouse-hq/gatehouse/internal/domain/webhooks"
	"github.com/gatehouse-hq/gatehouse/internal/infra/jobs"
	"github.com/gatehouse-hq/gatehouse/internal/infra/op"
	"github.com/gatehouse-hq/gatehouse/internal/infra/pg"
)

// holds sets a hold as a start on a restored database does, and returns the number up to which events came with it.
func (h *house) holds() (until int64) {
	h.t.Helper()
	err := h.db.QueryRow(h.t.Context(), `insert into holds (reason, until_seq) select 'A test.', coalesce(max(seq), 0) from events returning until_seq`).Scan(&until)
	if err != nil {
		h.t.Fatal(err)
	}
	return until
}

// releases ends the hold as the instance domain does.
func (h *house) releases(choice string, until int64) (dropped int) {
	h.t.Helper()
	err := pg.InTx(h.t.Context(), h.db, func(tx pg.Tx) error {
		if _, err := tx.Exec(h.t.Context(), `update holds set released_at = clock_timestamp(), choice = $1`, choice); err != nil {
			return err
		}
		if choice == "send" {
			return h.domain.SendHeld(h.t.Context(), tx)
		}
		var err error
		dropped, err = h.domain.DropHeld(h.t.Context(), tx, until)
		return err
	})
	if err != nil {
		h.t.Fatal(err)
	}
	return dropped
}

// asleep waits until n deliveries have been looked at and put off, at no cost of an attempt.
func (h *house) asleep(n int) {
	h.t.Helper()
	eventually(h.t, "deliveries put off", func() bool {
		var off int
		err := h.db.QueryRow(h.t.Context(), `
select count(*) from river.river_job where kind = 'webhook.deliver' and state = 'scheduled' and attempt = 0 and scheduled_at > clock_timestamp() + interval '30 minutes'`).Scan(&off)
		return err == nil && off == n
	})
}

func (h *house) heard(hook string) []string {
	var ids []string
	for _, r := range h.sink.Received(hook) {
		ids = append(ids, r.Headers.Get("webhook-id"))
	}
	slices.Sort(ids)
	return ids
}

func TestHeldDeliveriesWaitAndAreSent(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	e := h.endpoint("held")
	before := h.happen(1, "thing.made", `{}`)
	h.arrives("held", 1)
	h.settles(e.Endpoint.ID, before[0], webhooks.Delivered)

	until := h.holds()
	ids := h.happen(20, "thing.made", `{}`)
	h.asleep(20)
	if n := h.sink.Count("held").Requests; n != 1 {
		t.Fatalf("%d requests while sends are held", n-1)
	}
	var oldest time.Time
	if err := h.db.QueryRow(t.Context(), `select min(occurred_at) from events`).Scan(&oldest); err != nil {
		t.Fatal(err)
	}
	for name, err := range map[string]error{
		"a test":       second(h.domain.SendTest(t.Context(), webhooks.TestIn{ID: e.Endpoint.ID})),
		"a redelivery": second(h.domain.Redeliver(t.Context(), webhooks.RedeliverIn{EndpointID: e.Endpoint.ID, EventIDs: before})),
		"a recovery": second(h.domain.Recover(t.Context(), webhooks.RecoverIn{EndpointID: e.Endpoint.ID, Which: webhooks.All,
			Since: oldest})),
	} {
		if op.CodeOf(err) != op.Conflict {
			t.Errorf("%s while sends are held: %v", name, err)
		}
	}
	held, err := h.domain.CountHeld(t.Context(), h.db, until)
	if err != nil || held.Brought != 0 || held.Since != 20 || held.Oldest == nil {
		t.Errorf("%+v, %v", held, err)
	}
	h.releases("send", until)
	h.arrives("held", 21)
	for _, id := range ids {
		h.settles(e.Endpoint.ID, id, webhooks.Delivered)
	}
	want := append(slices.Clone(ids), before...)
	slices.Sort(want)
	if got := h.heard("held"); !slices.Equal(got, want) {
		t.Errorf("heard %v, want %v", got, want)
	}
	if made := h.attempts(e.Endpoint.ID, ids[0]); len(made) != 1 {
		t.Errorf("%d attempts", len(made))
	}
}

func second[T any](_ T, err error) error { return err }

// What came with the copy is given up: what waited, what was not matched yet, and what somebody had asked for. What
// happened since is sent.
func TestHeldDeliveriesAreDropped(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	e := h.endpoint("dropped")
	sent := h.happen(1, "thing.made", `{}`)
	h.arrives("dropped", 1)
	h.settles(e.Endpoint.ID, sent[0], webhooks.Delivered)
	h.holds() // keeps the next ones waiting
	brought := h.happen(5, "thing.made", `{}`)
	h.asleep(5)
	// The hold that the restored database gets covers all of them.
	var until int64
	if err := h.db.QueryRow(t.Context(), `update holds set set_at = clock_timestamp(), until_seq = (select max(seq) from events) returning until_seq`).Scan(&until); err != nil {
		t.Fatal(err)
	}
	// A repetition that somebody had asked for before the backup.
	if _, err := h.runtime.Enqueue(t.Context(), webhooks.DeliverKind, webhooks.DeliverArgs{EndpointID: e.Endpoint.ID, EventID: sent[0], RequestID: "r", Trigger: webhooks.Manual, Aside: true}, jobs.EnqueueOpts{}); err != nil {
		t.Fatal(err)
	}
	since := h.happen(3, "thing.made", `{}`)
	h.asleep(9)
	if dropped := h.releases("drop", until); dropped != 5 {
		t.Errorf("dropped %d, want 5", dropped)
	}
	// Matched to endpoints only now, as after a relay that was interrupted.
	late := h.happen(1, "thing.made", `{}`)
	h.arrives("dropped", 1+3+1)
	for _, id := range append(since, late...) {
		h.settles(e.Endpoint.ID, id, webhooks.Delivered)
	}
	for _, id := range brought {
		h.settles(e.Endpoint.ID, id, webhooks.Dropped)
	}
	want := slices.Concat(sent, since, late)
	slices.Sort(want)
	if got := h.heard("dropped"); !slices.Equal(got, want) {
		t.Errorf("heard %v, want %v", got, want)
	}
	eventually(t, "no task is left", func() bool {
		var open int
		err := h.db.QueryRow(t.Context(), `select count(*) from river.river_job where kind = 'webhook.deliver' and finalized_at is null`).Scan(&open)
		return err == nil && open == 0
	})
}

// An event that came with the copy and is matched to endpoints after the owner's decision is dropped as well.
func TestEventsMatchedAfterADropAreDropped(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	e := h.endpoint("late")
	if _, err := h.db.Exec(t.Context(), `insert into holds (reason, until_seq, released_at, choice) values ('A test.', 2, clock_timestamp(), 'drop')`); err != nil {
		t.Fatal(err)
	}
	var ids []string
	for range 3 {
		ids = append(ids, h.happen(1, "thing.made", `{}`)...)
	}
	h.arrives("late", 1)
	h.settles(e.Endpoint.ID, ids[0], webhooks.Dropped)
	h.settles(e.Endpoint.ID, ids[1], webhooks.Dropped)
	h.settles(e.Endpoint.ID, ids[2], webhooks.Delivered)
	if got := h.heard("late"); !slices.Equal(got, ids[2:]) {
		t.Errorf("heard %v, want %v", got, ids[2:])
	}
}

// A test that was queued before the hold is refused, and never sent later.
func TestAHeldTestIsRefused(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	e := h.endpoint("tested")
	h.holds()
	ids := h.happen(1, "thing.made", `{}`)
	h.asleep(1)
	id, err := h.runtime.Enqueue(t.Context(), webhooks.TestKind, webhooks.DeliverArgs{EndpointID: e.Endpoint.ID, EventID: ids[0], Trigger: webhooks.Test}, jobs.EnqueueOpts{})
	if err != nil {
		t.Fatal(err)
	}
	if state, ended := h.runtime.Wait(t.Context(), id, hang); !ended || state != "discarded" {
		t.Errorf("state %s", state)
	}
	if n := h.sink.Count("tested").Requests; n != 0 {
		t.Errorf("%d requests", n)
	}
}
