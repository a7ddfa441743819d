package river

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	riverqueue "github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"

	"github.com/gatehouse-hq/gatehouse/internal/infra/jobs"
	"github.com/gatehouse-hq/gatehouse/internal/infra/pg"
)

// Runtime is the queue of one process. It implements jobs.Runtime.
type Runtime struct {
	db  *pg.DB
	log *slog.Logger
	cfg Config

	kinds     map[string]jobs.Kind
	order     []jobs.Kind // as declared, for people
	queues    map[string]jobs.Queue
	periodics map[string]jobs.Periodic

	inserter *riverqueue.Client[pgx.Tx] // sends no NOTIFY
	speaker  *riverqueue.Client[pgx.Tx] // does, for cancelling
	worker   *riverqueue.Client[pgx.Tx] // nil when this process does not work
	bridge   *bridge
	announce *announcer
	presence *presence
	waiters  *waiters
	roster   roster
	counts   *countCache

	mu      sync.Mutex
	started bool
	stopped bool
	skipped atomic.Int64
	cancel  context.CancelFunc // ends the loops that claim nothing new
	leave   context.CancelFunc // ends the heartbeat, last
	loops   sync.WaitGroup
	present sync.WaitGroup
	unsub   func()
}

var _ jobs.Runtime = (*Runtime)(nil)

// New makes the queue of one process. It refuses kinds and queues that could
// only fail later, and queues that could hold more than half of db's pool.
// listener is the process's one LISTEN connection; its Run is the caller's.
func New(db *pg.DB, url string, listener *pg.Listener, log *slog.Logger, cfg Config) (*Runtime, error) {
	if err := cfg.complete(); err != nil {
		return nil, err
	}
	rt := &Runtime{
		db: db, log: log, cfg: cfg,
		kinds: map[string]jobs.Kind{}, queues: map[string]jobs.Queue{}, periodics: map[string]jobs.Periodic{},
		waiters: newWaiters(), counts: newCountCache(),
	}
	if err := rt.declare(); err != nil {
		return nil, err
	}
	rt.bridge = newBridge(listener, rt.queueNames())
	rt.announce = newAnnouncer(db, log)
	rt.presence = newPresence(url, log, rt)
	if err := rt.newClients(); err != nil {
		return nil, fmt.Errorf("set up the queue: %w", err)
	}
	rt.unsub = listener.Subscribe(finalTrigger, rt.waiters.heard)
	return rt, nil
}

func (rt *Runtime) declare() error {
	for _, q := range rt.cfg.Queues {
		if q.Workers < 1 {
			return fmt.Errorf("queue %s has no workers", q.Name)
		}
		rt.queues[q.Name] = q
	}
	for _, k := range rt.cfg.Kinds {
		if _, twice := rt.kinds[k.Name]; twice {
			return fmt.Errorf("kind %s is declared twice", k.Name)
		}
		rt.kinds[k.Name] = k
		rt.order = append(rt.order, k)
	}
	for _, p := range rt.cfg.Periodics {
		if _, twice := rt.periodics[p.Name]; twice {
			return fmt.Errorf("periodic %s is declared twice", p.Name)
		}
		if p.Every <= 0 || p.Run == nil {
			return fmt.Errorf("periodic %s needs an interval and something to run", p.Name)
		}
		rt.periodics[p.Name] = p
	}
	if len(rt.periodics) > 0 {
		k := rt.periodicKind()
		rt.kinds[k.Name] = k
		rt.order = append(rt.order, k)
	}
	if err := checkKinds(rt.kinds, rt.queues); err != nil {
		return err
	}
	if !rt.cfg.Work {
		return nil
	}
	return checkPool(rt.cfg.Queues, rt.db.Config().MaxConns)
}

func (rt *Runtime) queueNames() []string {
	names := make([]string, 0, len(rt.queues))
	for _, q := range rt.cfg.Queues {
		names = append(names, q.Name)
	}
	return names
}

func (rt *Runtime) newClients() (err error) {
	base := riverpgxv5.New(rt.db.Pool)
	rt.inserter, err = riverqueue.NewClient[pgx.Tx](silentDriver{base}, &riverqueue.Config{
		Schema: schema, Logger: quiet(rt.log), Hooks: insertHooks(),
	})
	if err != nil {
		return err
	}
	rt.speaker, err = riverqueue.NewClient[pgx.Tx](base, &riverqueue.Config{Schema: schema, Logger: quiet(rt.log)})
	if err != nil || !rt.cfg.Work {
		return err
	}
	workers := riverqueue.NewWorkers()
	longest := time.Minute
	for _, k := range rt.kinds {
		riverqueue.AddWorkerArgs(workers, args{kind: k.Name}, riverqueue.Worker[args](&worker{rt: rt, kind: k}))
		longest = max(longest, k.Policy.Timeout)
	}
	queues := map[string]riverqueue.QueueConfig{}
	for _, q := range rt.queues {
		queues[q.Name] = riverqueue.QueueConfig{
			MaxWorkers: q.Workers, FetchCooldown: q.Cooldown, FetchPollInterval: max(pollInterval, q.Cooldown),
		}
	}
	rt.worker, err = riverqueue.NewClient[pgx.Tx](&fencedDriver{Driver: base, bridge: rt.bridge, pilot: &pilot{rt: rt}}, &riverqueue.Config{
		ID: rt.cfg.ProcessID, Schema: schema, Logger: quiet(rt.log),
		Queues: queues, Workers: workers, Hooks: insertHooks(),
		// 1 ms also governs how often the library may announce an insert.
		FetchCooldown: time.Millisecond, FetchPollInterval: pollInterval,
		JobTimeout: time.Minute, RescueStuckJobsAfter: longest + 5*time.Minute,
		JobStuckHandler: rt.stuck, JobStuckThreshold: deafFor,
		CompletedJobRetentionPeriod: 24 * time.Hour,
		CancelledJobRetentionPeriod: 7 * 24 * time.Hour,
		DiscardedJobRetentionPeriod: 7 * 24 * time.Hour,
		// Ours instead of the two that Migrate drops.
		ReindexerIndexNames: []string{
			"river_job_args_index", "river_job_pkey", "river_job_prioritized_fetching_index",
			"river_job_state_and_finalized_at_index", "river_job_unique_idx", "gatehouse_job_kind_state", "gatehouse_job_errors",
		},
	})
	return err
}

// pollInterval finds what no notification announced: jobs whose time has come,
// and wake-ups that were lost.
const pollInterval = 200 * time.Millisecond

const (
	// deafFor is how long after its timeout a handler may go on before its slot
	// is given to another job.
	deafFor = 5 * time.Second
	// maxDeaf bounds the slots given away, because those handlers still run.
	maxDeaf = 8
)

// stuck keeps a queue going past handlers that ignore their context (field
// case F07).
func (rt *Runtime) stuck(_ context.Context, p riverqueue.JobStuckHandlerParams) riverqueue.JobStuckHandlerResult {
	rt.log.Error("a task ignores its time limit", "job", p.ID, "kind", p.Kind, "queue", p.Queue, "such_tasks", p.TotalStuckJobs)
	return riverqueue.JobStuckHandlerResult{AddWorkerSlot: p.TotalStuckJobs <= maxDeaf}
}

// Start begins to work, and returns once this process is registered and holds
// its lock. Cancelling ctx is a hard stop; call Stop in either case.
func (rt *Runtime) Start(ctx context.Context) error {
	rt.mu.Lock()
	defer rt.mu.Unlock()
	if rt.started || rt.stopped {
		return errors.New("a queue is started once")
	}
	if err := pg.InTx(ctx, rt.db, func(tx pg.Tx) error { return installTrigger(ctx, tx, rt.awaited()) }); err != nil {
		return fmt.Errorf("install the trigger that announces ends: %w", err)
	}
	if err := rt.registerPeriodics(ctx); err != nil {
		return err
	}
	stay, leave := context.WithCancel(context.WithoutCancel(ctx))
	ready := make(chan error, 1)
	rt.present.Go(func() { rt.presence.run(stay, ready) })
	if err := waitReady(ctx, ready); err != nil {
		leave()
		rt.present.Wait()
		return fmt.Errorf("register this process: %w", err)
	}
	loop, cancel := context.WithCancel(ctx)
	rt.loops.Go(func() { rt.announce.run(loop) })
	rt.loops.Go(func() { every(loop, rt.cfg.Beat, rt.sweep) })
	if rt.worker != nil {
		if err := rt.worker.Start(ctx); err != nil {
			cancel()
			leave()
			rt.loops.Wait()
			rt.present.Wait()
			return fmt.Errorf("start the workers: %w", err)
		}
		if len(rt.periodics) > 0 {
			rt.loops.Go(func() { every(loop, rt.cfg.Turn, rt.dueTurns) })
		}
	}
	rt.started, rt.cancel, rt.leave = true, cancel, leave
	return nil
}

func waitReady(ctx context.Context, ready <-chan error) error {
	select {
	case err := <-ready:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// every calls fn now and then after each pause, until ctx ends.
func every(ctx context.Context, pause time.Duration, fn func(context.Context)) {
	t := time.NewTicker(pause)
	defer t.Stop()
	for ctx.Err() == nil {
		fn(ctx)
		select {
		case <-ctx.Done():
		case <-t.C:
		}
	}
}

// Stop stops claiming, waits for running jobs up to the grace time, then
// cancels their contexts and waits a little more. What did not finish is run
// again by another process, at no cost of an attempt. ctx bounds the whole;
// when it ends first, running jobs are cancelled at once.
func (rt *Runtime) Stop(ctx context.Context) error {
	rt.mu.Lock()
	defer rt.mu.Unlock()
	rt.stopped = true
	defer rt.unsub()
	if !rt.started {
		return nil
	}
	rt.started = false
	rt.cancel()
	err := rt.stopWorker(ctx)
	rt.loops.Wait()
	rt.leave()
	rt.present.Wait()
	return err
}

// hardStop is how long cancelled handlers have to return.
const hardStop = 5 * time.Second

func (rt *Runtime) stopWorker(ctx context.Context) error {
	if rt.worker == nil {
		return nil
	}
	soft, cancel := context.WithTimeout(ctx, rt.cfg.Grace)
	defer cancel()
	if err := rt.worker.Stop(soft); err == nil {
		return nil
	}
	hard, end := context.WithTimeout(context.WithoutCancel(ctx), hardStop)
	defer end()
	if err := rt.worker.StopAndCancel(hard); err != nil {
		return fmt.Errorf("some jobs ignored the stop and will be taken over by another process: %w", err)
	}
	return nil
}

// ProcessID is the id under which this process claims jobs.
func (rt *Runtime) ProcessID() string { return rt.cfg.ProcessID }

// Alive reports whether this process may claim and send: it holds its lock and
// its last heartbeat is recent. A sender asks right before an effect that must
// not happen twice at once.
func (rt *Runtime) Alive() bool { return rt.presence.alive() }

// Skipped counts the inserts of this process for which a twin already stood
// (field case F11 asks that none goes unseen).
func (rt *Runtime) Skipped() int64 { return rt.skipped.Load() }

// Kinds lists the declared kinds, and the one that runs periodics.
func (rt *Runtime) Kinds() []jobs.Kind { return append([]jobs.Kind(nil), rt.order...) }

func (rt *Runtime) awaited() []string {
	names := []string{}
	for _, k := range rt.order {
		if k.Awaited {
			names = append(names, k.Name)
		}
	}
	return names
}
