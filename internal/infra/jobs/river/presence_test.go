package river

import (
	"testing"
	"time"
)

// A process whose machine slept past its heartbeat may have lost its jobs to
// another one, though its monotonic clock shows nothing of it.
func TestAProcessThatSleptDoesNotTrustItself(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		mono, wall time.Duration // that the clocks moved on since the last heartbeat
		alive      bool
	}{
		"between two heartbeats": {2 * time.Second, 2 * time.Second, true},
		"stopped":                {time.Minute, time.Minute, false},
		"its machine slept":      {time.Second, time.Minute, false},
		"clock set back":         {time.Minute, -time.Hour, false},
		"clock set back a bit":   {2 * time.Second, -time.Hour, true},
	} {
		p := newPresence("", nil, nil)
		p.held.Store(true)
		beat := *p.now()
		beat.mono, beat.wall = beat.mono-test.mono, beat.wall.Add(-test.wall)
		p.beatAt.Store(&beat)
		if p.alive() != test.alive || p.doubtful() == test.alive {
			t.Errorf("%s: alive %v, doubtful %v", name, p.alive(), p.doubtful())
		}
	}
}
