package domain

import (
	"context"
	"time"
)

type zoneKey struct{}

// WithZone returns a context in which Moment writes times as the owner's clock shows them.
func WithZone(ctx context.Context, zone *time.Location) context.Context {
	return context.WithValue(ctx, zoneKey{}, zone)
}

// Moment writes t to the minute, in the zone of whoever asks and with that zone's name; UTC when nobody has said.
func Moment(ctx context.Context, t time.Time) string {
	zone, ok := ctx.Value(zoneKey{}).(*time.Location)
	if !ok {
		zone = time.UTC
	}
	return t.In(zone).Format("2 January 2006, 15:04 MST")
}
