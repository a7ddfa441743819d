// Command webhooks measures deliveries: PostgreSQL with fsync, relay, queue, sender and a lean receiver on one machine. It
// prints a table and judges nothing. Bars and what they mean are in the guide's chapter on performance.
//
//	go run ./e2e/load/webhooks [-only ten] [-cpuprofile FILE]
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"runtime/pprof"
	"strings"
	"time"

	"github.com/gatehouse-hq/gatehouse/internal/infra/pg/pgtest"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "load:", err)
		os.Exit(1)
	}
}

// scenario is one row of the table.
type scenario struct {
	name string
	what string
	run  func(ctx context.Context, s *site) (string, error)
}

func scenarios() []scenario {
	return []scenario{
		{"ten", "5,000 events, each to 10 endpoints", func(ctx context.Context, s *site) (string, error) { return s.throughput(ctx, 5000, 10, true) }},
		{"round", "20,000 events round-robin over 10 endpoints", func(ctx context.Context, s *site) (string, error) { return s.throughput(ctx, 20000, 10, false) }},
		{"one", "5,000 events to one fast endpoint", func(ctx context.Context, s *site) (string, error) { return s.throughput(ctx, 5000, 1, true) }},
		{"backlog", "one endpoint that takes 5 ms, backlog 2,000", func(ctx context.Context, s *site) (string, error) {
			return s.backlog(ctx, 2000, 5*time.Millisecond, time.Minute)
		}},
		{"slow", "one endpoint that takes 1 s, backlog 500 (20 s of it)", func(ctx context.Context, s *site) (string, error) {
			return s.backlog(ctx, 500, time.Second, 20*time.Second)
		}},
		{"idle", "60 events/s, one endpoint", func(ctx context.Context, s *site) (string, error) { return s.idle(ctx, 10*time.Second) }},
		{"hanging", "100 healthy endpoints, without and with a hanging one", func(ctx context.Context, s *site) (string, error) { return s.hanging(ctx) }},
	}
}

func run(ctx context.Context) error {
	only := flag.String("only", "", "run the scenarios whose names hold this, separated by commas")
	profile := flag.String("cpuprofile", "", "write a CPU profile of all scenarios here")
	workers := flag.Int("workers", 200, "workers of both webhook queues")
	limit := flag.Duration("limit", 90*time.Second, "the most a scenario may take")
	sql := flag.Bool("sql", false, "print the costliest statements of each scenario")
	flag.Parse()
	settings := pgtest.DurableSettings()
	settings["shared_preload_libraries"] = "pg_stat_statements"
	settings["max_connections"] = "150"
	cluster, err := pgtest.StartCluster(ctx, settings)
	if err != nil {
		return err
	}
	defer func() { _ = cluster.Stop(context.Background()) }()
	if *profile != "" {
		f, err := os.Create(*profile)
		if err != nil {
			return err
		}
		defer func() { pprof.StopCPUProfile(); _ = f.Close() }()
		if err := pprof.StartCPUProfile(f); err != nil {
			return err
		}
	}
	for _, sc := range scenarios() {
		if *only != "" && !named(*only, sc.name) {
			continue
		}
		line, err := measure(ctx, cluster, sc, options{*workers, *sql, *limit})
		if err != nil {
			return fmt.Errorf("%s: %w", sc.name, err)
		}
		fmt.Printf("%-8s %-58s %s\n", sc.name, sc.what, line)
	}
	return nil
}

func named(list, name string) bool {
	for _, part := range strings.Split(list, ",") {
		if part == name {
			return true
		}
	}
	return false
}

type options struct {
	workers int
	sql     bool
	limit   time.Duration
}

// measure runs one scenario on a database of its own.
func measure(ctx context.Context, cluster *pgtest.Cluster, sc scenario, o options) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, o.limit)
	defer cancel()
	s, err := open(ctx, cluster, o.workers)
	if err != nil {
		return "", err
	}
	defer s.close()
	line, err := sc.run(ctx, s)
	if err == nil && o.sql {
		err = s.printStatements(ctx)
	}
	return line, err
}
