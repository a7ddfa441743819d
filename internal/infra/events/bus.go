package events

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gatehouse-hq/gatehouse/internal/infra/jobs"
	"github.com/gatehouse-hq/gatehouse/internal/infra/pg"
)

// Channel is the NOTIFY channel on which relays of different processes wake
// each other.
const Channel = "gatehouse_events"

// DefaultRetention is how long an event is kept after its fan-out.
const DefaultRetention = 14 * 24 * time.Hour

// Config is what a Bus is made of. DB, Bell and Types are needed always.
type Config struct {
	DB   *pg.DB
	Bell *Bell // shared with the recorders of this process
	// URL is where the bus opens the one connection it sends NOTIFY on. Empty:
	// other processes find this one's events by their poll, up to 1 s later.
	URL           string
	Listener      *pg.Listener // nil: this process hears of others' events by its poll only
	Types         []Type
	Subscriptions []Subscription
	Log           *slog.Logger
	// NoRelay is for processes without workers (role web): they only wake others.
	NoRelay bool
	// Alive is asked before each pass; a process that lost its hold on the
	// database's heartbeat must not claim. Nil means always.
	Alive     func() bool
	Retention time.Duration // after fan-out; 0 means DefaultRetention
	Guards    []Guard       // what still needs old events
	// Passed hears of each pass that failed or held events: how many, and how long it took. It must not wait. Nil hears
	// nothing.
	Passed func(held int, took time.Duration, err error)
	// FaultPause is the wait after the n-th fault of a row; nil means 1 s
	// doubling. The fifth fault poisons.
	FaultPause func(n int) time.Duration
}

// Bus relays events to the jobs of their subscriptions and answers questions
// about them. All its methods may be called from several goroutines.
type Bus struct {
	cfg      Config
	registry *registry
	recent   *recent
	waiters  *waiters

	version atomic.Int64 // of the registry; 0 until entered
	self    string       // tells our own notifications from others'

	mu   sync.Mutex
	jobs jobs.Jobs
	stop func()
	done chan struct{}
}

// NewBus checks all declarations and returns a bus that does nothing until
// Start. The error names every mistake: a glob that matches no declared type,
// a name used twice, a subscription without or with two handlers, an example
// that is not a JSON object.
func NewBus(cfg Config) (*Bus, error) {
	if cfg.DB == nil || cfg.Bell == nil {
		return nil, errors.New("a bus needs a database and a bell")
	}
	r, err := newRegistry(cfg.Types, cfg.Subscriptions)
	if err != nil {
		return nil, err
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	if cfg.Alive == nil {
		cfg.Alive = func() bool { return true }
	}
	if cfg.Retention <= 0 {
		cfg.Retention = DefaultRetention
	}
	if cfg.Passed == nil {
		cfg.Passed = func(int, time.Duration, error) {}
	}
	if cfg.FaultPause == nil {
		cfg.FaultPause = faultPause
	}
	return &Bus{cfg: cfg, registry: r, recent: newRecent(), waiters: newWaiters(), self: rand.Text()}, nil
}

// Start begins to relay into j, whose kinds must include Kinds. Cancelling ctx
// is a hard stop: a pass in flight rolls back and is done again by whoever
// comes next. Start fails if the registry cannot be entered in the database.
func (b *Bus) Start(ctx context.Context, j jobs.Jobs) error {
	if _, err := b.RegistryVersion(ctx); err != nil {
		return err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.stop != nil {
		return errors.New("the bus is started already")
	}
	ctx, cancel := context.WithCancel(ctx)
	deaf := func() {}
	if b.cfg.Listener != nil && !b.cfg.NoRelay {
		deaf = b.cfg.Listener.Subscribe(Channel, func(payload string) {
			if payload != b.self {
				b.cfg.Bell.ringHere()
			}
		})
	}
	var loops sync.WaitGroup
	loops.Go(func() { b.notifyOthers(ctx) })
	if !b.cfg.NoRelay {
		loops.Go(func() { b.relay(ctx) })
	}
	b.jobs, b.done = j, make(chan struct{})
	b.stop = func() { deaf(); cancel() }
	go func() {
		loops.Wait()
		close(b.done)
	}()
	return nil
}

// Stop ends relaying: before the workers, so that they are handed nothing new.
// It waits for the loops to end, or for ctx.
func (b *Bus) Stop(ctx context.Context) error {
	b.mu.Lock()
	stop, done := b.stop, b.done
	b.mu.Unlock()
	if stop == nil {
		return nil
	}
	stop()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("stop the relay: %w", ctx.Err())
	}
}

// Poke says that a transaction with events has committed; see Bell.Ring.
func (b *Bus) Poke() { b.cfg.Bell.Ring() }

// Types are the declared types in name order.
func (b *Bus) Types() []Type { return b.registry.typeList() }

// Subscriptions are the declared subscriptions in name order.
func (b *Bus) Subscriptions() []Subscription {
	list := make([]Subscription, 0, len(b.registry.subs))
	for _, s := range b.registry.subs {
		list = append(list, s.Subscription)
	}
	return list
}

func (b *Bus) queue() (jobs.Jobs, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.jobs == nil {
		return nil, errors.New("the bus is not started")
	}
	return b.jobs, nil
}
