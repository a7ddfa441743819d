package subscriber_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"github.com/gatehouse-hq/gatehouse/internal/domain/webhooks"
	"github.com/gatehouse-hq/gatehouse/internal/infra/events"
	"github.com/gatehouse-hq/gatehouse/internal/infra/jobs"
	"github.com/gatehouse-hq/gatehouse/internal/infra/op"
	"github.com/gatehouse-hq/gatehouse/mock-stack/sink"
)

// Of notes an endpoint hears the published slice; unpublishing is heard, private and raw notes never are.
func TestScope(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.endpoint("a", "corpus.**")
	note := func(sentinel, genre string, published, was bool) {
		raw, err := json.Marshal(map[string]any{"op": "updated", "note_id": sentinel, "genre": genre, "published": published, "was_published": was})
		if err != nil {
			t.Fatal(err)
		}
		h.happen(1, webhooks.NoteChangedType, string(raw))
	}
	note("sentinel-private", "wiki", false, false)
	note("sentinel-raw", "raw", true, true)
	note("heard-published", "wiki", true, false)
	note("heard-unpublished", "writing", false, true)
	note("sentinel-private-2", "wiki", false, false)
	note("heard-last", "wiki", true, true)
	got := h.arrives("a", 3)
	var all strings.Builder
	for _, r := range got {
		all.Write(r.Body)
		fmt.Fprint(&all, r.Headers)
	}
	for _, want := range []string{"heard-published", "heard-unpublished", "heard-last"} {
		if !strings.Contains(all.String(), want) {
			t.Errorf("%s was not heard", want)
		}
	}
	if strings.Contains(all.String(), "sentinel") {
		t.Errorf("a private note left: %s", all.String())
	}
	var owed int
	if err := h.db.QueryRow(t.Context(), `select count(*) from webhook_deliveries`).Scan(&owed); err != nil || owed != 3 {
		t.Errorf("%d deliveries, %v", owed, err)
	}
}

// The same batch fanned out twice creates one delivery and one task each (the bus promises at least once).
func TestFanOutTwiceSendsOnce(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.endpoint("a")
	h.endpoint("b")
	ids := h.happen(20, "thing.made", `{}`)
	h.arrives("a", 20)
	h.arrives("b", 20)
	raw, err := json.Marshal(events.Args{Events: ids})
	if err != nil {
		t.Fatal(err)
	}
	job, err := h.runtime.Enqueue(t.Context(), webhooks.FanoutKind, json.RawMessage(raw), jobs.EnqueueOpts{})
	if err != nil {
		t.Fatal(err)
	}
	if state, ok := h.runtime.Wait(t.Context(), job, 20*time.Second); !ok || state != jobs.Completed {
		t.Fatalf("second fan-out: %s", state)
	}
	last := h.happen(1, "thing.made", `{}`)[0]
	for hook, n := range map[string]int{"a": 21, "b": 21} {
		h.arrives(hook, n)
		for id, times := range h.sink.IDs(hook) {
			if times != 1 {
				t.Errorf("%s got %s %d times", hook, id, times)
			}
		}
		if h.sink.IDs(hook)[last] != 1 {
			t.Errorf("%s did not get the last event", hook)
		}
	}
}

// During the overlap both secrets verify; once it is over only the new one does. A second rotation has to be meant.
func TestRotation(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	first := h.endpoint("a")
	id := first.Endpoint.ID
	second, err := h.domain.RotateSecret(t.Context(), webhooks.RotateIn{ID: id, Overlap: "1h"})
	if err != nil || second.Secret == first.Secret || len(second.Endpoint.Keys) != 2 {
		t.Fatalf("%+v, %v", second, err)
	}
	if _, err := h.domain.RotateSecret(t.Context(), webhooks.RotateIn{ID: id, Overlap: "1h"}); op.CodeOf(err) != op.Conflict {
		t.Errorf("second rotation inside the overlap: %v", err)
	}
	h.happen(1, "thing.made", `{}`)
	verifies(t, h.arrives("a", 1)[0], first.Secret, true)
	verifies(t, h.sink.Received("a")[0], second.Secret, true)
	third, err := h.domain.RotateSecret(t.Context(), webhooks.RotateIn{ID: id, Overlap: "none", Force: true})
	if err != nil || len(third.Endpoint.Keys) != 1 {
		t.Fatalf("%+v, %v", third, err)
	}
	h.happen(1, "thing.made", `{}`)
	got := h.arrives("a", 2)[1]
	verifies(t, got, first.Secret, false)
	verifies(t, got, second.Secret, false)
	verifies(t, got, third.Secret, true)
	ed, err := h.domain.RotateSecret(t.Context(), webhooks.RotateIn{ID: id, Overlap: "none", Scheme: webhooks.Ed25519})
	if err != nil || !strings.HasPrefix(ed.Public, "whpk_") || ed.Secret != "" {
		t.Fatalf("%+v, %v", ed, err)
	}
	h.happen(1, "thing.made", `{}`)
	if sig := h.arrives("a", 3)[2].Headers.Get("Webhook-Signature"); !strings.HasPrefix(sig, "v1a,") || strings.Contains(sig, " ") {
		t.Errorf("signature %q", sig)
	}
}

func verifies(t *testing.T, r sink.Received, secret string, want bool) {
	t.Helper()
	hook, err := standardwebhooks.NewWebhook(secret)
	if err != nil {
		t.Fatal(err)
	}
	if err := hook.Verify(r.Body, r.Headers); (err == nil) != want {
		t.Errorf("verifies: %v, want %v", err, want)
	}
}

// Pausing parks, switching on asks, dropping drops; a stale page is told what changed.
func TestPauseAndDrop(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	c := h.endpoint("a")
	paused, err := h.domain.Pause(t.Context(), webhooks.Ref{ID: c.Endpoint.ID, Version: c.Endpoint.Version})
	if err != nil || paused.Status != webhooks.Paused {
		t.Fatalf("%+v, %v", paused, err)
	}
	ids := h.happen(2, "thing.made", `{}`)
	for _, id := range ids {
		h.settles(c.Endpoint.ID, id, webhooks.Parked)
	}
	url := h.hook + "b"
	_, err = h.domain.Update(t.Context(), webhooks.UpdateIn{ID: c.Endpoint.ID, Version: c.Endpoint.Version, URL: &url})
	if op.CodeOf(err) != op.Conflict || !strings.Contains(err.Error(), "whether it is on") {
		t.Errorf("stale update: %v", err)
	}
	if _, err := h.domain.Redeliver(t.Context(), webhooks.RedeliverIn{EndpointID: c.Endpoint.ID, EventIDs: ids}); op.CodeOf(err) != op.Conflict {
		t.Errorf("redeliver to a paused endpoint: %v", err)
	}
	if _, err := h.domain.Enable(t.Context(), webhooks.EnableIn{ID: c.Endpoint.ID, Version: paused.Version, Parked: webhooks.ParkedDrop}); err != nil {
		t.Fatal(err)
	}
	for _, id := range ids {
		h.settles(c.Endpoint.ID, id, webhooks.Dropped)
	}
	fresh := h.happen(1, "thing.made", `{}`)[0]
	h.settles(c.Endpoint.ID, fresh, webhooks.Delivered)
	if n := h.sink.Count("a").Requests; n != 1 {
		t.Errorf("%d requests", n)
	}
}

// Deleting cancels what waits with its tasks; nothing is sent any more and the log stays.
func TestDelete(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.sink.SetPlan("a", sink.Plan{Steps: []sink.Step{{Status: 500, Delay: sink.Duration(100 * time.Millisecond)}}})
	c := h.endpoint("a")
	ids := h.happen(5, "thing.made", `{}`)
	h.arrives("a", 2)
	if _, err := h.domain.Delete(t.Context(), webhooks.Ref{ID: c.Endpoint.ID}); err != nil {
		t.Fatal(err)
	}
	// One may be on its way, and is allowed to end; no other begins.
	seen := h.sink.Count("a").Requests
	eventually(t, "no task is left", func() bool {
		p, err := h.runtime.List(t.Context(), jobs.Filter{Kind: webhooks.DeliverKind, States: []jobs.State{jobs.Pending, jobs.Retryable, jobs.Running}})
		return err == nil && len(p.Jobs) == 0
	})
	if n := h.sink.Count("a").Requests; n > seen+1 {
		t.Errorf("%d requests after the deletion", n-seen)
	}
	e, err := h.domain.Get(t.Context(), webhooks.GetIn{ID: c.Endpoint.ID})
	if err != nil || !e.Deleted || len(e.Keys) != 0 {
		t.Errorf("%+v, %v", e, err)
	}
	log, err := h.domain.Deliveries(t.Context(), webhooks.DeliveriesIn{EndpointID: c.Endpoint.ID})
	if err != nil || len(log.Deliveries) != len(ids) {
		t.Errorf("log of %d, %v", len(log.Deliveries), err)
	}
	for _, d := range log.Deliveries {
		if d.State == webhooks.Waiting {
			t.Errorf("%s still waits", d.EventID)
		}
	}
	if _, err := h.domain.Update(t.Context(), webhooks.UpdateIn{ID: c.Endpoint.ID}); op.CodeOf(err) != op.Conflict {
		t.Errorf("update of a deleted endpoint: %v", err)
	}
}

// Redeliver, all failed, and a window: under the ids they had, each counted first.
func TestRecovery(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	since := time.Now().Add(-time.Second)
	h.sink.SetPlan("a", sink.Plan{Steps: []sink.Step{{Status: 400, Count: 3}}})
	c := h.endpoint("a")
	id := c.Endpoint.ID
	failed := h.happen(3, "thing.made", `{}`)
	for _, e := range failed {
		h.settles(id, e, webhooks.Failed)
	}
	out, err := h.domain.Redeliver(t.Context(), webhooks.RedeliverIn{EndpointID: id, EventIDs: failed[:1]})
	if err != nil || out.Queued != 1 {
		t.Fatalf("%+v, %v", out, err)
	}
	h.settles(id, failed[0], webhooks.Delivered)
	if a := h.attempts(id, failed[0]); len(a) != 2 || a[1].Trigger != webhooks.Manual || a[1].Number != 2 {
		t.Errorf("attempts %+v", a)
	}
	count, err := h.domain.RedeliverFailed(t.Context(), webhooks.RedeliverFailedIn{EndpointID: id, CountOnly: true})
	if err != nil || count.Count.N != 2 || count.JobID != 0 {
		t.Errorf("count %+v, %v", count, err)
	}
	if _, err := h.domain.RedeliverFailed(t.Context(), webhooks.RedeliverFailedIn{EndpointID: id}); err != nil {
		t.Fatal(err)
	}
	for _, e := range failed[1:] {
		h.settles(id, e, webhooks.Delivered)
	}
	// An endpoint created later is owed the window before it, when asked.
	other := h.endpoint("b").Endpoint.ID
	if _, err := h.domain.Recover(t.Context(), webhooks.RecoverIn{EndpointID: other, Since: since.Add(-time.Hour)}); field(err) != "since" {
		t.Errorf("since before the oldest event: %v", err)
	}
	oldest, err := h.domain.Recover(t.Context(), webhooks.RecoverIn{EndpointID: other, Since: time.Now(), Until: time.Now().Add(time.Minute), CountOnly: true})
	if err != nil || oldest.OldestEvent == nil || oldest.Count.N != 0 {
		t.Fatalf("%+v, %v", oldest, err)
	}
	got, err := h.domain.Recover(t.Context(), webhooks.RecoverIn{EndpointID: other, Since: *oldest.OldestEvent})
	if err != nil || got.Count.N != 3 {
		t.Fatalf("%+v, %v", got, err)
	}
	for _, e := range failed {
		h.settles(other, e, webhooks.Delivered)
	}
	all, err := h.domain.Recover(t.Context(), webhooks.RecoverIn{EndpointID: other, Since: *oldest.OldestEvent, Which: webhooks.All})
	if err != nil || all.Count.N != 3 {
		t.Fatalf("%+v, %v", all, err)
	}
	h.arrives("b", 6)
	for e, n := range h.sink.IDs("b") {
		if n != 2 {
			t.Errorf("%s came %d times", e, n)
		}
	}
	eventually(t, "the recovery is over", func() bool {
		r, err := h.domain.Recovery(context.Background(), all.RecoveryID)
		return err == nil && r.State == "completed" && r.Done == 3
	})
}
