package lease

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"
)

// Lease is the right while it lasts. Its methods may be called from several goroutines.
type Lease struct {
	keeper   *Keeper
	key      string
	token    string
	until    atomic.Pointer[time.Time] // by this process's clocks; nil once it is lost
	wanted   atomic.Pointer[time.Time] // since when another wants it; nil if nobody does
	forecast atomic.Int64              // nanoseconds until the holder expects to be free
}

// Token fences: a result is written only where the row still bears it.
func (l *Lease) Token() string { return l.token }

// Left is how long the lease certainly still lasts: counted from before it was asked for. It is 0 or less once it ran out
// or was taken over. Two clocks are asked, because the monotonic one stands still while a machine sleeps.
func (l *Lease) Left() time.Duration {
	until := l.until.Load()
	if until == nil {
		return 0
	}
	now := time.Now()
	return min(until.Sub(now), until.Round(0).Sub(now.Round(0)))
}

// Wanted is for how long another process has been waiting for the lease; 0 if none is.
func (l *Lease) Wanted() time.Duration {
	since := l.wanted.Load()
	if since == nil {
		return 0
	}
	return max(time.Since(*since), time.Nanosecond)
}

// Forecast publishes, with the next renewal, when the holder expects to be free.
func (l *Lease) Forecast(in time.Duration) { l.forecast.Store(int64(max(in, 0))) }

// Release gives the lease back, if it still is ours. Do it once, after every result was written. It fails when the
// database cannot be reached; the lease then runs out by itself.
func (l *Lease) Release(ctx context.Context) error {
	l.keeper.forget(l)
	l.until.Store(nil)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), askTime)
	defer cancel()
	if _, err := l.keeper.db.Exec(ctx, l.keeper.sql.release, l.key, l.token); err != nil {
		return fmt.Errorf("release the lease of %s: %w", l.key, err)
	}
	return nil
}

func (l *Lease) renewed(until time.Time, wanted float64) {
	l.until.Store(&until)
	switch {
	case wanted < 0:
		l.wanted.Store(nil)
	case l.wanted.Load() == nil:
		since := time.Now().Add(-time.Duration(wanted * float64(time.Second)))
		l.wanted.Store(&since)
	}
}
