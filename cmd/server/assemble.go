package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"log/slog"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/gatehouse-hq/gatehouse/internal/domain"
	"github.com/gatehouse-hq/gatehouse/internal/domain/corpus"
	corpusjobs "github.com/gatehouse-hq/gatehouse/internal/domain/corpus/subscriber"
	"github.com/gatehouse-hq/gatehouse/internal/domain/instance"
	"github.com/gatehouse-hq/gatehouse/internal/domain/owner"
	"github.com/gatehouse-hq/gatehouse/internal/domain/tasks"
	"github.com/gatehouse-hq/gatehouse/internal/domain/webhooks"
	webhookjobs "github.com/gatehouse-hq/gatehouse/internal/domain/webhooks/subscriber"
	"github.com/gatehouse-hq/gatehouse/internal/infra/egress"
	"github.com/gatehouse-hq/gatehouse/internal/infra/events"
	"github.com/gatehouse-hq/gatehouse/internal/infra/jobs"
	"github.com/gatehouse-hq/gatehouse/internal/infra/jobs/river"
	"github.com/gatehouse-hq/gatehouse/internal/infra/op"
	"github.com/gatehouse-hq/gatehouse/internal/infra/pg"
	"github.com/gatehouse-hq/gatehouse/internal/infra/search"
	"github.com/gatehouse-hq/gatehouse/internal/infra/search/meili"
	"github.com/gatehouse-hq/gatehouse/internal/infra/search/postgres"
	"github.com/gatehouse-hq/gatehouse/internal/infra/telemetry"
)

// parts says how much of the program a command needs.
type parts int

const (
	partsForCommands parts = iota // domains and queue, nothing that works by itself
	partsForServing
)

// app is the whole program of one process, wired.
type app struct {
	cfg      config
	log      *slog.Logger
	database *database
	pool     *pg.DB
	listener *pg.Listener
	engine   search.Engine

	owner    *owner.Domain
	corpus   *corpus.Domain
	tasks    *tasks.Domain
	webhooks *webhooks.Domain
	instance *instance.Domain

	deliveries *webhookjobs.Handlers
	metrics    *telemetry.Metrics
	outside    *egress.Client // for addresses that a person typed

	bus     *events.Bus
	runtime *river.Runtime
	ops     *op.Set
	site    http.Handler

	loops      sync.WaitGroup
	endLoops   context.CancelFunc
	endStreams func()
	endHooks   func() // once no job runs: nothing more is heard of endpoints, and leases kept for a moment are given back
}

// assemble opens the database, brings it up to date and wires the program, top
// to bottom. Nothing works by itself until start.
func assemble(ctx context.Context, p *program, need parts) (_ *app, err error) {
	a := &app{cfg: p.cfg, log: telemetry.NewLog(p.errOut, slog.LevelInfo), endLoops: func() {}, endStreams: func() {}, endHooks: func() {}}
	defer func() {
		if err != nil {
			err = errors.Join(err, a.close())
		}
	}()
	if a.database, err = openDatabase(ctx, p.cfg, p.errOut); err != nil {
		return nil, err
	}
	if err = a.database.migrate(ctx); err != nil {
		return nil, err
	}
	if a.pool, err = pg.Open(ctx, a.database.url, pg.Options{MaxConns: p.cfg.poolSize, Application: "gatehouse " + p.cfg.role}); err != nil {
		return nil, err
	}
	a.listener = pg.NewListener(a.database.url, a.log)
	if a.engine, err = newEngine(p.cfg, a.pool); err != nil {
		return nil, err
	}
	a.metrics = telemetry.NewMetrics(a.figures, a.log)
	bell := events.NewBell()
	modules, err := a.domains(bell)
	if err != nil {
		return nil, err
	}
	if err = a.queue(ctx, bell, modules, need); err != nil {
		return nil, err
	}
	if a.ops, err = op.Collect(append(collect(modules, func(m domain.Module) []op.Op { return m.Ops }), a.statusOp())...); err != nil {
		return nil, err
	}
	if need == partsForServing {
		a.site, err = a.faces()
	}
	return a, err
}

// domains builds every domain; one line of modules each.
func (a *app) domains(bell *events.Bell) ([]domain.Module, error) {
	types := slices.Concat(owner.Types(), corpus.Types(), webhooks.Types())
	rec := events.NewRecorder(types, bell)
	a.owner = owner.New(a.pool, rec)
	a.corpus = corpus.New(corpus.Deps{DB: a.pool, Recorder: rec, Engine: a.engine, Ring: bell.Ring})
	if err := a.newWebhooks(rec); err != nil {
		return nil, err
	}
	a.newInstance()
	a.tasks = tasks.New(tasks.Sources{DB: a.pool, Search: a.engine, Checks: []tasks.Check{
		alertsOf(a.instance.Alerts), alertsOf(a.webhooks.Alerts), a.databaseAlerts, a.egressAlerts,
	}})
	return []domain.Module{
		a.owner.Module(),
		a.corpus.Module(corpusjobs.New(a.corpus)),
		a.tasks.Module(),
		a.webhooks.Module(a.deliveries),
		a.instance.Module(),
	}, nil
}

// queue builds bus and queue from what the domains declare, and hands them
// back to the domains that use them.
func (a *app) queue(ctx context.Context, bell *events.Bell, modules []domain.Module, need parts) (err error) {
	works := need == partsForServing && a.cfg.role != "web"
	a.bus, err = events.NewBus(events.Config{
		DB: a.pool, Bell: bell, URL: a.database.url, Listener: a.listener, Log: a.log,
		Types:         collect(modules, func(m domain.Module) []events.Type { return m.Types }),
		Subscriptions: collect(modules, func(m domain.Module) []events.Subscription { return m.Subscriptions }),
		NoRelay:       !works, Retention: a.cfg.retention, Guards: []events.Guard{webhooks.NeededEvents},
		Alive: func() bool { return a.runtime.Alive() }, Passed: a.metrics.Passed,
	})
	if err != nil {
		return err
	}
	var registry int64
	if works {
		if registry, err = a.bus.RegistryVersion(ctx); err != nil {
			return err
		}
	}
	a.runtime, err = river.New(a.pool, a.database.url, a.listener, a.log, river.Config{
		Kinds:     append(collect(modules, func(m domain.Module) []jobs.Kind { return m.Kinds }), a.bus.Kinds()...),
		Periodics: append(collect(modules, func(m domain.Module) []jobs.Periodic { return m.Periodics }), a.bus.Periodics()...),
		Queues:    jobs.Queues(a.cfg.webhookWorkers),
		Role:      a.cfg.role, Version: version,
		Registry: func() int64 { return registry },
		Work:     works,
	})
	if err != nil {
		return err
	}
	a.connectWebhooks()
	a.corpus.Connect(corpus.Queue{Jobs: a.runtime, Fanout: a.bus, Wait: a.runtime})
	a.tasks.Jobs, a.tasks.Queue, a.tasks.Stream = a.runtime, a.runtime, a.bus
	a.tasks.Meters = tasks.Meters{Events: a.bus.Flow, Tasks: a.runtime.Finished, Deliveries: a.webhooks.Flow}
	a.tasks.Usual = a.runtime.Usual
	return nil
}

// start begins to listen, work and relay. Cancelling ctx is a hard stop. After an error nothing of it runs.
func (a *app) start(ctx context.Context) (err error) {
	loops, cancel := context.WithCancel(ctx)
	a.endLoops = cancel
	defer func() {
		if err != nil {
			cancel()
			a.loops.Wait()
		}
	}()
	a.loops.Go(func() { a.listener.Run(loops) })
	a.loops.Go(func() {
		if err := a.listener.Prove(loops, a.pool, 10*time.Second); err != nil {
			a.log.Warn("listening", "error", err)
		}
	})
	if a.cfg.role != "web" {
		a.loops.Go(func() { a.prepareSearch(loops) })
	}
	a.loops.Go(func() { collectOrphans(loops) })
	if a.database.cluster != nil {
		a.loops.Go(func() { a.database.cluster.Keep(loops, a.log) })
	}
	if err := a.runtime.Start(ctx); err != nil {
		return fmt.Errorf("start the queue: %w", err)
	}
	if err := a.bus.Start(ctx, a.runtime); err != nil {
		return errors.Join(fmt.Errorf("start the relay: %w", err), a.runtime.Stop(ctx))
	}
	return nil
}

// stop ends relay and workers, in this order.
func (a *app) stop(ctx context.Context) error {
	err := errors.Join(a.bus.Stop(ctx), a.runtime.Stop(ctx))
	a.endLoops()
	a.loops.Wait()
	return err
}

// close lets go of the database.
func (a *app) close() error {
	a.endHooks()
	if a.pool != nil {
		a.pool.Close()
	}
	if a.database == nil {
		return nil
	}
	return a.database.close()
}

func (a *app) httpLog() *log.Logger { return slog.NewLogLogger(a.log.Handler(), slog.LevelDebug) }

// prepareSearch says at the start what would otherwise show only when somebody
// searches. The site does not wait for it: writes go on without search.
func (a *app) prepareSearch(ctx context.Context) {
	if err := a.engine.Prepare(ctx); err != nil && ctx.Err() == nil {
		a.log.Warn("search cannot be used; the site runs without it and catches up by itself", "engine", a.engine.Name(), "error", err)
	}
}

// newEngine is the search engine that the settings name.
func newEngine(cfg config, pool *pg.DB) (search.Engine, error) {
	if cfg.meiliURL != "" {
		return meili.New(cfg.meiliURL, cfg.meiliKey, meili.Options{})
	}
	return postgres.New(pool), nil
}

func collect[T any](modules []domain.Module, of func(domain.Module) []T) []T {
	var all []T
	for _, m := range modules {
		all = append(all, of(m)...)
	}
	return all
}
