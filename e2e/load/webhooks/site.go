package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/gatehouse-hq/gatehouse/internal/domain/webhooks"
	"github.com/gatehouse-hq/gatehouse/internal/domain/webhooks/subscriber"
	"github.com/gatehouse-hq/gatehouse/internal/infra/egress"
	"github.com/gatehouse-hq/gatehouse/internal/infra/events"
	"github.com/gatehouse-hq/gatehouse/internal/infra/jobs"
	"github.com/gatehouse-hq/gatehouse/internal/infra/jobs/river"
	"github.com/gatehouse-hq/gatehouse/internal/infra/pg"
	"github.com/gatehouse-hq/gatehouse/internal/infra/pg/pgtest"
	"github.com/gatehouse-hq/gatehouse/internal/infra/seal"
	"github.com/gatehouse-hq/gatehouse/mock-stack/sink"
)

// site is one server process's relay, queue and sender, and a receiver.
type site struct {
	name    string
	admin   *pgx.Conn
	db      *pg.DB
	bell    *events.Bell
	domain  *webhooks.Domain
	runtime *river.Runtime
	sink    *sink.Sink
	lean    *sink.Lean
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

func open(ctx context.Context, cluster *pgtest.Cluster, workers int) (s *site, err error) {
	s = &site{name: fmt.Sprintf("load_%d", time.Now().UnixNano()), sink: sink.New(), bell: events.NewBell()}
	defer func() {
		if err != nil {
			s.close()
		}
	}()
	address, err := s.database(ctx, cluster)
	if err != nil {
		return s, err
	}
	if s.lean, err = s.sink.ListenLean("127.0.0.1:0"); err != nil {
		return s, err
	}
	s.ends = append(s.ends, s.lean.Close)
	if s.db, err = pg.Open(ctx, address, pg.Options{MaxConns: 40}); err != nil {
		return s, err
	}
	s.ends = append(s.ends, s.db.Close)
	return s, s.serve(ctx, address, workers)
}

func (s *site) database(ctx context.Context, cluster *pgtest.Cluster) (address string, err error) {
	server, err := pgx.Connect(ctx, cluster.URL())
	if err != nil {
		return "", err
	}
	defer func() { _ = server.Close(ctx) }()
	if _, err := server.Exec(ctx, "create database "+s.name); err != nil {
		return "", err
	}
	address, adminAddress := at(cluster.URL(), s.name), at(cluster.AdminURL(), s.name)
	if s.admin, err = pgx.Connect(ctx, adminAddress); err != nil {
		return "", err
	}
	s.ends = append(s.ends, func() { _ = s.admin.Close(context.Background()) })
	if _, err := s.admin.Exec(ctx, "create extension if not exists pg_stat_statements"); err != nil {
		return "", err
	}
	return address, pg.Migrate(ctx, address, pgtest.Plan())
}

func at(server, database string) string {
	u, err := url.Parse(server)
	if err != nil {
		return server
	}
	u.Path = "/" + database
	return u.String()
}

func (s *site) serve(ctx context.Context, address string, workers int) error {
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
		Periodics: append(module.Periodics, bus.Periodics()...), Queues: jobs.Queues(workers), Work: true})
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

// endpoints creates n endpoints; the i-th has hook "h<i>" and selects type i, or type 0 if shared.
func (s *site) endpoints(ctx context.Context, n int, shared bool) error {
	for i := range n {
		typ := typeName(i)
		if shared {
			typ = typeName(0)
		}
		hook := fmt.Sprintf("h%d", i)
		s.sink.SetPlan(hook, sink.Plan{Record: sink.RecordIDs})
		if _, err := s.domain.Create(ctx, webhooks.CreateIn{URL: s.lean.URL() + hook, EventTypes: []string{typ}}); err != nil {
			return err
		}
	}
	return nil
}

// write inserts n events in transactions of 200, the i-th of type i modulo kinds.
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

// statements is how many statements the database has run and how long they took, since reset.
func (s *site) statements(ctx context.Context) (calls int64, err error) {
	err = s.admin.QueryRow(ctx, `
select coalesce(sum(calls), 0)::bigint from pg_stat_statements where dbid = (select oid from pg_database where datname = current_database())
  and query !~* '^(begin|commit|rollback|create|alter)'`).Scan(&calls)
	return calls, err
}

func (s *site) resetStatements(ctx context.Context) error {
	_, err := s.admin.Exec(ctx, `select pg_stat_statements_reset()`)
	return err
}

func (s *site) printStatements(ctx context.Context) error {
	rows, err := s.admin.Query(ctx, `
select calls, round(total_exec_time)::text, rows, left(regexp_replace(query, '\s+', ' ', 'g'), 150) from pg_stat_statements
where dbid = (select oid from pg_database where datname = current_database()) order by total_exec_time desc limit 14`)
	if err != nil {
		return err
	}
	var calls, n int64
	var took, text string
	_, err = pgx.ForEachRow(rows, []any{&calls, &took, &n, &text}, func() error {
		fmt.Printf("    %8d calls %8s ms %9d rows  %s\n", calls, took, n, text)
		return nil
	})
	return err
}

// jobUpdates is how often rows of the queue were updated.
func (s *site) jobUpdates(ctx context.Context) (n int64, err error) {
	err = s.admin.QueryRow(ctx, `select pg_stat_force_next_flush(), n_tup_upd from pg_stat_user_tables where schemaname = 'river' and relname = 'river_job'`).Scan(nil, &n)
	return n, err
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

func heap() string {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return fmt.Sprintf("%d MB heap", m.HeapInuse>>20)
}

func rss() string {
	raw, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return "?"
	}
	for _, line := range strings.Split(string(raw), "\n") {
		if rest, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			return strings.TrimSpace(rest)
		}
	}
	return "?"
}
