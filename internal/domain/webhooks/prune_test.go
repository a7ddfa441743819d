package webhooks_test

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gatehouse-hq/gatehouse/internal/domain/webhooks"
	"github.com/gatehouse-hq/gatehouse/internal/domain/webhooks/subscriber"
	"github.com/gatehouse-hq/gatehouse/internal/infra/egress"
	"github.com/gatehouse-hq/gatehouse/internal/infra/events"
	"github.com/gatehouse-hq/gatehouse/internal/infra/jobs"
	"github.com/gatehouse-hq/gatehouse/internal/infra/op"
	"github.com/gatehouse-hq/gatehouse/internal/infra/pg"
	"github.com/gatehouse-hq/gatehouse/internal/infra/pg/pgtest"
	"github.com/gatehouse-hq/gatehouse/internal/infra/seal"
)

func TestMain(m *testing.M) { pgtest.Main(m, pgtest.NoLeaks) }

// inspector knows tasks by number, and by the event they deliver.
type inspector map[jobs.ID]jobs.State

// List finds one task for each event of eventOf.
func (i inspector) List(_ context.Context, f jobs.Filter) (jobs.Page, error) {
	for state, event := range eventOf() {
		if f.Args["event_id"] == event {
			return jobs.Page{Jobs: []jobs.Job{{State: state}}}, nil
		}
	}
	return jobs.Page{}, nil
}

// eventOf is the event whose only task is in that state.
func eventOf() map[jobs.State]string {
	return map[jobs.State]string{jobs.Pending: "0197d0f0-0000-7000-8000-000000000001", jobs.Cancelled: "0197d0f0-0000-7000-8000-000000000002",
		jobs.Discarded: "0197d0f0-0000-7000-8000-000000000003"}
}

func (i inspector) Get(_ context.Context, id jobs.ID) (jobs.Job, error) {
	if s, ok := i[id]; ok {
		return jobs.Job{ID: id, State: s}, nil
	}
	return jobs.Job{}, jobs.ErrNotFound
}

func newDomain(t *testing.T) (*webhooks.Domain, *pg.DB) {
	t.Helper()
	db := pgtest.New(t)
	sealer, err := seal.New(make([]byte, seal.KeyBytes))
	if err != nil {
		t.Fatal(err)
	}
	allow, err := egress.ParseAllow("127.0.0.1")
	if err != nil {
		t.Fatal(err)
	}
	d := webhooks.New(webhooks.Deps{DB: db, Sealer: sealer, Addresses: egress.New(egress.Options{Allow: allow}), Wire: subscriber.Wire{}})
	d.Connect(webhooks.Queue{Inspect: inspector{1: jobs.Cancelled, 2: jobs.Discarded, 3: jobs.Retryable},
		Types: append(webhooks.Types(), events.Type{Name: "thing.made", Example: json.RawMessage(`{}`), Exposure: events.Webhook})})
	return d, db
}

func create(t *testing.T, d *webhooks.Domain) webhooks.Created {
	t.Helper()
	c, err := d.Create(t.Context(), webhooks.CreateIn{URL: "http://user:sesame@127.0.0.1:8080/hooks/T0KEN?key=sesame", EventTypes: []string{"thing.*"},
		Headers: []webhooks.Header{{Name: "Authorization", Value: "Bearer sesame"}}})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func exec(t *testing.T, db *pg.DB, sql string, args ...any) {
	t.Helper()
	if _, err := db.Exec(t.Context(), sql, args...); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
}

// What the owner sees holds no secret; the form alone has the whole address, and the database no value in clear.
func TestSecretsStayHidden(t *testing.T) {
	t.Parallel()
	d, db := newDomain(t)
	c := create(t, d)
	c.Secret = ""
	raw, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	for _, secret := range []string{"sesame", "T0KEN", "whsec_"} {
		if strings.Contains(string(raw), secret) {
			t.Errorf("%s is shown: %s", secret, raw)
		}
	}
	f, err := d.Form(t.Context(), c.Endpoint.ID)
	if err != nil || len(f.Headers) != 1 || f.Headers[0].Value != "Bearer sesame" || !strings.Contains(f.URL, "T0KEN") {
		t.Errorf("form %+v, %v", f, err)
	}
	var stored string
	if err := db.QueryRow(t.Context(), `select headers::text || secrets_enc::text from webhook_endpoints`).Scan(&stored); err != nil || strings.Contains(stored, "sesame") {
		t.Errorf("stored %s, %v", stored, err)
	}
}

func TestPrune(t *testing.T) {
	t.Parallel()
	d, db := newDomain(t)
	id := create(t, d).Endpoint.ID
	insert := func(state, created, settled string, job int) (event string) {
		t.Helper()
		err := db.QueryRow(t.Context(), `
insert into webhook_deliveries (endpoint_id, event_id, state, created_at, settled_at, job_id)
values ($1::uuid, uuid_v7(), $2, clock_timestamp() - $3::interval, case when $4 = '' then null else clock_timestamp() - nullif($4, '')::interval end, nullif($5, 0))
returning event_id::text`, id, state, created, settled, job).Scan(&event)
		if err != nil {
			t.Fatal(err)
		}
		return event
	}
	gone := []string{insert("delivered", "20 days", "15 days", 0), insert("failed", "20 days", "15 days", 0)}
	kept := map[string]string{
		insert("delivered", "13 days", "13 days", 0): "delivered",
		insert("failed", "20 days", "1 day", 0):      "failed",
		insert("parked", "20 days", "", 0):           "parked",
		insert("parked", "31 days", "", 0):           "dropped",
		insert("waiting", "2 hours", "", 1):          "cancelled",
		insert("waiting", "2 hours", "", 2):          "failed",
		insert("waiting", "2 hours", "", 3):          "waiting",
		insert("waiting", "2 hours", "", 0):          "failed", // its task is nowhere: lost, and therefore shown
		insert("waiting", "10 minutes", "", 0):       "waiting",
	}
	for state, becomes := range map[jobs.State]string{jobs.Pending: "waiting", jobs.Cancelled: "cancelled", jobs.Discarded: "failed"} {
		exec(t, db, `insert into webhook_deliveries (endpoint_id, event_id, state, created_at) values ($1::uuid, $2::uuid, 'waiting', clock_timestamp() - interval '2 hours')`, id, eventOf()[state])
		kept[eventOf()[state]] = becomes
	}
	needed, err := webhooks.NeededEvents(t.Context(), db, append(slices.Collect(maps.Keys(kept)), gone[0]))
	if err != nil || len(needed) != 11 {
		t.Errorf("%d events are needed, %v", len(needed), err)
	}
	if err := d.Prune(t.Context()); err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	list, err := d.Deliveries(t.Context(), webhooks.DeliveriesIn{EndpointID: id})
	if err != nil {
		t.Fatal(err)
	}
	for _, one := range list.Deliveries {
		got[one.EventID] = string(one.State)
	}
	for event, want := range kept {
		if got[event] != want {
			t.Errorf("%s is %q, want %q", event, got[event], want)
		}
	}
	if len(got) != len(kept) {
		t.Errorf("%d deliveries left, want %d", len(got), len(kept))
	}
}

// The log's next days are there, old ones go whole, and health reads what is left.
func TestPartitions(t *testing.T) {
	t.Parallel()
	d, db := newDomain(t)
	id := create(t, d).Endpoint.ID
	exec(t, db, `create table webhook_attempts_20200101 partition of webhook_attempts for values from ('2020-01-01Z') to ('2020-01-02Z')`)
	for range 2 {
		if err := d.Partitions(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	var parts int
	var old bool
	err := db.QueryRow(t.Context(), `select count(*), bool_or(inhrelid::regclass::text like '%20200101') from pg_inherits where inhparent = 'webhook_attempts'::regclass`).Scan(&parts, &old)
	if err != nil || parts != 5 || old {
		t.Errorf("%d partitions, the old one among them %v, %v", parts, old, err)
	}
	exec(t, db, `insert into webhook_attempts (endpoint_id, event_id, number, started_at, trigger, outcome, total_us)
select $1::uuid, uuid_v7(), 1, clock_timestamp() - interval '1 second', 'automatic', case when i % 4 = 0 then 'retryable' else 'delivered' end, 1000 * i from generate_series(1, 100) i`, id)
	before := time.Now()
	h, err := d.HealthOf(t.Context(), id)
	if err != nil || h.Attempts != 100 || h.Failed != 25 || h.SuccessRate != 0.75 || len(h.Hours) != 24 || h.P50MS < 45 || h.P50MS > 55 || h.P95MS < 90 {
		t.Errorf("health %+v, %v", h, err)
	}
	if last := h.Hours[23].At; before.Sub(last) > time.Hour || h.Since != nil {
		t.Errorf("the last hour is %s, of attempts since %s", last, h.Since)
	}
	exec(t, db, `insert into webhook_attempts (endpoint_id, event_id, number, started_at, trigger, outcome, total_us)
select $1::uuid, uuid_v7(), 1, clock_timestamp(), 'automatic', 'delivered', 1000 from generate_series(1, 20000) i`, id)
	if h, err := d.HealthOf(t.Context(), id); err != nil || h.Attempts != 20_000 || h.Failed != 0 || h.Since == nil {
		t.Errorf("of many: %d, %d failed, since %v, %v", h.Attempts, h.Failed, h.Since, err)
	}
}

// A lost installation key is a state with words: listed, alerted, and explained at the form.
func TestLostKey(t *testing.T) {
	t.Parallel()
	d, _ := newDomain(t)
	id := create(t, d).Endpoint.ID
	other := make([]byte, seal.KeyBytes)
	other[0] = 1
	sealer, err := seal.New(other)
	if err != nil {
		t.Fatal(err)
	}
	d.Sealer = sealer
	if list, err := d.List(t.Context(), webhooks.ListIn{}); err != nil || len(list.Endpoints) != 1 || !list.Endpoints[0].KeyLost {
		t.Errorf("list %+v, %v", list, err)
	}
	alerts, err := d.Alerts(t.Context())
	if err != nil || len(alerts) != 1 || alerts[0].Code != "webhook_key_lost" {
		t.Errorf("alerts %+v, %v", alerts, err)
	}
	if _, err := d.Form(t.Context(), id); op.CodeOf(err) != op.Unavailable {
		t.Errorf("form: %v", err)
	}
}
