package admin_test

import (
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/gatehouse-hq/gatehouse/internal/domain/tasks/taskstest"
	bus "github.com/gatehouse-hq/gatehouse/internal/infra/events"
	"github.com/gatehouse-hq/gatehouse/internal/infra/jobs"
	"github.com/gatehouse-hq/gatehouse/internal/web/webtest"
)

func TestPeriodics(t *testing.T) {
	t.Parallel()
	q := known()
	q.Periodics = []jobs.PeriodicStatus{
		{Name: "known", Title: "Sweep", Every: 5 * time.Minute, NextRun: at("2030-01-01T00:00:00Z"), History: []jobs.PeriodicRun{
			{At: *at("2026-03-01T10:00:00Z"), Duration: 12 * time.Millisecond, OK: true, Trigger: "schedule", Job: 9},
			{At: *at("2026-03-01T09:55:00Z"), Error: "no room", Trigger: "hand"},
		}},
		{Name: "hourly", Title: "Rest", Every: time.Hour, Paused: true},
	}
	p := open(t, q, &taskstest.Stream{})
	holds(t, p.page(t, "/admin/periodic"), "every 5 minutes", "hourly", "done in 12 ms", `href="/admin/tasks/9"`, "no room", "paused", "Resume", "never")
	for verb, want := range map[string]string{"run": "periodic-started:0", "pause": "periodic-paused:0", "resume": "periodic-resumed:0"} {
		if to, flash := p.sent(t, webtest.Post("/admin/periodic/known/"+verb)); to != "/admin/periodic" || flash != want {
			t.Errorf("%s leads to %s with %q", verb, to, flash)
		}
	}
}

func TestEvents(t *testing.T) {
	t.Parallel()
	s := &taskstest.Stream{Entries: []bus.Entry{
		{Event: bus.Event{ID: "e2", Type: "b.happened", Subject: "wiki://b", Data: []byte(`{"n": 12345678901234567890}`), OccurredAt: *at("2026-03-01T10:00:00Z")}, State: bus.Poisoned, Faults: 5, LastError: "cannot be decoded"},
		{Event: bus.Event{ID: "e1", Type: "a.happened", Subject: "wiki://a", OccurredAt: *at("2026-03-01T10:00:00Z")}, State: bus.Delivered, FannedOutAt: at("2026-03-01T10:00:01Z"), Fanout: map[string]jobs.ID{"corpus.index": 12}},
	}}
	s.Entries[0].Seq, s.Entries[1].Seq = 2, 1
	p := open(t, known(), s)
	holds(t, p.page(t, "/admin/events?state=poisoned"), `hx-get="/admin/events/shown?seqs=2.1"`)
	holds(t, p.page(t, "/admin/events"), `href="/admin/events/e2"`, "cannot be decoded", "wiki://a", `value="a.happened"`)
	holds(t, p.page(t, "/admin/events/e1"), "corpus.index", `href="/admin/tasks/12"`, "discarded", "search refused", "1.00 s later")
	holds(t, p.page(t, "/admin/events/e2"), "12345678901234567890", "failed 5 times", "Requeue")
	if to, flash := p.sent(t, webtest.Post("/admin/events/e2/requeue")); to != "/admin/events/e2" || flash != "event-requeued:0" {
		t.Errorf("leads to %s with %q", to, flash)
	}
	holds(t, p.status(t, webtest.Post("/admin/events/e2/requeue"), http.StatusConflict), "no longer set aside")
	// A row that is looked at tells its present state in its place.
	body := p.page(t, "/admin/events/shown?seqs=2")
	holds(t, body, `id="rows"`, "wiki://b", "waiting")
	if strings.Contains(body, "<html") || strings.Contains(body, "wiki://a") {
		t.Errorf("more than that row:\n%s", body)
	}
	p.status(t, webtest.Get("/admin/events/shown?seqs=x"), http.StatusNotFound)
	holds(t, open(t, known(), &taskstest.Stream{}).page(t, "/admin/events?state=poisoned"), "No event is set aside")
}

func TestOverviewPutsWhatNeedsTheOwnerFirst(t *testing.T) {
	t.Parallel()
	q := known()
	q.AllQueues = []jobs.QueueStatus{{Name: "index", Running: 1, Limit: 4}}
	body := open(t, q, &taskstest.Stream{Size: bus.Backlog{Waiting: jobs.Count{N: 2000}}}).page(t, "/admin/")
	holds(t, body, "Events are waiting to be handed over", "Tasks have failed for good", "2 tasks: 2 corpus.index", "of one kind; oldest", `href="/admin/tasks?state=discarded"`, "1 of 4", "owners")
	if strings.Index(body, "Events are waiting") > strings.Index(body, "Tasks have failed") {
		t.Error("what is stuck does not stand first")
	}
	holds(t, open(t, &taskstest.Queue{}, &taskstest.Stream{}).page(t, "/admin/"), "Nothing needs you", "Nothing has happened yet")
}

// The charts know the last 24 hours in the owner's zone, and a stretch nobody counted is a gap, not a zero.
func TestOverviewDrawsTheLastDay(t *testing.T) {
	t.Parallel()
	p := open(t, &taskstest.Queue{}, &taskstest.Stream{})
	holds(t, p.page(t, "/admin/"), "Nothing has been counted yet")
	if _, err := p.db.Exec(t.Context(), `
insert into throughput (at, counted_at, events, relayed, completed, discarded, cancelled, delivered, failed, waiting_events, waiting_tasks)
select date_bin('10 minutes', clock_timestamp(), 'epoch') - i * interval '10 minutes', clock_timestamp(), 4711, 0, 0, 0, 0, 0, 0, 815, case when i < 3 then 3 end
from generate_series(1, 5) i where i <> 4`); err != nil {
		t.Fatal(err)
	}
	body := p.page(t, "/admin/")
	holds(t, body, "Throughput, each ten minutes", "4\u202f711 events", "815 events", "3 tasks", "Show the numbers")
	if n := strings.Count(body, `<td class="num">4`+"\u202f"+`711</td>`); n != 4 {
		t.Errorf("the table holds the figure %d times, want 4", n)
	}
	// Of two of the four known times it is not known how many tasks waited; the other 140 are left out.
	if n := strings.Count(body, `<td class="num">–</td>`); n != 2 {
		t.Errorf("%d figures are not known, want 2", n)
	}
	holds(t, body, "Times that nothing is known of are left out")
}

func TestSettings(t *testing.T) {
	t.Parallel()
	p := open(t, known(), &taskstest.Stream{})
	holds(t, p.page(t, "/admin/settings"), "ada@example.com", "this browser", `value="UTC"`)
	body := p.status(t, webtest.Post("/admin/settings", "title", "My "+markup, "zone", "Mars/Olympus", "tagline", "kept"), http.StatusUnprocessableEntity)
	holds(t, body, "Europe/Berlin", `value="Mars/Olympus"`, `value="kept"`)
	if strings.Contains(body, "<svg onload") {
		t.Error("typed markup is live")
	}
	if strings.Contains(p.page(t, "/admin/settings"), "data-keys-off") {
		t.Error("shortcuts are off before they were switched off")
	}
	p.sent(t, webtest.Post("/admin/settings", "title", "Garden", "zone", "UTC"))
	holds(t, p.page(t, "/admin/settings"), "data-keys-off")
	if _, flash := p.sent(t, webtest.Post("/admin/settings", "title", "Garden", "zone", "Asia/Tokyo", "single_keys", "true")); flash != "settings-saved:0" {
		t.Errorf("flash %q", flash)
	}
	holds(t, p.page(t, "/admin/settings"), `value="Garden"`, `value="Asia/Tokyo"`)

	for name, c := range map[string]struct {
		fields []string
		says   string
	}{
		"wrong old one": {[]string{"old", "guess guess guess", "password", "another long one", "again", "another long one"}, "not the present password"},
		"too short":     {[]string{"old", webtest.Password, "password", "short", "again", "short"}, "at least 10"},
		"two differ":    {[]string{"old", webtest.Password, "password", "another long one", "again", "another long two"}, "differ"},
	} {
		body := p.status(t, webtest.Post("/admin/settings/password", c.fields...), http.StatusUnprocessableEntity)
		if !strings.Contains(body, c.says) || strings.Contains(body, "another long") {
			t.Errorf("%s: says\n%s", name, body)
		}
	}
	if _, flash := p.sent(t, webtest.Post("/admin/settings/password", "old", webtest.Password, "password", "another long one", "again", "another long one")); flash != "password-changed:0" {
		t.Errorf("flash %q", flash)
	}
	if _, flash := p.sent(t, webtest.Post("/admin/settings/sessions/0011223344556677/end")); flash != "session-gone:0" {
		t.Errorf("flash %q", flash)
	}
}

func TestTokens(t *testing.T) {
	t.Parallel()
	p := open(t, known(), &taskstest.Stream{})
	holds(t, p.page(t, "/admin/settings"), `href="/admin/settings/tokens"`)
	holds(t, p.page(t, "/admin/settings/tokens"), "No tokens yet")
	body := p.status(t, webtest.Post("/admin/settings/tokens", "name", markup, "days", "many"), http.StatusUnprocessableEntity)
	holds(t, body, "whole number", `value="many"`)
	holds(t, p.status(t, webtest.Post("/admin/settings/tokens", "name", "laptop", "days", "30"), http.StatusUnprocessableEntity), "Choose at least one", `value="laptop"`)
	if strings.Contains(body, "<svg onload") {
		t.Error("typed markup is live")
	}

	r := webtest.Post("/admin/settings/tokens", "name", "laptop", "classes", "read", "classes", "write", "days", "0")
	r.Header.Set("Accept-Encoding", "gzip")
	w := p.Owner(r)
	secret := regexp.MustCompile(`gatehouse_[\w-]{43}`).FindString(w.Body.String())
	if w.Code != http.StatusOK || secret == "" || w.Header().Get("Content-Encoding") != "" || w.Header().Get("Cache-Control") != "private, no-store" {
		t.Fatalf("%d %v\n%s", w.Code, w.Header(), w.Body)
	}
	page := p.page(t, "/admin/settings/tokens")
	holds(t, page, "laptop", "Read, Write", "never", "not yet", "active")
	if strings.Contains(page, secret) {
		t.Error("the secret is shown again")
	}
	revoke := regexp.MustCompile(`/admin/settings/tokens/[\w-]{36}/revoke`).FindString(page)
	holds(t, p.page(t, revoke), "Revoke laptop", "refused from its next call on")
	holds(t, p.page(t, "/admin/settings/tokens"), "active")
	for _, want := range []string{"token-revoked:0", "token-gone:0"} {
		if to, flash := p.sent(t, webtest.Post(revoke)); to != "/admin/settings/tokens" || flash != want {
			t.Errorf("leads to %s with %q, want %q", to, flash, want)
		}
	}
	if _, flash := p.sent(t, webtest.Get(revoke)); flash != "token-gone:0" {
		t.Errorf("a revoked one can be asked about: %q", flash)
	}
	holds(t, p.page(t, "/admin/settings/tokens"), "revoked")
}
