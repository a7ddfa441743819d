package webhooks_test

import (
	"testing"

	"github.com/gatehouse-hq/gatehouse/internal/domain/webhooks"
	"github.com/gatehouse-hq/gatehouse/internal/infra/op"
)

// A pattern that PostgreSQL can hold no text for is a wrong pattern, not a broken site.
func TestPatternThatIsNoTextIsRefused(t *testing.T) {
	t.Parallel()
	d, _ := newDomain(t)
	for _, pattern := range []string{"\x00", "note.\x00", "\xff"} {
		if _, err := d.Deliveries(t.Context(), webhooks.DeliveriesIn{Type: pattern}); op.CodeOf(err) != op.Invalid {
			t.Errorf("%q: %v", pattern, err)
		}
	}
}
