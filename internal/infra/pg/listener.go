package pg

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
)

// Listener holds one dedicated connection of this process and hands each
// notification to the functions subscribed to its channel. When the
// connection is lost it is made anew with growing pauses (field case F02);
// after each (re)connect every subscriber is called once with an empty
// payload, because anything may have been missed.
//
// Notifications are a hint to look, never the fact itself: every subscriber
// also polls.
type Listener struct {
	url string
	log *slog.Logger

	mu   sync.Mutex
	subs map[string]map[int]func(payload string)
	next int
	wake func()
}

// listenerCheck is how often an idle LISTEN connection is tested with a round
// trip: a link whose packets are dropped says nothing by itself.
const listenerCheck = 15 * time.Second

// NewListener returns a listener on the database at url; Run makes it work.
func NewListener(url string, log *slog.Logger) *Listener {
	return &Listener{url: url, log: log, subs: map[string]map[int]func(string){}, wake: func() {}}
}

// Subscribe calls fn for each notification on channel until the returned func
// is called. fn runs on the listening goroutine and must not block.
func (l *Listener) Subscribe(channel string, fn func(payload string)) (cancel func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	id := l.next
	l.next++
	if l.subs[channel] == nil {
		l.subs[channel] = map[int]func(string){}
	}
	l.subs[channel][id] = fn
	l.wake()
	return func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		delete(l.subs[channel], id)
	}
}

// Run listens until ctx ends. It never returns early: a lost connection is
// retried after 100 ms doubling to 10 s.
func (l *Listener) Run(ctx context.Context) {
	const first, most = 100 * time.Millisecond, 10 * time.Second
	pause, lost := first, false
	for ctx.Err() == nil {
		started := time.Now()
		err := l.session(ctx, func() {
			if lost {
				l.log.Info("listening again")
			}
			lost = false
		})
		if ctx.Err() != nil {
			return
		}
		if time.Since(started) > most {
			pause = first
		}
		lost = true
		l.log.Warn("listen connection lost; polling goes on meanwhile", "error", err, "retry_in", pause)
		select {
		case <-ctx.Done():
		case <-time.After(pause):
		}
		pause = min(2*pause, most)
	}
}

func (l *Listener) session(ctx context.Context, listening func()) error {
	connect, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	conn, err := pgx.Connect(connect, l.url)
	if err != nil {
		return scrub(err)
	}
	defer func() {
		end, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer cancel()
		_ = conn.Close(end) // the session is over either way
	}()
	done := map[string]bool{}
	for {
		if err := l.listen(ctx, conn, done); err != nil {
			return err
		}
		listening()
		wait, stop := context.WithTimeout(ctx, listenerCheck)
		l.setWake(stop, done)
		n, err := conn.WaitForNotification(wait)
		waitErr := wait.Err()
		stop()
		switch {
		case err == nil:
			l.dispatch(n.Channel, n.Payload)
		case ctx.Err() != nil:
			return ctx.Err()
		case waitErr != nil: // a new channel to listen on, or time to check
			if err := ping(ctx, conn); err != nil {
				return err
			}
		default:
			return err
		}
	}
}

func ping(ctx context.Context, conn *pgx.Conn) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	return conn.Ping(ctx)
}

// listen issues LISTEN for channels not yet heard on this connection and tells
// their subscribers to look once.
func (l *Listener) listen(ctx context.Context, conn *pgx.Conn, done map[string]bool) error {
	l.mu.Lock()
	var missing []string
	for ch := range l.subs {
		if !done[ch] {
			missing = append(missing, ch)
		}
	}
	l.mu.Unlock()
	for _, ch := range missing {
		if _, err := conn.Exec(ctx, "listen "+pgx.Identifier{ch}.Sanitize()); err != nil {
			return err
		}
		done[ch] = true
		l.dispatch(ch, "")
	}
	return nil
}

// setWake makes f the way to interrupt the wait. A channel that was subscribed
// since listen looked ends the wait at once.
func (l *Listener) setWake(f func(), done map[string]bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.wake = f
	for ch := range l.subs {
		if !done[ch] {
			f()
		}
	}
}

func (l *Listener) dispatch(channel, payload string) {
	l.mu.Lock()
	fns := make([]func(string), 0, len(l.subs[channel]))
	for _, fn := range l.subs[channel] {
		fns = append(fns, fn)
	}
	l.mu.Unlock()
	for _, fn := range fns {
		fn(payload)
	}
}
