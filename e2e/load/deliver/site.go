package deliver

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"

	"github.com/gatehouse-hq/gatehouse/e2e/load/lab"
	"github.com/gatehouse-hq/gatehouse/internal/domain/webhooks"
	"github.com/gatehouse-hq/gatehouse/internal/domain/webhooks/subscriber"
	"github.com/gatehouse-hq/gatehouse/internal/infra/egress"
	"github.com/gatehouse-hq/gatehouse/internal/infra/events"
	"github.com/gatehouse-hq/gatehouse/internal/infra/jobs"
	"github.com/gatehouse-hq/gatehouse/internal/infra/jobs/river"
	"github.com/gatehouse-hq/gatehouse/internal/infra/pg"
	"github.com/gatehouse-hq/gatehouse/internal/infra/pg/pgtest"
	"github.com/gatehouse-hq/gatehouse/internal/infra/seal"
)

// site is one server process's relay, queue and sender, inside this process,
// and a receiver.
type site struct {
	*lab.Database
	to      *lab.Receiver
	lab     *lab.Lab
	db      *pg.DB
	bell    *events.Bell
	domain  *webhooks.Domain
	runtime *river.Runtime
	ends    []func()
}

// typeCount is how many types of events there are; type n is load.n.
const typeCount = 120

func types() []events.Type {
	list := webhooks.Types()
	for i := range typeCount {
		list = append(list, events.Type{Name: typeName(i), Title: "Load", Example: json.RawMessage(`{}`), Exposure: events.Webhook})
	}
	return list
}

func typeName(i int) string { return fmt.Sprintf("load.t%d", i) }

// with runs a scenario on a site of its own.
func with(ctx context.Context, l *lab.Lab, scenario func(ctx context.Context, s *site) error) error {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	s, err := open(ctx, l)
	if err != nil {
		return err
	}
	defer s.close()
	if err := scenario(ctx, s); err != nil {
		return fmt.Errorf("%w; the queue %s", err, s.queue())
	}
	if l.SQL {
		return s.PrintStatements(ctx)
	}
	return nil
}

func open(ctx context.Context, l *lab.Lab) (s *site, err error) {
	s = &site{lab: l, bell: events.NewBell()}
	defer func() {
		if err != nil {
			s.close()
		}
	}()
	if s.Database, err = l.Database(ctx); err != nil {
		return s, err
	}
	s.ends = append(s.ends, s.Drop)
	if err := pg.Migrate(ctx, s.URL, pgtest.Plan()); err != nil {
		return s, err
	}
	if s.to, err = lab.Listen("127.0.0.1:0"); err != nil {
		return s, err
	}
	s.ends = append(s.ends, s.to.Close)
	if s.db, err = pg.Open(ctx, s.URL, pg.Options{MaxConns: 40}); err != nil {
		return s, err
	}
	s.ends = append(s.ends, s.db.Close)
	return s, s.serve(ctx, s.URL)
}

func (s *site) serve(ctx context.Context, address string) error {
	log := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
	listener := pg.NewListener(address, log)
	allow, err := egress.ParseAllow("127.0.0.1")
	if err != nil {
		return err
	}
	client := egress.New(egress.Options{Allow: allow})
	sealer, err := seal.New(make([]byte, seal.KeyBytes))
	if err != nil {
		return err
	}
	s.domain = webhooks.New(webhooks.Deps{DB: s.db, Recorder: events.NewRecorder(types(), s.bell), Sealer: sealer, Addresses: client, Wire: subscriber.Wire{}})
	handlers := subscriber.New(s.domain, client, "load")
	module := s.domain.Module(handlers)
	bus, err := events.NewBus(events.Config{DB: s.db, Bell: s.bell, URL: address, Listener: listener, Log: log, Types: types(), Subscriptions: module.Subscriptions})
	if err != nil {
		return err
	}
	s.runtime, err = river.New(s.db, address, listener, log, river.Config{Kinds: append(module.Kinds, bus.Kinds()...),
		Periodics: append(module.Periodics, bus.Periodics()...), Queues: jobs.Queues(s.lab.Workers), Work: true})
	if err != nil {
		return err
	}
	event := func(ctx context.Context, id string) (events.Event, error) {
		e, err := bus.Get(ctx, id)
		return e.Event, err
	}
	s.domain.Connect(webhooks.Queue{Jobs: s.runtime, Inspect: s.runtime, Wait: s.runtime.Wait, Types: bus.Types(), Event: event})
	handlers.Connect(subscriber.Queue{Jobs: s.runtime, Event: event, Listener: listener})
	loops, end := context.WithCancel(context.WithoutCancel(ctx))
	var running sync.WaitGroup
	running.Go(func() { listener.Run(loops) })
	s.ends = append(s.ends, func() { end(); running.Wait(); client.Close() })
	if err := s.runtime.Start(loops); err != nil {
		return err
	}
	s.ends = append(s.ends, func() {
		grace, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		_ = s.runtime.Stop(grace)
	})
	if err := bus.Start(loops, s.runtime); err != nil {
		return err
	}
	s.ends = append(s.ends, func() { _ = bus.Stop(context.Background()) })
	return nil
}

func (s *site) close() {
	for i := len(s.ends) - 1; i >= 0; i-- {
		s.ends[i]()
	}
}

// endpoints creates n endpoints; the i-th has hook i and selects type i, or type 0 if shared.
func (s *site) endpoints(ctx context.Context, n int, shared bool) error {
	for i := range n {
		typ := i
		if shared {
			typ = 0
		}
		if _, err := s.endpoint(ctx, i, typ, 0); err != nil {
			return err
		}
	}
	return nil
}

// endpoint creates one endpoint whose receiver takes that long to answer.
func (s *site) endpoint(ctx context.Context, hook, typ int, delay time.Duration) (id string, err error) {
	s.to.Plan(lab.Hook(hook), delay)
	made, err := s.domain.Create(ctx, webhooks.CreateIn{URL: s.to.URL(lab.Hook(hook)), EventTypes: []string{typeName(typ)}})
	return made.Endpoint.ID, err
}

// write inserts n events in transactions of 200, the i-th of type first + i modulo kinds.
func (s *site) write(ctx context.Context, n, first, kinds int) error {
	for done := 0; done < n; {
		part := min(200, n-done)
		err := pg.InTx(ctx, s.db, func(tx pg.Tx) error {
			tx.AfterCommit(s.bell.Ring)
			_, err := tx.Exec(ctx, `
insert into events (owner_id, type, subject, data)
select (select id from owners), 'load.t' || ($2 + (i + $3) % $4), 'load/' || i, '{"note_id": "0197d0f0-5f2c-7c3e-9d50-1c9a7f0a4b11", "op": "updated"}'
from generate_series(1, $1::int) i`, part, first, done, kinds)
			return err
		})
		if err != nil {
			return err
		}
		done += part
	}
	return nil
}

// writeOne inserts one event and returns its id.
func (s *site) writeOne(ctx context.Context, typ int) (id string, err error) {
	err = pg.InTx(ctx, s.db, func(tx pg.Tx) error {
		tx.AfterCommit(s.bell.Ring)
		return tx.QueryRow(ctx, `
insert into events (owner_id, type, subject, data)
values ((select id from owners), $1, 'load/one', '{"note_id": "0197d0f0-5f2c-7c3e-9d50-1c9a7f0a4b11", "op": "updated"}') returning id::text`, typeName(typ)).Scan(&id)
	})
	return id, err
}

// queue tells what is left in the queue, for a scenario that did not end.
func (s *site) queue() (text string) {
	err := s.db.QueryRow(context.Background(), `
select coalesce(string_agg(format('%s %s %s: %s, due in %s to %s', kind, queue, state, n, soonest, latest), '; '), 'is empty') from (
  select kind, queue, state, count(*) n, date_trunc('milliseconds', min(scheduled_at) - clock_timestamp()) soonest, date_trunc('milliseconds', max(scheduled_at) - clock_timestamp()) latest
  from river.river_job where finalized_at is null group by 1, 2, 3) q`).Scan(&text)
	if err != nil {
		return err.Error()
	}
	return text
}
