package subscriber

import (
	"context"

	"github.com/gatehouse-hq/gatehouse/internal/domain/webhooks"
	"github.com/gatehouse-hq/gatehouse/internal/infra/events/webhook"
)

// consequences does what an attempt means for its endpoint beyond the record: it may be switched off. A process killed
// before that did not end the task either, and whoever takes it up comes by here again.
func (h *Handlers) consequences(ctx context.Context, e entry, w written) error {
	if !e.counts {
		return nil
	}
	switch {
	case e.outcome.Class == webhook.Gone:
		_, err := h.domain.Disable(ctx, e.endpoint, webhooks.GoneReason)
		return err
	case w.health.limit:
		_, err := h.domain.Disable(ctx, e.endpoint, webhooks.FailingReason)
		return err
	}
	return nil
}
