package events

import (
	"context"
	"time"

	"github.com/gatehouse-hq/gatehouse/internal/infra/jobs"
	"github.com/gatehouse-hq/gatehouse/internal/infra/pg"
)

const (
	// pollEvery finds events whose writers ring no bell and notify nobody (psql).
	pollEvery = time.Second
	// passGap is the least time between the starts of two passes that were not
	// full. Under many small commits it gathers some into one pass; a lone
	// event after a quiet moment does not wait.
	passGap = 3 * time.Millisecond
	// wholeEvery is how often a relay forgets its floor and looks at
	// everything: the last net under a row changed by hand.
	wholeEvery = time.Minute

	firstBackoff = 2 * time.Second
	mostBackoff  = time.Minute
)

// relay runs passes until ctx ends.
func (b *Bus) relay(ctx context.Context) {
	var floor uint64
	var backoff time.Duration
	whole := time.Now()
	for ctx.Err() == nil {
		started := time.Now()
		if started.Sub(whole) > wholeEvery {
			floor, whole = 0, started
		}
		n, next, err := b.pass(ctx, floor)
		if err == nil && backoff > 0 && b.cfg.Alive() {
			b.cfg.Log.Info("relaying again")
		}
		switch {
		case ctx.Err() != nil:
		case err != nil:
			backoff = min(max(2*backoff, firstBackoff), mostBackoff)
			b.cfg.Log.Warn("relay pass failed", "error", err, "again_in", backoff)
			pause(ctx, backoff, nil)
		case n == passSize:
			floor, backoff = next, 0
		default:
			floor, backoff = next, 0
			pause(ctx, pollEvery, b.cfg.Bell.relay)
			pause(ctx, passGap-time.Since(started), nil)
		}
	}
}

// pause waits for d, or until ctx ends or bell rings.
func pause(ctx context.Context, d time.Duration, bell <-chan struct{}) {
	if d <= 0 {
		return
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
	case <-bell:
	case <-t.C:
	}
}

// pass is tryPass, and tells Config.Passed.
func (b *Bus) pass(ctx context.Context, floor uint64) (n int, next uint64, err error) {
	began := time.Now()
	n, next, err = b.tryPass(ctx, floor)
	if n > 0 || err != nil && ctx.Err() == nil {
		b.cfg.Passed(n, time.Since(began), err)
	}
	return n, next, err
}

// tryPass relays up to passSize events at or above floor. It returns how many
// rows it held and the floor of the next pass. A batch that fails for a reason
// of its rows is done again row by row; the error is one of the surroundings.
func (b *Bus) tryPass(ctx context.Context, floor uint64) (n int, next uint64, err error) {
	j, err := b.queue()
	if err != nil || !b.cfg.Alive() {
		return 0, floor, err
	}
	version, err := b.RegistryVersion(ctx)
	if err != nil {
		return 0, floor, err
	}
	next, found, err := b.look(ctx, floor, version)
	if err != nil || !found {
		return 0, next, err
	}
	p := &passing{b: b, jobs: j, floor: floor, version: version}
	err = pg.InTx(ctx, b.cfg.DB, func(tx pg.Tx) error { return p.together(ctx, tx) })
	if err != nil && p.mayBeRows && !surroundings(ctx, err) {
		b.cfg.Log.Warn("relay pass failed; doing its rows one by one", "error", err)
		err = pg.InTx(ctx, b.cfg.DB, func(tx pg.Tx) error { return p.oneByOne(ctx, tx) })
	}
	if err != nil {
		return 0, floor, err
	}
	b.settled(p.relayed)
	return p.held, next, nil
}

// settled tells those in this process who care what has been fanned out.
func (b *Bus) settled(es []Event) {
	if len(es) > 0 {
		b.recent.add(es)
		b.waiters.settle(es)
	}
}

// passing is one pass: what it may use and what came of it.
type passing struct {
	b       *Bus
	jobs    jobs.Jobs
	floor   uint64
	version int64

	held      int     // rows claimed
	relayed   []Event // rows fanned out, if the transaction commits
	mayBeRows bool    // the failure came after the claim
}

// together fans all claimed rows out in one go. Rows whose fault is seen
// already are set aside and do not disturb the others.
func (p *passing) together(ctx context.Context, tx pg.Tx) error {
	rows, err := p.claim(ctx, tx)
	if err != nil {
		return err
	}
	p.mayBeRows = true
	var bad []claimed
	for _, c := range rows {
		if c.fault != nil {
			bad = append(bad, c)
			continue
		}
		p.relayed = append(p.relayed, c.Event)
	}
	if err := p.b.fanOut(ctx, tx, p.jobs, p.relayed); err != nil {
		return err
	}
	return p.b.setAside(ctx, tx, bad)
}

// oneByOne gives each row a savepoint of its own.
func (p *passing) oneByOne(ctx context.Context, tx pg.Tx) error {
	rows, err := p.claim(ctx, tx)
	if err != nil {
		return err
	}
	var bad []claimed
	var last error
	for _, c := range rows {
		if c.fault == nil {
			err := pg.Nested(ctx, tx, func(tx pg.Tx) error { return p.b.fanOut(ctx, tx, p.jobs, []Event{c.Event}) })
			switch {
			case err == nil:
				p.relayed = append(p.relayed, c.Event)
				continue
			case surroundings(ctx, err):
				return err
			case rowFault(err):
				c.fault = err
			default:
				c.fault, last = strangeError{err}, err
			}
		}
		bad = append(bad, c)
	}
	if last != nil && len(rows) > 1 && len(p.relayed) == 0 {
		return last // nothing goes through: not these rows, something else
	}
	return p.b.setAside(ctx, tx, bad)
}

func (p *passing) claim(ctx context.Context, tx pg.Tx) ([]claimed, error) {
	p.relayed, p.held = nil, 0
	rows, err := p.b.claim(ctx, tx, p.floor, p.version)
	p.held = len(rows)
	return rows, err
}
