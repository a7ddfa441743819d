package subscriber

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/gatehouse-hq/gatehouse/internal/infra/events/webhook"
	"github.com/gatehouse-hq/gatehouse/internal/infra/jobs"
	"github.com/gatehouse-hq/gatehouse/internal/infra/lease"
)

const (
	// lineWorth is how much waiting in process a line may be worth: all workers for a receiver that answers at once, about
	// a hundred for one that takes 5 ms. A bound on the number instead would ruin one fast endpoint (876/s instead of
	// 4,259, measured), and none would fill every worker with one slow endpoint.
	lineWorth = 500 * time.Millisecond
	// slowest is the pace up to which one job at least may wait, so that its receiver is never idle between two.
	slowest = 1100 * time.Millisecond
	// patience is when a job leaves a line that moves slower than foreseen: its worker is needed elsewhere.
	patience = lineWorth + 200*time.Millisecond
	// aheadPatience is that of a job which goes before the others, and aheadAgain when it comes back: there are few of them.
	aheadPatience = 2 * time.Second
	aheadAgain    = yieldAfter
	// yieldAfter is how long another process waits for an endpoint before this one hands it over.
	yieldAfter = 250 * time.Millisecond
	// busyLine is how many attempts under one lease make a line busy, and linger how long it keeps an idle lease: the queue
	// hands jobs out in bursts, and taking and giving back at each took a quarter of the database's time.
	busyLine = 8
	linger   = 40 * time.Millisecond
	// lowLine is when a line with more to come sends for it, and pullEvery how often at most. pullWithin is how far ahead it
	// reaches: spread never puts anything off further.
	lowLine    = lineWorth / 5
	pullEvery  = 100 * time.Millisecond
	pullWithin = 15 * time.Second
	pullMost   = 200
	// enough is what a lease must still last before a POST: its deadline and the time to write the result.
	enough = webhook.Deadline + 2*time.Second
)

// line is where the deliveries to one endpoint wait for their turn in this process. One has the turn; the lease that says
// so to other processes is held from the first to the last.
type line struct {
	id     string
	keeper *lease.Keeper
	// owed counts the endpoint's waiting deliveries, in every process.
	owed func(ctx context.Context, id string) (int, error)

	mu        sync.Mutex
	waiting   []*place
	turn      *place
	since     time.Time     // when the turn began
	pace      time.Duration // what one delivery takes; 0 before the first
	gap       time.Duration // least time between two starts, by max_per_second
	next      time.Time     // earliest next start, by gap
	notBefore time.Time     // the receiver's wish
	shut      bool          // it answered 410, and its being switched off is on its way
	failing   bool
	changedAt time.Time // the endpoint was edited or switched then
	elsewhere time.Time // another process was seen at it then

	keylessSince time.Time // this process could not open its secrets then

	lease     *lease.Lease
	used      int // attempts made under it
	unsettled int // attempts whose results are not written yet
	lingering bool
	releasing bool

	backlog   int
	backlogAt time.Time
	putOff    int // jobs that were told to come later
	pulledAt  time.Time
}

// place is one job's place in the line. away means: no turn, come again later.
type place struct {
	called chan struct{}
	away   bool
}

var errAway = errors.New("sent away")

// enter waits for the turn and the lease. It fails with a snooze when the line is too long, the receiver wants nothing
// yet, or another process is at it. After nil the caller sends, then calls leave, and settled once its result is written.
//
// ahead is for a test, whose owner is looking on: it goes before all others, however long the line is.
func (l *line) enter(ctx context.Context, ahead bool) error {
	l.mu.Lock()
	now := time.Now()
	if base, later := l.refuses(now, ahead); later {
		l.mu.Unlock()
		return l.comeAgain(ctx, base, ahead)
	}
	p, most := &place{called: make(chan struct{})}, l.patience()
	if ahead {
		most = aheadPatience
		l.waiting = slices.Insert(l.waiting, 0, p)
	} else {
		l.waiting = append(l.waiting, p)
	}
	l.call(now)
	l.mu.Unlock()
	if err := l.await(ctx, p, most); err != nil {
		if errors.Is(err, errAway) {
			return l.comeAgain(ctx, 0, ahead)
		}
		return err
	}
	return l.begin(ctx, ahead)
}

// comeAgain sends a job away: to its place in the drain, or, one that goes ahead, for a moment.
func (l *line) comeAgain(ctx context.Context, base time.Duration, ahead bool) error {
	if ahead {
		return jobs.Snooze(aheadAgain)
	}
	return l.later(ctx, base)
}

// refuses says whether a job that comes now should come later instead, and not before when.
func (l *line) refuses(now time.Time, first bool) (base time.Duration, later bool) {
	switch {
	case l.notBefore.After(now):
		return l.notBefore.Sub(now), true
	case l.shut:
		return time.Second, true
	case l.lease != nil && l.lease.Wanted() > yieldAfter:
		return yieldAfter, true
	case first:
		return 0, false
	}
	ahead := l.ahead(now)
	return ahead, ahead > lineWorth && (ahead > slowest || len(l.waiting) > 0)
}

// ahead is how long a job that comes now would wait.
func (l *line) ahead(now time.Time) time.Duration {
	per := l.per()
	if l.turn == nil {
		return time.Duration(len(l.waiting))*per + max(l.next.Sub(now), 0)
	}
	// The one that is out tells of the pace, too: all there is to go by at first, and later a warning.
	out := now.Sub(l.since)
	if l.pace == 0 {
		per = max(per, out)
	}
	return time.Duration(len(l.waiting))*max(per, out/8) + max(per, out)
}

// per is what one delivery takes, by the receiver's pace or the owner's limit.
func (l *line) per() time.Duration { return max(l.pace, l.gap) }

// call gives the turn to the first who waits, if nobody has it.
func (l *line) call(now time.Time) {
	if l.turn != nil || l.releasing || len(l.waiting) == 0 {
		return
	}
	l.turn, l.waiting = l.waiting[0], l.waiting[1:]
	l.since = now
	close(l.turn.called)
}

// await waits until p is called, at most for so long.
func (l *line) await(ctx context.Context, p *place, most time.Duration) error {
	select {
	case <-p.called: // the usual case of a short line
	default:
		timer := time.NewTimer(most)
		defer timer.Stop()
		select {
		case <-p.called:
		case <-timer.C:
			return l.giveUp(p, errAway)
		case <-ctx.Done():
			return l.giveUp(p, ctx.Err())
		}
	}
	if p.away {
		return errAway
	}
	return nil
}

// patience is longer at a receiver so slow that only one may wait. The line is locked.
func (l *line) patience() time.Duration {
	return max(patience, l.per()+l.per()/4)
}

func (l *line) giveUp(p *place, why error) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.turn == p { // called at this very moment
		l.turn = nil
		l.call(time.Now())
		return why
	}
	for i, w := range l.waiting {
		if w == p {
			l.waiting = append(l.waiting[:i:i], l.waiting[i+1:]...)
			break
		}
	}
	return why
}

// begin makes sure of the lease and of the owner's limit; the caller has the turn.
func (l *line) begin(ctx context.Context, ahead bool) error {
	if err := l.hold(ctx); err != nil {
		l.abandon()
		var busy *lease.BusyError
		if errors.As(err, &busy) {
			return l.comeAgain(ctx, busy.FreeIn, ahead)
		}
		return err
	}
	l.mu.Lock()
	wait := time.Until(l.next)
	l.mu.Unlock()
	if wait > 0 && !sleep(ctx, wait) {
		l.leave(0)
		l.settled(ctx)
		return ctx.Err()
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.since = time.Now()
	l.next = l.since.Add(l.gap)
	return nil
}

func sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// hold takes the lease unless this process has it for long enough, and counts one unsettled attempt under it.
func (l *line) hold(ctx context.Context) error {
	l.mu.Lock()
	old := l.lease
	if old != nil && old.Left() >= enough {
		l.unsettled++
		l.used++
		l.mu.Unlock()
		return nil
	}
	l.lease = nil
	l.mu.Unlock()
	if old != nil {
		// The database was out of reach for most of the term, or the process slept. Start afresh.
		if err := old.Release(ctx); err != nil {
			return err
		}
	}
	got, err := l.keeper.Acquire(ctx, l.id)
	l.mu.Lock()
	defer l.mu.Unlock()
	if err != nil {
		l.elsewhere = time.Now()
		return err
	}
	if l.gap > 0 && time.Since(l.elsewhere) < time.Minute {
		l.next = time.Now().Add(l.gap) // the other process may have sent just now
	}
	l.lease, l.used = got, 1
	l.unsettled++
	return nil
}

// token is the fence under which results are written.
func (l *line) token() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.lease == nil {
		return ""
	}
	return l.lease.Token()
}

// abandon gives the turn back without having held the lease; nobody in this line gets further at present.
func (l *line) abandon() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.turn = nil
	l.sendAway()
	l.call(time.Now())
}

func (l *line) sendAway() {
	for _, p := range l.waiting {
		p.away = true
		close(p.called)
	}
	l.waiting = nil
}

// leave gives the turn to the next. took is what the attempt took; 0 leaves the pace as it is.
func (l *line) leave(took time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.turn = nil
	l.learnPace(took)
	if l.lease != nil {
		l.lease.Forecast(time.Duration(len(l.waiting)) * l.per())
		if l.lease.Wanted() > yieldAfter {
			l.sendAway()
		}
	}
	if l.shut || l.notBefore.After(time.Now()) {
		l.sendAway()
	}
	l.call(time.Now())
}

// learnPace follows the receiver. One that has become faster is believed sooner than one that slows down.
func (l *line) learnPace(took time.Duration) {
	if took <= 0 {
		return
	}
	switch {
	case l.pace == 0:
		l.pace = took
	case took < l.pace/2:
		l.pace = (l.pace + 3*took) / 4
	default:
		l.pace = (7*l.pace + took) / 8
	}
}

// idle reports whether the lease is held for nothing.
func (l *line) idle() bool {
	return l.lease != nil && l.unsettled == 0 && l.turn == nil && len(l.waiting) == 0 && !l.releasing
}

// settled says that a result is written. The last one in an empty line releases the lease; that of a busy line stays for a
// moment.
func (l *line) settled(ctx context.Context) {
	l.mu.Lock()
	l.unsettled--
	if !l.idle() || l.lingering {
		l.mu.Unlock()
		return // and whoever lingers releases
	}
	if l.used >= busyLine && l.lease.Wanted() == 0 {
		l.lingering = true
		l.mu.Unlock()
		l.keeper.After(linger, func() { l.lingered(ctx) })
		return
	}
	l.release(ctx)
}

// lingered gives an idle lease back after its while, or when the process stops.
func (l *line) lingered(ctx context.Context) {
	l.mu.Lock()
	l.lingering = false
	if !l.idle() {
		l.mu.Unlock()
		return
	}
	l.release(ctx)
}

// release gives the lease back. It is called with the line locked, and unlocks it.
func (l *line) release(ctx context.Context) {
	held := l.lease
	l.lease, l.releasing, l.used = nil, true, 0
	l.mu.Unlock()
	// If it fails the lease runs out by itself; those who come meanwhile are sent away for that long.
	_ = held.Release(ctx)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.releasing = false
	l.call(time.Now())
}

// short is how many jobs to send for: the line is about to run dry although more was put off than it has seen. Times
// spread at random leave a thin tail, and an early guess at the pace can be far too slow; without this a backlog of 2,000
// spent an eighth of its time waiting for its last twenty (measured).
func (l *line) short() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	if l.putOff == 0 || l.lease == nil || l.used < busyLine || l.failing || l.shut || l.notBefore.After(now) ||
		now.Sub(l.pulledAt) < pullEvery || l.lease.Wanted() > 0 || time.Duration(len(l.waiting))*l.per() > lowLine {
		return 0
	}
	l.pulledAt = now
	return min(max(int(lineWorth/max(l.per(), time.Millisecond))-len(l.waiting), 1), pullMost)
}

// pulled says how many of the n that were sent for are coming.
func (l *line) pulled(n, coming int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.putOff = max(l.putOff-coming, 0); coming < n {
		l.putOff = 0
	}
}

// later is a snooze to a random time after base, spread over the time the backlog will take. Random because predicted
// places bunch (19–51/s instead of 179/s, measured); spread because a short constant snooze turns a backlog into a storm
// of updates (447 for each delivery, measured).
func (l *line) later(ctx context.Context, base time.Duration) error {
	window := max(spread(l.drain(ctx)), lineWorth)
	l.mu.Lock()
	l.putOff++
	l.mu.Unlock()
	return jobs.Snooze(max(base/2, 20*time.Millisecond) + time.Duration(rand.Int64N(int64(window))))
}

// spread is over which time a backlog of n comes back: somewhat less than it is predicted to take, because the pace may be
// less than it seemed, and an idle receiver is worse than one more snooze. The pace may also be one of a bad moment that has
// passed, and whoever put a delivery off may be gone: it comes within 45 s, unless there are more than 4,500, which would
// be over a hundred snoozes a second.
func spread(n int, drain time.Duration) time.Duration {
	if drain <= 20*time.Second {
		return drain * 7 / 10
	}
	return min(max(14*time.Second, drain/2), max(45*time.Second, time.Duration(n)*10*time.Millisecond))
}

// drain is how many deliveries the endpoint's backlog has, and how long it will take.
func (l *line) drain(ctx context.Context) (n int, took time.Duration) {
	l.mu.Lock()
	per, fresh := l.per(), time.Since(l.backlogAt) < time.Second
	n = l.backlog
	if !fresh {
		l.backlogAt = time.Now() // one asks; the others use the old figure meanwhile
	}
	l.mu.Unlock()
	if !fresh {
		if owed, err := l.owed(ctx, l.id); err == nil {
			n = owed
			l.mu.Lock()
			l.backlog = n
			l.mu.Unlock()
		}
	}
	return n, time.Duration(n) * max(per, time.Millisecond)
}

// after records what an answer means for those behind: called with the turn, so that the next one knows.
func (l *line) after(o webhook.Outcome) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case o.Class == webhook.Delivered:
		l.failing = false
	case o.Failure():
		l.failing = true
	}
	switch o.Class {
	case webhook.Snoozed:
		l.notBefore = time.Now().Add(o.Wait)
	case webhook.Gone:
		l.shut = true
	case webhook.Delivered, webhook.Redirected, webhook.Retryable, webhook.Rejected, webhook.Refused, webhook.Interrupted:
	}
}

func (l *line) isFailing() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.failing
}
