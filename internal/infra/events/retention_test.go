package events_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/gatehouse-hq/gatehouse/internal/infra/events"
	"github.com/gatehouse-hq/gatehouse/internal/infra/pg"
)

// Field case F05: retention goes by the time of fan-out. A row that committed
// late is not born old, and one that was not relayed is never deleted.
func TestRetention(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.exec(`
insert into events (owner_id, type, subject, occurred_at, fanned_out_at, poisoned_at)
select $1::uuid, 'thing.made', s.subject, clock_timestamp() - interval '90 days', s.fanned_out, s.poisoned
from (values
  ('old', clock_timestamp() - interval '15 days', null::timestamptz),
  ('needed', clock_timestamp() - interval '15 days', null),
  ('committed late, relayed now', clock_timestamp(), null),
  ('committed late, not relayed', null, null),
  ('poisoned', null, clock_timestamp() - interval '80 days')) s (subject, fanned_out, poisoned)`, owner)
	needed := ask[string](h, `select id::text from events where subject = 'needed'`)
	cfg := h.config(each())
	cfg.Guards = []events.Guard{
		func(context.Context, pg.Querier, []string) ([]string, error) { return nil, nil },
		func(_ context.Context, _ pg.Querier, ids []string) ([]string, error) { return []string{needed}, nil },
	}
	b := h.bus(cfg)
	for range 2 {
		if err := b.Retain(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	for subject, want := range map[string]int{
		"old": 0, "needed": 1, "committed late, relayed now": 1, "committed late, not relayed": 1, "poisoned": 1,
	} {
		if n := ask[int](h, `select count(*) from events where subject = $1`, subject); n != want {
			t.Errorf("%s: %d rows, want %d", subject, n, want)
		}
	}
}

// Deletion goes in small steps and past rows that are kept.
func TestRetentionSteps(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.exec(`insert into events (owner_id, type, subject, fanned_out_at)
select $1::uuid, 'thing.made', case when i <= 700 then 'keep' else 'go' end, clock_timestamp() - interval '2 hours' from generate_series(1, 2300) i`, owner)
	cfg := h.config(each())
	cfg.Retention = time.Hour
	largest := 0
	cfg.Guards = []events.Guard{func(ctx context.Context, q pg.Querier, ids []string) (needed []string, err error) {
		largest = max(largest, len(ids))
		err = q.QueryRow(ctx, `select coalesce(array_agg(id::text), '{}') from events where id = any($1::uuid[]) and subject = 'keep'`, ids).Scan(&needed)
		return needed, err
	}}
	if err := h.bus(cfg).Retain(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := ask[int](h, `select count(*) from events where subject = 'go'`); n != 0 {
		t.Errorf("%d old events are left", n)
	}
	if n := ask[int](h, `select count(*) from events where subject = 'keep'`); n != 700 {
		t.Errorf("%d of 700 needed events are left", n)
	}
	if largest > 500 {
		t.Errorf("a step took %d rows", largest)
	}
}

func TestRetentionStopsWhenAGuardCannotAnswer(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.exec(`insert into events (owner_id, type, subject, fanned_out_at) values ($1::uuid, 'thing.made', 'x', '2020-01-01')`, owner)
	cfg := h.config(each())
	unknown := errors.New("deliveries cannot be read")
	cfg.Guards = []events.Guard{func(context.Context, pg.Querier, []string) ([]string, error) { return nil, unknown }}
	if err := h.bus(cfg).Retain(t.Context()); !errors.Is(err, unknown) {
		t.Errorf("got %v, want the guard's error", err)
	}
	if ask[int](h, `select count(*) from events`) != 1 {
		t.Error("an event was deleted although its guard did not answer")
	}
}
