package webhooks_test

import (
	"testing"
	"time"
)

func TestFlowCountsAttemptsByTime(t *testing.T) {
	t.Parallel()
	d, db := newDomain(t)
	const attempts = `
with e as (insert into webhook_endpoints (owner_id, url, event_types) select id, 'https://a.example', '{**}' from owners returning id)
insert into webhook_attempts (endpoint_id, event_id, number, started_at, trigger, outcome, late)
select e.id, uuid_v7(), 1, timestamptz '2026-03-01 10:00Z' + o.at, o.trigger, o.outcome, o.late from e, (values
  (interval '0', 'automatic', 'delivered', false), ('9 minutes', 'manual', 'delivered', false), ('10 minutes', 'automatic', 'delivered', false),
  ('-1 second', 'automatic', 'delivered', false), ('1 minute', 'automatic', 'retryable', false), ('1 minute', 'automatic', 'gone', false),
  ('1 minute', 'automatic', 'refused', false), ('1 minute', 'test', 'delivered', false), ('1 minute', 'automatic', 'delivered', true)) o (at, trigger, outcome, late)`
	for range 2 {
		if _, err := db.Exec(t.Context(), attempts); err != nil {
			t.Fatal(err)
		}
	}
	from := time.Date(2026, 3, 1, 10, 0, 0, 0, time.UTC)
	delivered, failed, err := d.Flow(t.Context(), from, from.Add(10*time.Minute))
	if err != nil || delivered != 4 || failed != 4 {
		t.Errorf("%d delivered, %d failed, error %v; want 4 and 4", delivered, failed, err)
	}
	if delivered, failed, err = d.Flow(t.Context(), from.Add(time.Hour), from.Add(2*time.Hour)); err != nil || delivered+failed != 0 {
		t.Errorf("an hour later: %d, %d, error %v", delivered, failed, err)
	}
}
