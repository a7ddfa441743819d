package subscriber_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/gatehouse-hq/gatehouse/internal/domain/webhooks"
	"github.com/gatehouse-hq/gatehouse/internal/infra/jobs"
	"github.com/gatehouse-hq/gatehouse/mock-stack/sink"
)

// TestOutcomes is the table of the design, from the receiver's answer to delivery, task and endpoint (field cases F14, F17).
func TestOutcomes(t *testing.T) {
	t.Parallel()
	times := func(n int, s sink.Step) []sink.Step { s.Count = n; return []sink.Step{s} }
	tests := map[string]struct {
		steps    []sink.Step
		requests int
		state    webhooks.DeliveryState
		outcomes []string
		status   webhooks.Status
	}{
		"500, 500, 200": {times(2, sink.Step{Status: 500}), 3, webhooks.Delivered, []string{"retryable", "retryable", "delivered"}, webhooks.On},
		"400":           {times(9, sink.Step{Status: 400}), 1, webhooks.Failed, []string{"rejected"}, webhooks.Failing},
		"404":           {times(9, sink.Step{Status: 404}), 1, webhooks.Failed, []string{"rejected"}, webhooks.Failing},
		"408":           {times(1, sink.Step{Status: 408}), 2, webhooks.Delivered, []string{"retryable", "delivered"}, webhooks.On},
		"410":           {times(9, sink.Step{Status: 410}), 1, webhooks.Failed, []string{"gone"}, webhooks.Off},
		"302":           {times(9, sink.Step{Status: 302, Location: "/hook/elsewhere?token=x"}), 1, webhooks.Failed, []string{"redirected"}, webhooks.Failing},
		"307":           {times(9, sink.Step{Status: 307, Location: "http://127.0.0.1:1/"}), 1, webhooks.Failed, []string{"redirected"}, webhooks.Failing},
		"429 for 1 s":   {times(1, sink.Step{Status: 429, RetryAfter: "1"}), 2, webhooks.Delivered, []string{"snoozed", "delivered"}, webhooks.On},
		"503 nonsense":  {times(1, sink.Step{Status: 503, RetryAfter: "-1"}), 2, webhooks.Delivered, []string{"retryable", "delivered"}, webhooks.On},
		"dropped":       {times(1, sink.Step{Drop: true}), 2, webhooks.Delivered, []string{"retryable", "delivered"}, webhooks.On},
		"204":           {times(1, sink.Step{Status: 204}), 1, webhooks.Delivered, []string{"delivered"}, webhooks.On},
		"endless":       {times(9, sink.Step{Endless: true}), 1, webhooks.Delivered, []string{"delivered"}, webhooks.On},
		"dripping":      {times(9, sink.Step{Body: "abc", Drip: sink.Duration(200 * time.Millisecond)}), 1, webhooks.Delivered, []string{"delivered"}, webhooks.On},
		"gzip bomb":     {times(9, sink.Step{GzipSize: 1 << 30}), 1, webhooks.Delivered, []string{"delivered"}, webhooks.On},
		"1 MB headers":  {times(9, sink.Step{HeaderBytes: 1 << 20}), 1, webhooks.Delivered, []string{"delivered"}, webhooks.On},
		"broken UTF-8":  {times(9, sink.Step{BodyBase64: []byte("a\x00\xff\xc3")}), 1, webhooks.Delivered, []string{"delivered"}, webhooks.On},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHouse(t)
			const hook = "a"
			h.sink.SetPlan(hook, sink.Plan{Steps: test.steps})
			c := h.endpoint(hook)
			id := h.happen(1, "thing.made", `{}`)[0]
			h.settles(c.Endpoint.ID, id, test.state)
			got := h.attempts(c.Endpoint.ID, id)
			if len(got) != len(test.outcomes) {
				t.Fatalf("%d attempts: %+v", len(got), got)
			}
			for i, a := range got {
				if a.Outcome != test.outcomes[i] || a.Number != i+1 || a.Late {
					t.Errorf("attempt %d: number %d %s late %v, want %s", i+1, a.Number, a.Outcome, a.Late, test.outcomes[i])
				}
			}
			seen := 0
			for _, r := range h.sink.Received(hook) {
				if r.Headers.Get("Webhook-Id") == id {
					seen++
				}
			}
			if seen != test.requests {
				t.Errorf("%d requests, want %d", seen, test.requests)
			}
			if n := h.sink.Count("elsewhere").Requests; n != 0 {
				t.Errorf("a redirect was followed %d times", n)
			}
			eventually(t, "endpoint is "+string(test.status), func() bool {
				e, err := h.domain.Get(t.Context(), webhooks.GetIn{ID: c.Endpoint.ID})
				return err == nil && e.Status == test.status
			})
		})
	}
}

// A receiver that names a time gets nothing before it, from any event, and no attempt is spent.
func TestRetryAfterHoldsTheEndpoint(t *testing.T) {
	t.Parallel()
	for name, step := range map[string]sink.Step{
		"seconds": {Status: 429, Count: 1, RetryAfter: "2"},
		"date":    {Status: 503, Count: 1, RetryAfterIn: sink.Duration(3 * time.Second)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHouse(t)
			h.sink.SetPlan("a", sink.Plan{Steps: []sink.Step{step}})
			c := h.endpoint("a")
			first := h.happen(1, "thing.made", `{}`)[0]
			h.arrives("a", 1)
			h.happen(5, "thing.made", `{}`)
			got := h.arrives("a", 7)
			for i, r := range got[1:] {
				if gap := r.ReceivedAt.Sub(got[0].ReceivedAt); gap < 1800*time.Millisecond {
					t.Errorf("request %d came after %s", i+2, gap)
				}
			}
			h.settles(c.Endpoint.ID, first, webhooks.Delivered)
			a := h.attempts(c.Endpoint.ID, first)
			j, err := h.runtime.Get(t.Context(), a[len(a)-1].JobID)
			if err != nil || j.Total != 1 || j.Snoozes < 1 {
				t.Errorf("task: %d attempts, %d snoozes, %v", j.Total, j.Snoozes, err)
			}
		})
	}
}

// 410 switches the endpoint off; what waits and what comes is parked, and nothing more is sent (field case F19).
func TestGoneParksTheRest(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.sink.SetPlan("a", sink.Plan{Steps: []sink.Step{{Status: 410}}})
	c := h.endpoint("a")
	h.happen(1, "thing.made", `{}`)
	h.arrives("a", 1)
	eventually(t, "the endpoint is off", func() bool {
		e, err := h.domain.Get(t.Context(), webhooks.GetIn{ID: c.Endpoint.ID})
		return err == nil && e.Status == webhooks.Off
	})
	later := h.happen(3, "thing.made", `{}`)
	for _, id := range later {
		h.settles(c.Endpoint.ID, id, webhooks.Parked)
	}
	if n := h.sink.Count("a").Requests; n != 1 {
		t.Errorf("%d requests after 410", n)
	}
	alerts, err := h.domain.Alerts(t.Context())
	if err != nil || len(alerts) != 1 || alerts[0].Code != "webhook_off" {
		t.Errorf("alerts: %+v, %v", alerts, err)
	}
	h.sink.SetPlan("a", sink.Plan{})
	if _, err := h.domain.Enable(t.Context(), webhooks.EnableIn{ID: c.Endpoint.ID}); err == nil {
		t.Error("switched on without a word about what is parked")
	}
	if _, err := h.domain.Enable(t.Context(), webhooks.EnableIn{ID: c.Endpoint.ID, Parked: webhooks.ParkedDeliver}); err != nil {
		t.Fatal(err)
	}
	for _, id := range later {
		h.settles(c.Endpoint.ID, id, webhooks.Delivered)
	}
}

// A refused address is no failure of the receiver, and no packet leaves (field case F13).
func TestRefusedAddressIsNoFailure(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	c := h.endpoint("a")
	if _, err := h.db.Exec(t.Context(), `update webhook_endpoints set url = 'http://[::ffff:10.1.2.3]/', version = version + 1 where id = $1`, c.Endpoint.ID); err != nil {
		t.Fatal(err)
	}
	id := h.happen(1, "thing.made", `{}`)[0]
	h.settles(c.Endpoint.ID, id, webhooks.Failed)
	a := h.attempts(c.Endpoint.ID, id)
	e, err := h.domain.Get(t.Context(), webhooks.GetIn{ID: c.Endpoint.ID})
	if err != nil || len(a) != 1 || a[0].Outcome != "refused" || a[0].RemoteIP != "" || e.FailingSince != nil {
		t.Errorf("attempts %+v, endpoint %+v, %v", a, e, err)
	}
}

// Field case F13 at creation: each spelling is refused at its field, and nothing is stored.
func TestCreateRefusesAddresses(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	for _, url := range []string{"", "ftp://example.org/", "https://example.org/#x", "http://[::ffff:10.1.2.3]/", "http://[64:ff9b::a9fe:aa02]/",
		"http://[2002:a01:203::1]/", "http://[::a01:203]/", "http://100.100.100.200/", "http://198.18.0.1/", "http://[fec0::1]/", "http://0.0.0.0:8080/",
		"http://2130706433/", "http://127.1/", "http://localhost./", "http://127.0.0.1:22/", "https://exa mple.org"} {
		_, err := h.domain.Create(t.Context(), webhooks.CreateIn{URL: url, EventTypes: []string{"thing.made"}})
		if field(err) != "url" {
			t.Errorf("%q: %v", url, err)
		}
	}
	list, err := h.domain.List(t.Context(), webhooks.ListIn{})
	if err != nil || len(list.Endpoints) != 0 {
		t.Errorf("stored: %+v, %v", list, err)
	}
	_, err = h.domain.Create(t.Context(), webhooks.CreateIn{URL: h.hook + "a", EventTypes: []string{"nothing.**"}, MaxPerSecond: -1,
		Headers: []webhooks.Header{{Name: "Host", Value: "x"}}})
	for _, want := range []string{"event_types", "max_per_second", "headers.0.name"} {
		if !hasField(err, want) {
			t.Errorf("no error at %s: %v", want, err)
		}
	}
	if _, err := h.domain.Create(t.Context(), webhooks.CreateIn{URL: h.hook + "a", EventTypes: []string{"secret.kept"}}); field(err) != "event_types" {
		t.Errorf("an internal type can be selected: %v", err)
	}
}

// The test delivery goes to its endpoint alone, also when that is off, is tried once, and says nothing about its health.
func TestSendTest(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.sink.SetPlan("a", sink.Plan{Steps: []sink.Step{{Status: 500, Body: "no"}}})
	c := h.endpoint("a", "**")
	h.endpoint("b", "**")
	if _, err := h.domain.Pause(t.Context(), webhooks.Ref{ID: c.Endpoint.ID}); err != nil {
		t.Fatal(err)
	}
	out, err := h.domain.SendTest(t.Context(), webhooks.TestIn{ID: c.Endpoint.ID})
	if err != nil || out.Attempt == nil {
		t.Fatalf("%+v, %v", out, err)
	}
	if out.Attempt.Status != http.StatusInternalServerError || out.Attempt.Excerpt != "no" || out.Attempt.Trigger != webhooks.Test {
		t.Errorf("attempt %+v", out.Attempt)
	}
	e, err := h.domain.Get(t.Context(), webhooks.GetIn{ID: c.Endpoint.ID})
	if err != nil || e.FailingSince != nil || e.Status != webhooks.Paused {
		t.Errorf("endpoint %+v, %v", e, err)
	}
	j, err := h.runtime.Get(t.Context(), out.Attempt.JobID)
	if err != nil || j.State != jobs.Completed {
		t.Errorf("task %s, %v", j.State, err)
	}
	if a, b := h.sink.Count("a").Requests, h.sink.Count("b").Requests; a != 1 || b != 0 {
		t.Errorf("%d requests at its own endpoint, %d at another", a, b)
	}
}
