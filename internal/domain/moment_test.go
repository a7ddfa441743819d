package domain_test

import (
	"testing"
	"time"

	"github.com/gatehouse-hq/gatehouse/internal/domain"
)

func TestMomentIsInTheZoneOfWhoeverAsks(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 12, 31, 20, 5, 59, 0, time.UTC)
	if got := domain.Moment(t.Context(), at); got != "31 December 2026, 20:05 UTC" {
		t.Errorf("nobody has said where they are: %s", got)
	}
	tokyo := domain.WithZone(t.Context(), time.FixedZone("JST", 9*60*60))
	if got := domain.Moment(tokyo, at); got != "1 January 2027, 05:05 JST" {
		t.Errorf("in Tokyo: %s", got)
	}
}
