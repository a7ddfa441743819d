// Package writers measures what events and wake-ups cost 50 concurrent
// writers (field case F03).
package writers

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/gatehouse-hq/gatehouse/e2e/load/lab"
	"github.com/gatehouse-hq/gatehouse/e2e/load/product"
	"github.com/gatehouse-hq/gatehouse/e2e/load/report"
	"github.com/gatehouse-hq/gatehouse/internal/infra/events"
	"github.com/gatehouse-hq/gatehouse/internal/infra/pg"
)

// writerCount is how many connections commit at once.
const writerCount = 50

// Both transactions take the same one round trip, of statements that are prepared, as all of the product's are: planned
// anew each time the default of an event's id alone would cost as much as its row.
func plain() []string {
	return []string{"begin", `insert into bench_rows (body) values ('words')`, "commit"}
}

func event(owner string) []string {
	return slices.Insert(plain(), 2, `insert into events (owner_id, type, subject) values ('`+owner+`', '`+product.EventType+`', 'writing://bench')`)
}

// variant is one way of writing.
type variant struct {
	name string
	sql  []string
	wake bool // the product's own wake-up follows the commits, and somebody listens
	live bool // a server relays meanwhile
}

func variants(owner string) []variant {
	event := event(owner)
	return []variant{
		{name: "without events", sql: plain()},
		{name: "with events, nobody woken", sql: event},
		{name: "with events and wake-up, nobody relays", sql: event, wake: true},
		{name: "with events while a server relays them", sql: event, wake: true, live: true},
	}
}

// Commits compares the variants in interleaved rounds.
func Commits(ctx context.Context, l *lab.Lab, r *report.Report) error {
	section := r.Section(fmt.Sprintf("%d writers", writerCount))
	return product.With(ctx, l, 3*time.Minute, func(ctx context.Context, s *product.Site) error {
		s.Server.Signal(syscall.SIGTERM)
		if err := s.Exec(ctx, `create table bench_rows (id bigint generated always as identity, body text); grant all on bench_rows to public`); err != nil {
			return err
		}
		var owner string
		if err := s.Pool.QueryRow(ctx, `select id::text from owners`).Scan(&owner); err != nil {
			return err
		}
		all := variants(owner)
		rates := make([][]float64, len(all))
		for round := range l.Rounds {
			for i := range all {
				which := (i + round) % len(all) // each has every place in the order
				rate, err := measure(ctx, l, s, all[which])
				if err != nil {
					return fmt.Errorf("%s: %w", all[which].name, err)
				}
				rates[which] = append(rates[which], rate)
			}
		}
		for i, v := range all {
			section.Add(report.Figure{Name: "commits " + v.name, Values: rates[i], Unit: "/s"})
		}
		section.Add(ratio("events and wake-up, of events alone", rates[2], rates[1], report.AtLeast(95)))
		section.Add(ratio("events and wake-up, of no events", rates[2], rates[0], report.AtLeast(65)))
		section.Add(ratio("events alone, of no events", rates[1], rates[0], report.Bar{}))
		section.Add(ratio("events while a server relays, of no events", rates[3], rates[0], report.Bar{}))
		section.Note = "Each transaction is one row, or one row and one event, in one round trip. The first three run without any server; in the fourth a relay works on the same two cores, so that it shows what is left for writers, not what a wake-up costs. Ratios are of the same round"
		return nil
	})
}

func ratio(name string, of, to []float64, bar report.Bar) report.Figure {
	f := report.Figure{Name: name, Unit: "%", Bar: bar}
	for i := range of {
		f.Values = append(f.Values, 100*of[i]/to[i])
	}
	return f
}

// measure starts from empty tables, so that every round finds the same.
func measure(ctx context.Context, l *lab.Lab, s *product.Site, v variant) (rate float64, err error) {
	if err := s.Exec(ctx, `truncate bench_rows, events, river.river_job`); err != nil {
		return 0, err
	}
	if v.live {
		if _, err := s.Start(ctx); err != nil {
			return 0, err
		}
		defer s.Server.Signal(syscall.SIGTERM)
	}
	ring := func() {}
	if v.wake {
		bell, stop, err := wakeUp(ctx, s)
		if err != nil {
			return 0, err
		}
		defer stop()
		ring = bell.Ring
	}
	return commits(ctx, s, v.sql, ring, time.Duration(l.N(3000))*time.Millisecond)
}

// wakeUp is the product's own notifier, and a connection that listens.
func wakeUp(ctx context.Context, s *product.Site) (*events.Bell, func(), error) {
	db, err := pg.Open(ctx, s.URL, pg.Options{MaxConns: 2})
	if err != nil {
		return nil, nil, err
	}
	log := slog.New(slog.DiscardHandler)
	listener := pg.NewListener(s.URL, log)
	heard := make(chan struct{})
	once := sync.OnceFunc(func() { close(heard) })
	listener.Subscribe(events.Channel, func(string) { once() }) // called once when it listens
	loops, end := context.WithCancel(ctx)
	var running sync.WaitGroup
	running.Go(func() { listener.Run(loops) })
	bell := events.NewBell()
	bus, err := events.NewBus(events.Config{DB: db, Bell: bell, URL: s.URL, NoRelay: true, Log: log})
	if err == nil {
		err = bus.Start(loops, nil)
	}
	stop := func() {
		if bus != nil {
			_ = bus.Stop(context.WithoutCancel(ctx))
		}
		end()
		running.Wait()
		db.Close()
	}
	if err != nil {
		stop()
		return nil, nil, err
	}
	select {
	case <-heard:
		return bell, stop, nil
	case <-ctx.Done():
		stop()
		return nil, nil, ctx.Err()
	}
}

func commits(ctx context.Context, s *product.Site, sql []string, ring func(), length time.Duration) (float64, error) {
	conns, err := connections(ctx, s, writerCount)
	defer func() {
		for _, c := range conns {
			_ = c.Close(context.WithoutCancel(ctx))
		}
	}()
	if err != nil {
		return 0, err
	}
	var done atomic.Int64
	var all sync.WaitGroup
	failed := make([]error, len(conns))
	began := time.Now()
	for i, c := range conns {
		all.Go(func() {
			for time.Since(began) < length && failed[i] == nil {
				var b pgx.Batch
				for _, q := range sql {
					b.Queue(q)
				}
				if failed[i] = c.SendBatch(ctx, &b).Close(); failed[i] == nil {
					done.Add(1)
					ring()
				}
			}
		})
	}
	all.Wait()
	took := time.Since(began)
	if i := slices.IndexFunc(failed, func(err error) bool { return err != nil }); i >= 0 {
		return 0, failed[i]
	}
	return float64(done.Load()) / took.Seconds(), nil
}

// connections opens n of them beforehand: opening is not what is measured.
func connections(ctx context.Context, s *product.Site, n int) (out []*pgx.Conn, err error) {
	for range n {
		c, err := pgx.Connect(ctx, s.URL)
		if err != nil {
			return out, fmt.Errorf("open connection %d: %w", len(out)+1, err)
		}
		out = append(out, c)
	}
	return out, nil
}
