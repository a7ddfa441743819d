package admin_test

import (
	"context"
	"encoding/json"
	"fmt"
	"html"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/go-chi/chi/v5"

	"github.com/gatehouse-hq/gatehouse/internal/domain/owner"
	"github.com/gatehouse-hq/gatehouse/internal/domain/tasks/taskstest"
	domain "github.com/gatehouse-hq/gatehouse/internal/domain/webhooks"
	"github.com/gatehouse-hq/gatehouse/internal/domain/webhooks/subscriber"
	"github.com/gatehouse-hq/gatehouse/internal/infra/egress"
	bus "github.com/gatehouse-hq/gatehouse/internal/infra/events"
	"github.com/gatehouse-hq/gatehouse/internal/infra/jobs"
	"github.com/gatehouse-hq/gatehouse/internal/infra/pg"
	"github.com/gatehouse-hq/gatehouse/internal/infra/pg/pgtest"
	"github.com/gatehouse-hq/gatehouse/internal/infra/seal"
	"github.com/gatehouse-hq/gatehouse/internal/web/admin"
	"github.com/gatehouse-hq/gatehouse/internal/web/admin/notes"
	"github.com/gatehouse-hq/gatehouse/internal/web/admin/webhooks"
	"github.com/gatehouse-hq/gatehouse/internal/web/webtest"
)

// receivers is the section of webhooks on a real database and a queue in memory.
type receivers struct {
	panel
	hooks *domain.Domain
	db    *pg.DB
	queue *hookQueue
}

// hookQueue remembers what was to be sent.
type hookQueue struct {
	taskstest.Queue
	inserts []jobs.Insert
}

// still are the section's handlers, which nobody runs here.
type still struct{}

func (still) FanOut(context.Context, []bus.Event) error      { return nil }
func (still) Deliver(context.Context, json.RawMessage) error { return nil }

func (q *hookQueue) With(pg.Tx) jobs.Jobs { return q }

func (q *hookQueue) EnqueueMany(_ context.Context, list []jobs.Insert) ([]jobs.Result, error) {
	q.inserts = append(q.inserts, list...)
	return make([]jobs.Result, len(list)), nil
}

func webhookTypes() []bus.Type {
	example := json.RawMessage(`{"id":"1"}`)
	return append(domain.Types(),
		bus.Type{Name: "thing.made", Title: "Made", Example: example, Exposure: bus.Webhook},
		bus.Type{Name: "thing.broken", Title: "Broken", Example: example, Exposure: bus.Webhook},
		bus.Type{Name: "other.seen", Title: "Seen", Example: example, Exposure: bus.Webhook})
}

func newHooks(t *testing.T, db *pg.DB, rec bus.Recorder, q jobs.Jobs) *domain.Domain {
	t.Helper()
	allow, err := egress.ParseAllow("127.0.0.1")
	if err != nil {
		t.Fatal(err)
	}
	sealer, err := seal.New(make([]byte, seal.KeyBytes))
	if err != nil {
		t.Fatal(err)
	}
	d := domain.New(domain.Deps{DB: db, Recorder: rec, Sealer: sealer, Addresses: egress.New(egress.Options{Allow: allow}), Wire: subscriber.Wire{}})
	d.Connect(domain.Queue{Jobs: q, Types: webhookTypes(),
		Wait: func(context.Context, jobs.ID, time.Duration) (jobs.State, bool) { return "", false },
		Event: func(ctx context.Context, id string) (bus.Event, error) {
			e := bus.Event{ID: id, Seq: 1}
			err := db.QueryRow(ctx, `select type, subject, data, occurred_at from public.events where id = $1::uuid`, id).Scan(&e.Type, &e.Subject, &e.Data, &e.OccurredAt)
			return e, err
		}})
	return d
}

func openReceivers(t *testing.T) receivers {
	t.Helper()
	db := pgtest.New(t)
	rec := bus.NewRecorder(append(owner.Types(), webhookTypes()...), bus.NewBell())
	h := webtest.New(t, owner.New(db, rec), admin.Messages())
	q := &hookQueue{}
	d := newHooks(t, db, rec, q)
	h.Router.Route("/admin", func(r chi.Router) {
		r.Use(h.Gate.Require)
		admin.Routes(h.Edge, admin.Sections{Webhooks: webhooks.New(d, plansOf(t, db, d.Module(still{}).Ops), ""), Notes: notes.New(nil, nil, nil, h.Edge)})(r)
	})
	return receivers{panel{h, &q.Queue, nil, db}, d, db, q}
}

// endpoint adds a receiver whose address holds a token.
func (p receivers) endpoint(t *testing.T, description string) domain.Endpoint {
	t.Helper()
	made, err := p.hooks.Create(context.Background(), domain.CreateIn{URL: "http://127.0.0.1:4999/hook/tok-in-path?key=tok-in-query", Description: description,
		EventTypes: []string{"thing.*"}, Headers: []domain.Header{{Name: "Authorization", Value: "Bearer tok-in-header"}}})
	if err != nil {
		t.Fatal(err)
	}
	return made.Endpoint
}

// delivery puts one into the log, with its event, and returns the event's id.
func (p receivers) delivery(t *testing.T, endpoint string, state domain.DeliveryState, eventType, subject string) string {
	t.Helper()
	ctx := context.Background()
	var id string
	err := p.db.QueryRow(ctx, `insert into public.events (owner_id, type, subject, data) select id, $1, $2, '{"id":"1"}' from public.owners returning id::text`, eventType, subject).Scan(&id)
	if err != nil {
		t.Fatal(err)
	}
	_, err = p.db.Exec(ctx, `insert into public.webhook_deliveries (endpoint_id, event_id, state, attempts, last_status, last_error, settled_at)
values ($1::uuid, $2::uuid, $3, 1, 500, 'answered 500', case when $3 in ('waiting', 'parked') then null else clock_timestamp() end)`, endpoint, id, string(state))
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// attempt puts one into the log.
func (p receivers) attempt(t *testing.T, endpoint, event, outcome string, status int, text string) {
	t.Helper()
	headers, err := json.Marshal(http.Header{"X-Said": {text}})
	if err != nil {
		t.Fatal(err)
	}
	_, err = p.db.Exec(context.Background(), `
insert into public.webhook_attempts (endpoint_id, event_id, number, started_at, trigger, outcome, status, error, location, total_us, first_byte_us, remote_ip, headers, excerpt, key_ids)
values ($1::uuid, $2::uuid, 1, clock_timestamp(), 'automatic', $3, $4, $5, $5, 12000, 9000, '127.0.0.1', $6::jsonb, $5, '{key_1}')`,
		endpoint, event, outcome, status, text, string(headers))
	if err != nil {
		t.Fatal(err)
	}
}

func (p receivers) statusOf(t *testing.T, id string) domain.Status {
	t.Helper()
	e, err := p.hooks.Get(context.Background(), domain.GetIn{ID: id})
	if err != nil {
		t.Fatal(err)
	}
	return e.Status
}

func lacks(t *testing.T, page string, texts ...string) {
	t.Helper()
	for _, text := range texts {
		if strings.Contains(page, text) {
			t.Errorf("the page says %q", text)
		}
	}
}

// hidden is the value of a hidden field.
func hidden(t *testing.T, page, name string) string {
	t.Helper()
	m := regexp.MustCompile(`name="` + name + `" value="([^"]*)"`).FindStringSubmatch(page)
	if m == nil {
		t.Fatalf("no field %s\n%s", name, page)
	}
	return m[1]
}

func seen(e domain.Endpoint) []string { return []string{"version", fmt.Sprint(e.Version)} }

func TestASecretIsShownOnceAndAddressesAreRedacted(t *testing.T) {
	t.Parallel()
	p := openReceivers(t)
	holds(t, p.page(t, "/admin/webhooks"), "Nobody listens yet")
	form := p.page(t, "/admin/webhooks/new")
	holds(t, form, `value="thing.*"`, `value="thing.made"`, "Example of thing.made", "&#34;id&#34;", "127.0.0.1", "this machine itself")
	lacks(t, form, `value="webhook.test"`)

	body := p.status(t, webtest.Post("/admin/webhooks", "url", "http://127.0.0.1:4999/hook/tok-in-path?key=tok-in-query", "description", "Shop",
		"types", "thing.made", "patterns", "other.*\n", "headers", "Authorization: Bearer tok-in-header", "max_per_second", "5", "scheme", "hmac"), http.StatusCreated)
	holds(t, body, "whsec_", "Shown this once", "standardwebhooks", "data-copy")
	list, err := p.hooks.List(context.Background(), domain.ListIn{})
	if err != nil || len(list.Endpoints) != 1 {
		t.Fatalf("%d endpoints: %v", len(list.Endpoints), err)
	}
	e := list.Endpoints[0]
	p.delivery(t, e.ID, domain.Failed, "thing.made", "thing://1")
	for _, path := range []string{"", "/" + e.ID, "/" + e.ID + "/delete", "/" + e.ID + "/rotate", "/" + e.ID + "/enable"} {
		page := p.page(t, "/admin/webhooks"+path)
		holds(t, page, "Shop")
		lacks(t, page, "whsec_", "tok-in-query", "tok-in-header", "tok-in-path")
	}
	holds(t, p.page(t, "/admin/webhooks/"+e.ID), "thing.made, other.*", "at most 5 a second", "Authorization", "other.seen")
	holds(t, p.page(t, "/admin/webhooks/"+e.ID+"/edit"), "tok-in-path?key=tok-in-query", "Bearer tok-in-header", `value="5"`, "other.*")
}

func TestEachMistakeStandsAtItsFieldAndWhatWasTypedStays(t *testing.T) {
	t.Parallel()
	p := openReceivers(t)
	e := p.endpoint(t, "Shop")
	good := map[string]string{"url": "http://127.0.0.1:4999/kept", "description": "kept name", "types": "thing.made", "patterns": "", "headers": "X-Kept: kept", "max_per_second": "7", "scheme": "hmac"}
	for _, c := range []struct{ field, value, at, says string }{
		{"url", "", "url", "Write the receiver"},
		{"url", "ftp://example.org/", "url", "refused"},
		{"url", "https://10.0.0.1/hook", "url", "refused"},
		{"url", "http://127.0.0.1:4999/kept#part", "url", "refused"},
		{"url", "http://127.0.0.1:4999/" + strings.Repeat("x", 2000), "url", "refused"},
		{"url", "http://127.0.0.1:4999/\x00", "url", "cannot be stored"},
		{"description", strings.Repeat("x", 501), "description", "501 characters"},
		{"description", "a\x00b", "description", "cannot be stored"},
		{"patterns", "nothing.*", "event_types", "selects none"},
		{"patterns", "webhook.*", "event_types", "selects none"}, // tests alone, which need no selecting
		{"patterns", "a b", "event_types", "a b</textarea>"},
		{"types", "", "event_types", "Choose at least one"},
		{"headers", "no colon here", "headers", "Line 1 has no colon"},
		{"headers", "Host: example.org", "headers", "Host"},
		{"headers", "X-Twice: 1\nx-twice: 2", "headers", "cannot be sent"},
		{"headers", "webhook-id: 1", "headers", "cannot be sent"},
		{"headers", "Content-Type: text/plain", "headers", "cannot be sent"},
		{"headers", "Connection: close", "headers", "cannot be sent"},
		{"headers", "X Y: 1", "headers", "cannot be sent"},
		{"headers", "X-Bell: a\x07b", "headers", "cannot be sent"},
		{"max_per_second", "many", "max_per_second", "whole number"},
		{"max_per_second", "1001", "max_per_second", "whole number"},
	} {
		fields := []string{}
		for name, value := range good {
			if name == c.field {
				value = c.value
			}
			fields = append(fields, name, value)
		}
		for _, path := range []string{"/admin/webhooks", "/admin/webhooks/" + e.ID + "/edit"} {
			body := p.status(t, webtest.Post(path, append(fields, seen(e)...)...), http.StatusUnprocessableEntity)
			if !strings.Contains(body, `id="f-`+c.at+`-error"`) || !strings.Contains(body, c.says) {
				t.Errorf("%s with %s=%.40q: nothing about %q at %s\n%s", path, c.field, c.value, c.says, c.at, body)
			}
			for name, value := range good {
				if name != "scheme" && name != c.field && !strings.Contains(body, value) {
					t.Errorf("%s with %s=%.40q: the typed %s is lost", path, c.field, c.value, name)
				}
			}
		}
	}
	p.status(t, webtest.Post("/admin/webhooks", "url", "http://127.0.0.1:4999/a", "types", "thing.made", "scheme", "rot13"), http.StatusUnprocessableEntity)
	body := p.status(t, webtest.Post("/admin/webhooks", "url", "ftp://x", "max_per_second", "many", "headers", "none", "scheme", "hmac"), http.StatusUnprocessableEntity)
	for _, field := range []string{"url", "event_types", "headers", "max_per_second"} {
		holds(t, body, `id="f-`+field+`-error"`)
	}
	list, err := p.hooks.List(context.Background(), domain.ListIn{})
	if err != nil || len(list.Endpoints) != 1 || list.Endpoints[0].Version != e.Version {
		t.Errorf("a refused form changed something: %+v, %v", list.Endpoints, err)
	}
}

func TestAStalePageChangesNothingAndSaysWhatChanged(t *testing.T) {
	t.Parallel()
	p := openReceivers(t)
	e := p.endpoint(t, "Shop")
	at := "/admin/webhooks/" + e.ID
	asked, on := planIn(t, p.page(t, at+"/delete")), planIn(t, p.page(t, at+"/enable"))
	name := "Renamed elsewhere"
	if _, err := p.hooks.Update(context.Background(), domain.UpdateIn{ID: e.ID, Description: &name}); err != nil {
		t.Fatal(err)
	}
	holds(t, p.status(t, webtest.Post(at+"/delete", "plan", asked), http.StatusConflict), "changed meanwhile: description", name)
	holds(t, p.status(t, webtest.Post(at+"/delete"), http.StatusConflict), "unknown, used up or expired")
	holds(t, p.status(t, webtest.Post(at+"/enable", "plan", on), http.StatusConflict), "changed meanwhile: description", name)
	holds(t, p.status(t, webtest.Post(at+"/enable"), http.StatusConflict), "unknown, used up or expired")
	holds(t, p.status(t, webtest.Post(at+"/pause", seen(e)...), http.StatusConflict), "changed meanwhile: description", name)
	p.status(t, webtest.Post(at+"/pause"), http.StatusUnprocessableEntity)
	holds(t, p.status(t, webtest.Post(at+"/rotate", append(seen(e), "overlap", "24h")...), http.StatusConflict), "changed meanwhile: description", "Seven days")
	typed := append(seen(e), "url", "http://127.0.0.1:4999/mine", "description", "Mine", "types", "thing.*")
	body := p.status(t, webtest.Post(at+"/edit", typed...), http.StatusConflict)
	holds(t, body, "changed meanwhile: description", `value="Mine"`, `value="http://127.0.0.1:4999/mine"`, `name="version" value="2"`)
	if got := p.statusOf(t, e.ID); got != domain.On {
		t.Errorf("a stale page made it %s", got)
	}
	now, err := p.hooks.Get(context.Background(), domain.GetIn{ID: e.ID})
	if err != nil || now.Description != name {
		t.Errorf("a stale form was stored: %q, %v", now.Description, err)
	}
	typed[1] = "2"
	if _, flash := p.sent(t, webtest.Post(at+"/edit", typed...)); flash != "webhook-saved:0" {
		t.Errorf("saving again says %q", flash)
	}

	plan := planIn(t, p.page(t, at+"/delete"))
	on = planIn(t, p.page(t, at+"/enable"))
	if _, err := p.hooks.Delete(context.Background(), domain.Ref{ID: e.ID}); err != nil {
		t.Fatal(err)
	}
	holds(t, p.status(t, webtest.Post(at+"/enable", "plan", on), http.StatusConflict), "deleted meanwhile", "This endpoint was deleted")
	for _, path := range []string{"/pause", "/delete", "/rotate", "/test"} {
		body := p.status(t, webtest.Post(at+path, "version", "3", "plan", plan, "overlap", "none", "url", "http://127.0.0.1:4999/", "types", "thing.*"), http.StatusConflict)
		holds(t, body, "deleted meanwhile", "This endpoint was deleted")
		lacks(t, body, at+"/pause", at+"/edit")
	}
	event := "0197d0f0-5f2c-7c3e-9d50-1c9a7f0a4b11"
	for _, request := range []*http.Request{webtest.Post(at+"/again", "event", event), webtest.Get(at + "/failed"), webtest.Get(at + "/recover"), webtest.Get(at + "/recover?since=2026-11-01T00:00"),
		webtest.Post(at+"/failed", "plan", "plan_used"), webtest.Post(at+"/recover", "plan", "plan_used")} {
		body := p.status(t, request, http.StatusConflict)
		holds(t, body, "This endpoint was deleted")
	}
	holds(t, p.status(t, webtest.Post(at+"/edit", typed...), http.StatusConflict), "deleted meanwhile", `value="Mine"`, "Create endpoint")
	for _, path := range []string{"/edit", "/delete", "/rotate", "/enable"} {
		holds(t, p.status(t, webtest.Get(at+path), http.StatusConflict), "deleted meanwhile")
	}
	holds(t, p.page(t, "/admin/webhooks?deleted=true"), `href="`+at+`"`)
}

func TestSwitchingOnAsksAboutWhatIsParked(t *testing.T) {
	t.Parallel()
	p := openReceivers(t)
	for choice, want := range map[string]domain.DeliveryState{"deliver": domain.Parked, "drop": domain.Dropped} {
		e := p.endpoint(t, "Shop "+choice)
		at := "/admin/webhooks/" + e.ID
		if _, flash := p.sent(t, webtest.Post(at+"/pause", seen(e)...)); flash != "webhook-paused:0" {
			t.Errorf("flash %q", flash)
		}
		p.delivery(t, e.ID, domain.Parked, "thing.made", "thing://1")
		event := p.delivery(t, e.ID, domain.Parked, "thing.made", "thing://2")
		holds(t, p.page(t, at), "paused", "You paused it.", `href="`+at+`/enable"`)
		holds(t, p.page(t, at+"/enable"), "Deliver 2 deliveries", "Drop 2 deliveries")
		page := p.page(t, at+"/enable")
		plans := []string{"plandeliver", hidden(t, page, "plandeliver"), "plandrop", hidden(t, page, "plandrop")}
		body := p.status(t, webtest.Post(at+"/enable", plans...), http.StatusUnprocessableEntity)
		holds(t, body, "whether to deliver or to drop", `id="f-parked-error"`, "Drop 2 deliveries")
		// What is parked after the owner looked was not part of the question.
		later := p.delivery(t, e.ID, domain.Parked, "thing.made", "thing://3")
		holds(t, p.status(t, webtest.Post(at+"/again", "event", event), http.StatusConflict), "Switch it on first")
		holds(t, p.status(t, webtest.Get(at+"/failed"), http.StatusConflict), "Switch it on first")
		if _, flash := p.sent(t, webtest.Post(at+"/enable", append(plans, "parked", choice)...)); flash != "webhook-on-"+choice+":"+map[string]string{"deliver": "3", "drop": "2"}[choice] {
			t.Errorf("flash %q", flash)
		}
		if d, err := p.hooks.Delivery(context.Background(), e.ID, later); err != nil || d.State != domain.Parked {
			t.Errorf("%s makes what came later %s, want parked until it is caught up with: %v", choice, d.State, err)
		}
		p.status(t, webtest.Post(at+"/enable", append(plans, "parked", choice)...), http.StatusConflict)
		if got := p.statusOf(t, e.ID); got != domain.On {
			t.Errorf("it is %s", got)
		}
		d, err := p.hooks.Delivery(context.Background(), e.ID, event)
		if err != nil || d.State != want {
			t.Errorf("%s makes the parked %s, want %s: %v", choice, d.State, want, err)
		}
	}
}

func TestRotationAsksForTheOverlapAndRefusesASecondWithinIt(t *testing.T) {
	t.Parallel()
	p := openReceivers(t)
	at := "/admin/webhooks/" + p.endpoint(t, "Shop").ID
	p.status(t, webtest.Post(at+"/rotate", "version", "1", "overlap", "ever"), http.StatusUnprocessableEntity)
	holds(t, p.status(t, webtest.Post(at+"/rotate", "version", "1", "overlap", "24h"), http.StatusOK), "whsec_", "both keys sign")
	holds(t, p.page(t, at), "old, signs as well until")
	holds(t, p.status(t, webtest.Post(at+"/rotate", "version", "2", "overlap", "none"), http.StatusConflict), "still signs until", "Rotate although")
	holds(t, p.status(t, webtest.Post(at+"/rotate", "version", "2", "overlap", "none", "force", "true", "scheme", "ed25519"), http.StatusOK), "whpk_", "no longer signs", "v1a,")
}

func TestDeletionNamesWhatItTakesWithIt(t *testing.T) {
	t.Parallel()
	p := openReceivers(t)
	e := p.endpoint(t, "Shop")
	at := "/admin/webhooks/" + e.ID
	event := p.delivery(t, e.ID, domain.Waiting, "thing.made", "thing://1")
	p.delivery(t, e.ID, domain.Parked, "thing.made", "thing://2")
	holds(t, p.page(t, at+"/delete"), "1 delivery will be cancelled", "forgotten")
	stale := planIn(t, p.page(t, at+"/delete"))
	if _, err := p.hooks.Pause(context.Background(), domain.Ref{ID: e.ID}); err != nil {
		t.Fatal(err)
	}
	holds(t, p.status(t, webtest.Post(at+"/delete", "plan", stale), http.StatusConflict), "changed meanwhile")
	if to, flash := p.sent(t, webtest.Post(at+"/delete", "plan", planIn(t, p.page(t, at+"/delete")))); to != "/admin/webhooks" || flash != "webhook-deleted:2" {
		t.Errorf("leads to %s with %q", to, flash)
	}
	holds(t, p.page(t, at+"/deliveries/"+event), "cancelled", "The endpoint was deleted")
}

func TestTheLogIsFilteredAndSentAgain(t *testing.T) {
	t.Parallel()
	p := openReceivers(t)
	e := p.endpoint(t, "Shop")
	at := "/admin/webhooks/" + e.ID
	holds(t, p.page(t, at), "No deliveries yet", "Nothing was sent")
	one := p.delivery(t, e.ID, domain.Failed, "thing.made", "thing://one")
	two := p.delivery(t, e.ID, domain.Delivered, "thing.broken", "thing://two")
	p.attempt(t, e.ID, two, "delivered", 200, "thanks")
	holds(t, p.page(t, at), "thing://one", "thing://two", "500 · answered 500", "Deliver all failed again", "100.0 %", "12 ms", "1 attempt<", "Show the numbers")
	holds(t, p.page(t, "/admin/webhooks"), "100.0 %", "12 ms / 12 ms")
	for query, want := range map[string]bool{"state=failed": true, "state=delivered": false, "type=thing.made": true, "type=*.broken": false, "since=2001-01-01T00:00": true, "since=2999-01-01T00:00": false} {
		if got := strings.Contains(p.page(t, at+"?"+query), "thing://one"); got != want {
			t.Errorf("%s shows it: %t, want %t", query, got, want)
		}
	}
	holds(t, p.page(t, at+"?state=parked"), "No delivery matches", "Clear the filter")
	for _, query := range []string{"state=lost", "since=yesterday", "cursor=x"} {
		body := p.status(t, webtest.Get(at+"?"+query), http.StatusUnprocessableEntity)
		lacks(t, body, "No deliver")
	}
	holds(t, p.page(t, at+"/new?after="+one), "1 new")
	lacks(t, p.page(t, at+"/new?after="+two), "new")

	// A row that is looked at tells its present state in its place.
	holds(t, p.page(t, at+"?state=failed"), `hx-get="`+at+`/shown?events=`+one+`"`)
	if _, err := p.db.Exec(t.Context(), `update public.webhook_deliveries set state = 'delivered', last_status = 204, last_error = '' where event_id = $1`, one); err != nil {
		t.Fatal(err)
	}
	shown := p.page(t, at+"/shown?events="+one)
	holds(t, shown, `id="log-rows"`, "thing://one", "204", "delivered", `name="event" value="`+one)
	lacks(t, shown, "<html", "thing://two")
	p.status(t, webtest.Get(at+"/shown?events=x"), http.StatusNotFound)
	p.status(t, webtest.Get("/admin/webhooks/x/shown?events="+one), http.StatusNotFound)

	back := at + "?state=failed"
	if to, flash := p.sent(t, webtest.Post(at+"/again", "event", one, "event", two, "back", back)); to != back || flash != "webhook-again:2" {
		t.Errorf("leads to %s with %q", to, flash)
	}
	if _, flash := p.sent(t, webtest.Post(at+"/again", "event", one, "event", two, "only", two)); flash != "webhook-again:1" || len(p.queue.inserts) != 3 {
		t.Errorf("flash %q, %d queued", flash, len(p.queue.inserts))
	}
	if _, flash := p.sent(t, webtest.Post(at+"/again")); flash != "webhook-again-none:0" {
		t.Errorf("flash %q", flash)
	}
	p.status(t, webtest.Post(at+"/again", "event", "none"), http.StatusNotFound)
}

func TestSendingManyAgainCountsFirst(t *testing.T) {
	t.Parallel()
	p := openReceivers(t)
	e := p.endpoint(t, "Shop")
	at := "/admin/webhooks/" + e.ID
	holds(t, p.page(t, at+"/failed"), "No delivery has failed")
	p.delivery(t, e.ID, domain.Failed, "thing.made", "thing://1")
	p.delivery(t, e.ID, domain.Failed, "thing.made", "thing://2")
	p.delivery(t, e.ID, domain.Delivered, "thing.made", "thing://3")
	body := p.page(t, at+"/failed")
	holds(t, body, "Send 2 deliveries")
	plan := planIn(t, body)
	p.delivery(t, e.ID, domain.Failed, "thing.made", "thing://later") // nobody has seen it counted
	if len(p.queue.Enqueued) != 0 {
		t.Error("asking has queued something")
	}
	if _, flash := p.sent(t, webtest.Post(at+"/failed", "plan", plan)); flash != "webhook-recover:2" || len(p.queue.Enqueued) != 1 {
		t.Errorf("flash %q, %d queued", flash, len(p.queue.Enqueued))
	}
	holds(t, p.page(t, at), "Sending again, all failed deliveries")
	holds(t, p.status(t, webtest.Post(at+"/failed", "plan", plan), http.StatusConflict), "used up or expired")

	holds(t, p.page(t, at+"/recover"), "What never arrived", "Since")
	since := time.Now().UTC().Add(-time.Hour).Format("2006-01-02T15:04")
	body = p.status(t, webtest.Get(at+"/recover?which=all&since="+since), http.StatusUnprocessableEntity)
	holds(t, body, "The oldest event that is kept is of", `value="`+since+`"`)
	p.status(t, webtest.Get(at+"/recover?which=all&since=soon"), http.StatusUnprocessableEntity)
	p.status(t, webtest.Get(at+"/recover?which=most&since="+since), http.StatusUnprocessableEntity)
	var oldest time.Time
	if err := p.db.QueryRow(context.Background(), `select min(occurred_at) from public.events`).Scan(&oldest); err != nil {
		t.Fatal(err)
	}
	exact := oldest.UTC().Format(time.RFC3339Nano)
	for which, want := range map[string]string{"undelivered": "Send 3 deliveries", "all": "Send 4 deliveries"} {
		body = p.page(t, at+"/recover?which="+which+"&since="+url.QueryEscape(exact))
		holds(t, body, want)
		if which == "all" {
			plan = planIn(t, body)
		}
	}
	if _, flash := p.sent(t, webtest.Post(at+"/recover", "plan", plan)); flash != "webhook-recover:4" {
		t.Errorf("flash %q", flash)
	}
}

// A redirect is not followed; the page says where it pointed and what to do (field case F14).
func TestADeliveryTellsItsWholeStory(t *testing.T) {
	t.Parallel()
	p := openReceivers(t)
	e := p.endpoint(t, "Shop")
	at := "/admin/webhooks/" + e.ID
	event := p.delivery(t, e.ID, domain.Failed, "thing.made", "thing://1")
	p.attempt(t, e.ID, event, "redirected", 302, "https://elsewhere.example/login")
	body := p.page(t, at+"/deliveries/"+event)
	holds(t, body, "302 Found", "redirected, not followed", "https://elsewhere.example/login", `href="`+at+`/edit"`, "key_1", "127.0.0.1", "9 ms", "X-Said",
		`href="/admin/events/`+event+`"`, "&#34;subject&#34;:&#34;thing://1&#34;", "openssl dgst", "Deliver again")
	lacks(t, body, "tok-in-query", "tok-in-header", "tok-in-path")
	holds(t, p.page(t, at+"?test="+event), "302 Found", "Everything about it")
	to, _ := p.sent(t, webtest.Post(at+"/test"))
	holds(t, p.page(t, to), "has not answered yet", "Look again")
}

func TestALostKeyIsSaidOnTheEndpointsPage(t *testing.T) {
	t.Parallel()
	p := openReceivers(t)
	e := p.endpoint(t, "Shop")
	other := make([]byte, seal.KeyBytes)
	other[0] = 1
	sealer, err := seal.New(other)
	if err != nil {
		t.Fatal(err)
	}
	p.hooks.Sealer = sealer
	holds(t, p.page(t, "/admin/webhooks/"+e.ID), "Its secrets cannot be read", "Its deliveries wait")
	p.page(t, "/admin/webhooks")
	holds(t, p.status(t, webtest.Get("/admin/webhooks/"+e.ID+"/edit"), http.StatusServiceUnavailable), "Put the old key back")
}

func TestWebhooksThatAreNotThereAreNotFound(t *testing.T) {
	t.Parallel()
	p := openReceivers(t)
	e := p.endpoint(t, "Shop")
	const none = "/admin/webhooks/0197d0f0-5f2c-7c3e-9d50-1c9a7f0a4b11"
	for _, r := range []*http.Request{
		webtest.Get(none), webtest.Get("/admin/webhooks/x"), webtest.Get(none + "/edit"), webtest.Get(none + "/delete"), webtest.Get(none + "/recover"), webtest.Get(none + "/failed"),
		webtest.Get("/admin/webhooks/" + e.ID + "/deliveries/x"), webtest.Get("/admin/webhooks/" + e.ID + "?test=x"),
		webtest.Post(none+"/pause", "version", "1"), webtest.Post(none + "/test"), webtest.Post(none+"/delete", "version", "1"),
	} {
		p.status(t, r, http.StatusNotFound)
	}
}

// What the receiver answers is text on every page (field case F33).
func TestWhatReceiversAnswerIsText(t *testing.T) {
	t.Parallel()
	p := openReceivers(t)
	e := p.endpoint(t, markup)
	at := "/admin/webhooks/" + e.ID
	event := p.delivery(t, e.ID, domain.Failed, "thing.made", markup)
	p.attempt(t, e.ID, event, "redirected", 302, markup)
	for _, path := range []string{"/admin/webhooks", at, at + "?test=" + event, at + "/deliveries/" + event, at + "/edit", at + "/delete", at + "/rotate", at + "/failed", at + "?type=" + url.QueryEscape(markup)} {
		body := p.page(t, path)
		lacks(t, body, "<svg onload", "<script>alert", "</script><script>")
		holds(t, body, "&lt;svg onload")
	}
}

func TestTheListSaysHowEachEndpointIsDoingAndWhy(t *testing.T) {
	t.Parallel()
	p := openReceivers(t)
	ctx := context.Background()
	ids := map[string]string{}
	for _, name := range []string{"Well", "Weak", "Resting", "Gone"} {
		ids[name] = p.endpoint(t, name).ID
	}
	if _, err := p.db.Exec(ctx, `update public.webhook_endpoint_state set failing_since = clock_timestamp() - interval '3 hours' where endpoint_id = $1::uuid`, ids["Weak"]); err != nil {
		t.Fatal(err)
	}
	if _, err := p.hooks.Pause(ctx, domain.Ref{ID: ids["Resting"]}); err != nil {
		t.Fatal(err)
	}
	if _, err := p.hooks.Disable(ctx, ids["Gone"], domain.GoneReason); err != nil {
		t.Fatal(err)
	}
	list := p.page(t, "/admin/webhooks")
	for name, says := range map[string][]string{
		"Well": {"emerald"}, "Weak": {"failing", "3 h ago"}, "Resting": {"paused", "You paused it."}, "Gone": {"off", "410 Gone"},
	} {
		_, rest, _ := strings.Cut(list, `href="/admin/webhooks/`+ids[name]+`"`)
		row, _, _ := strings.Cut(rest, "</tr>")
		holds(t, row, says...)
	}
	holds(t, p.page(t, "/admin/webhooks/"+ids["Weak"]), "Nothing has succeeded since", "it may be switched off after")
	holds(t, p.page(t, "/admin/webhooks/"+ids["Gone"]), "Switched off", "410 Gone", "Send test", ">Switch on<")
	lacks(t, p.page(t, "/admin/webhooks/"+ids["Gone"]), "Recover since", "/pause")
}

// Pages lead on and back, each with the health of the endpoints on it alone.
func TestALongListOfEndpointsHasPages(t *testing.T) {
	t.Parallel()
	p := openReceivers(t)
	for i := range 51 {
		p.endpoint(t, fmt.Sprintf("Shop %d.", i))
	}
	link := func(page, rel string) string {
		t.Helper()
		m := regexp.MustCompile(`rel="` + rel + `" href="([^"]*)"`).FindStringSubmatch(page)
		if m == nil {
			t.Fatalf("no link to the %s page\n%s", rel, page)
		}
		return html.UnescapeString(m[1])
	}
	first := p.page(t, "/admin/webhooks")
	holds(t, first, "Shop 24.")
	lacks(t, first, "Shop 25.", `rel="prev"`)
	second := p.page(t, link(first, "next"))
	holds(t, second, "Shop 25.", "Shop 49.")
	lacks(t, second, "Shop 24.", "Shop 50.")
	third := p.page(t, link(second, "next"))
	holds(t, third, "Shop 50.")
	lacks(t, third, `rel="next"`)
	if at := link(third, "prev"); !strings.Contains(p.page(t, at), "Shop 49.") {
		t.Errorf("the way back from the third page leads to %s", at)
	}
	if at := link(second, "prev"); at != "/admin/webhooks" {
		t.Errorf("the way back from the second page leads to %s", at)
	}
	holds(t, p.status(t, webtest.Get("/admin/webhooks?cursor=nonsense"), http.StatusUnprocessableEntity), "Start again")
}
