package product

import (
	"context"

	"github.com/gatehouse-hq/gatehouse/e2e/load/lab"
	"github.com/gatehouse-hq/gatehouse/internal/domain/webhooks"
)

// EventType is one that the product declares and that nothing else in a bench records.
const EventType = "writing.published"

// Subscribe creates n endpoints that hear of EventType.
func (s *Site) Subscribe(ctx context.Context, n int) error {
	for i := range n {
		s.To.Plan(lab.Hook(i), 0)
		in := webhooks.CreateIn{URL: s.To.URL(lab.Hook(i)), EventTypes: []string{EventType}}
		if err := s.Owner.Call(ctx, s.Server, "webhooks.create", in, nil); err != nil {
			return err
		}
	}
	return nil
}

// Write inserts n events in transactions of 200, as another process would, and
// wakes the server.
func (s *Site) Write(ctx context.Context, n int) error {
	for done := 0; done < n; done += 200 {
		if _, err := s.Pool.Exec(ctx, `
insert into events (owner_id, type, subject, data)
select (select id from owners), $2, 'load/' || i, '{"note_id": "0197d0f0-5f2c-7c3e-9d50-1c9a7f0a4b11"}' from generate_series(1, $1::int) i`, min(200, n-done), EventType); err != nil {
			return err
		}
		if done == 0 {
			if _, err := s.Pool.Exec(ctx, `select pg_notify('gatehouse_events', 'bench')`); err != nil {
				return err
			}
		}
	}
	return nil
}
