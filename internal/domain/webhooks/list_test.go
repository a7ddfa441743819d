package webhooks_test

import (
	"testing"

	"github.com/gatehouse-hq/gatehouse/internal/domain/webhooks"
	"github.com/gatehouse-hq/gatehouse/internal/infra/op"
)

// Pages meet without a gap and without an overlap, also when the endpoint between them is deleted meanwhile.
func TestEndpointsAreListedByThePage(t *testing.T) {
	t.Parallel()
	d, db := newDomain(t)
	var ids []string
	for range 5 {
		ids = append(ids, create(t, d).Endpoint.ID)
	}
	page := func(cursor string) webhooks.ListOut {
		t.Helper()
		out, err := d.List(t.Context(), webhooks.ListIn{Cursor: cursor, Limit: 2})
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	one := page("")
	if len(one.Endpoints) != 2 || one.Endpoints[0].ID != ids[0] || one.Next == "" {
		t.Fatalf("first page: %+v", one)
	}
	exec(t, db, `update webhook_endpoints set deleted_at = clock_timestamp(), secrets_enc = null where id = $1::uuid`, ids[1])
	two := page(one.Next)
	if len(two.Endpoints) != 2 || two.Endpoints[0].ID != ids[2] || two.Endpoints[1].ID != ids[3] {
		t.Fatalf("second page: %+v", two)
	}
	if three := page(two.Next); len(three.Endpoints) != 1 || three.Endpoints[0].ID != ids[4] || three.Next != "" {
		t.Errorf("last page: %+v", three)
	}
	for _, in := range []webhooks.ListIn{{Limit: -1}, {Limit: 101}, {Cursor: "nonsense"}, {Cursor: "0197d0f0-0000-7000-8000-000000000001"}} {
		if _, err := d.List(t.Context(), in); op.CodeOf(err) != op.Invalid {
			t.Errorf("%+v: %v", in, err)
		}
	}
}

// The list looks at the newest attempts of an endpoint alone: what lies further back, tests and late answers do not count.
func TestLatestHealth(t *testing.T) {
	t.Parallel()
	d, db := newDomain(t)
	busy, quiet, off := create(t, d).Endpoint.ID, create(t, d).Endpoint.ID, create(t, d).Endpoint.ID
	add := func(id, outcome, trigger, ago string, late bool, n int) {
		t.Helper()
		exec(t, db, `insert into webhook_attempts (endpoint_id, event_id, number, started_at, trigger, outcome, total_us, late)
select $1::uuid, uuid_v7(), 1, clock_timestamp() - $4::interval, $3, $2, 1000 * i, $5 from generate_series(1, $6::int) i`, id, outcome, trigger, ago, late, n)
	}
	add(busy, "retryable", "automatic", "2 hours", false, 200)
	add(busy, "delivered", "automatic", "1 hour", false, webhooks.LatestSample)
	add(quiet, "delivered", "automatic", "1 hour", false, 3)
	add(quiet, "retryable", "automatic", "1 hour", false, 1)
	add(quiet, "retryable", "test", "1 minute", false, 1)
	add(quiet, "retryable", "automatic", "1 minute", true, 1)
	add(quiet, "retryable", "automatic", "25 hours", false, 1)
	got, err := d.Latest(t.Context(), []string{busy, quiet, off})
	if err != nil || len(got) != 2 {
		t.Fatalf("%+v, %v", got, err)
	}
	if h := got[busy]; h.Attempts != webhooks.LatestSample || h.SuccessRate != 1 || h.P50MS < 149 || h.P50MS > 152 || h.P95MS < 280 {
		t.Errorf("busy: %+v", h)
	}
	if h := got[quiet]; h.Attempts != 4 || h.Failed != 1 || h.SuccessRate != 0.75 {
		t.Errorf("quiet: %+v", h)
	}
}
