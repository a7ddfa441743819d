package webhooks

import (
	"context"
	"fmt"
)

// Pulse describes the present state of the endpoints in a short text: when it changes, pages that show them are out of
// date. They are told of with the tasks, which the same pages show.
func (d *Domain) Pulse(ctx context.Context) (map[string]string, error) {
	var text string
	err := d.DB.QueryRow(ctx, `
select concat_ws(' ', e.n, e.versions, e.changed, s.failing, s.since)
from (select count(*) n, sum(version) versions, max(updated_at) changed from public.webhook_endpoints) e,
  (select count(failing_since) failing, max(failing_since) since from public.webhook_endpoint_state) s`).Scan(&text)
	if err != nil {
		return nil, fmt.Errorf("feel the pulse of webhooks: %w", err)
	}
	return map[string]string{"tasks": text}, nil
}
