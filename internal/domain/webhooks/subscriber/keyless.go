package subscriber

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/gatehouse-hq/gatehouse/internal/infra/jobs"
	"github.com/gatehouse-hq/gatehouse/internal/infra/seal"
)

const (
	// keylessEach is the share of one delivery in the time over which a backlog comes back, so that it costs little meanwhile.
	keylessEach = 10 * time.Millisecond
	// keylessLeast and keylessMost bound how long a delivery is put off for want of a key.
	keylessLeast = time.Second
	keylessMost  = time.Minute
)

// orKeyless puts the delivery off when this process cannot open the endpoint's secrets: another one that has the key may
// send it, and no attempt is spent on a fault that is ours (the alert webhook_key_lost says so). Any other error stays.
func (d *delivery) orKeyless(ctx context.Context, err error) error {
	var lost *seal.WrongKeyError
	if !errors.As(err, &lost) {
		return err
	}
	// Soon at first, for the process that can; seldom once nobody seems to be able to.
	wait := max(keylessLeast, min(d.line.keyless()/4, keylessMost))
	owed, _ := d.line.drain(ctx)
	wait = max(wait, time.Duration(owed)*keylessEach)
	return jobs.Snooze(wait + time.Duration(rand.Int64N(int64(wait))))
}

// keyless is for how long this process has known that it cannot open the endpoint's secrets.
func (l *line) keyless() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.keylessSince.IsZero() {
		l.keylessSince = time.Now()
	}
	return time.Since(l.keylessSince)
}
