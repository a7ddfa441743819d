package events_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/gatehouse-hq/gatehouse/internal/infra/events"
)

// BenchmarkListOfMillion is the panel's stream over 1,000,000 events, among
// them 100 of a rare type, 2,000 waiting and 50 poisoned.
func BenchmarkListOfMillion(b *testing.B) {
	db, _, bus := site(b, false)
	for _, sql := range []string{
		`insert into events (owner_id, type, subject, fanned_out_at, fanout)
select uuid_v7(), case when i % 10000 = 0 then 'secret.kept' when i % 3 = 0 then 'thing.moved' else 'thing.made' end,
  'thing/' || i % 5000, clock_timestamp(), '{"index": 1}' from generate_series(1, 1000000) i`,
		`insert into events (owner_id, type, subject) select uuid_v7(), 'thing.made', 'thing/' || i from generate_series(1, 2000) i`,
		`insert into events (owner_id, type, subject, poisoned_at) select uuid_v7(), 'note.teleported', 'x', clock_timestamp() from generate_series(1, 50) i`,
		`analyze events`,
	} {
		if _, err := db.Exec(b.Context(), sql); err != nil {
			b.Fatal(err)
		}
	}
	for name, f := range map[string]events.Filter{
		"all":               {},
		"rare type":         {Types: []string{"secret.*"}},
		"all types":         {Types: []string{"**"}},
		"subject":           {Subject: "thing/77"},
		"subject and types": {Subject: "thing/77", Types: []string{"thing.*"}},
		"waiting":           {State: events.Waiting},
		"poisoned":          {State: events.Poisoned},
		"deep page":         {Cursor: "3000"},
		"nothing found":     {Types: []string{"secret.kept"}, Subject: "thing/77"},
	} {
		b.Run(name, func(b *testing.B) {
			var took []time.Duration
			for b.Loop() {
				for range 100 {
					started := time.Now()
					if _, err := bus.List(b.Context(), f); err != nil {
						b.Fatal(err)
					}
					took = append(took, time.Since(started))
				}
			}
			slices.Sort(took)
			b.ReportMetric(float64(took[len(took)*95/100].Microseconds())/1000, "p95-ms")
		})
	}
	b.Run("backlog", func(b *testing.B) {
		for b.Loop() {
			if s, err := bus.Backlog(b.Context()); err != nil || s.Waiting.N != 2000 {
				b.Fatal(fmt.Sprint(s, err))
			}
		}
	})
}
