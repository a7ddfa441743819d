package subscriber

import (
	"testing"
	"time"
)

func TestSpreadIsBounded(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		n    int
		pace time.Duration
		most time.Duration
	}{
		{10, 5 * time.Millisecond, 50 * time.Millisecond},
		{2000, 5 * time.Millisecond, 7 * time.Second},
		{275, time.Second, 45 * time.Second}, // a pace learnt in an outage
		{20_000, time.Second, 200 * time.Second},
		{20_000, 10 * time.Millisecond, 100 * time.Second},
	} {
		if got := spread(c.n, time.Duration(c.n)*c.pace); got > c.most || got < c.most/2 {
			t.Errorf("%d deliveries of %s come back over %s, want at most %s", c.n, c.pace, got, c.most)
		}
	}
}
