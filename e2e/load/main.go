// Command load measures Gatehouse: PostgreSQL with fsync, server, receiver and
// load generator on one machine. It writes bench/results.md and pictures
// beside it, and judges nothing: only what cannot be measured fails.
//
//	go run ./e2e/load                                     the whole table
//	go run ./e2e/load -scale 0.02 -rounds 1 -out /tmp/b   a trial
//	go run ./e2e/load -only throughput -sql               one part, with its costliest statements
//
// What the figures mean is in the guide's chapter on performance.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"runtime/pprof"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/gatehouse-hq/gatehouse/e2e/load/lab"
	"github.com/gatehouse-hq/gatehouse/e2e/load/peer"
	"github.com/gatehouse-hq/gatehouse/e2e/load/report"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// part is one group of figures.
type part struct {
	name string
	run  func(ctx context.Context, l *lab.Lab, r *report.Report) error
}

// settings are what the command line says.
type settings struct {
	only, out, profile string
	lab                lab.Options
}

func flags() (s settings) {
	flag.StringVar(&s.only, "only", "", "run these parts, separated by commas: "+strings.Join(names(parts()), ", "))
	flag.StringVar(&s.out, "out", "bench", "folder of the results")
	flag.StringVar(&s.profile, "cpuprofile", "", "write a CPU profile of this process here")
	flag.Float64Var(&s.lab.Scale, "scale", 1, "part of the usual amounts; a run with another than 1 is a trial and not judged")
	flag.IntVar(&s.lab.Rounds, "rounds", 3, "rounds of what is measured several times")
	flag.IntVar(&s.lab.Workers, "workers", 200, "workers of both webhook queues")
	flag.BoolVar(&s.lab.SQL, "sql", false, "print the costliest statements of each scenario")
	flag.Usage = func() {
		out := flag.CommandLine.Output()
		fmt.Fprintln(out, "usage: go run ./e2e/load [flags]")
		flag.PrintDefaults()
		fmt.Fprintln(out, "Another sender is measured against the same receiver if the environment names one:")
		for _, v := range peer.Variables() {
			fmt.Fprintf(out, "  %s\n    \t%s\n", v[0], v[1])
		}
	}
	flag.Parse()
	return s
}

func names(list []part) (out []string) {
	for _, p := range list {
		out = append(out, p.name)
	}
	return out
}

func run(ctx context.Context) (err error) {
	s := flags()
	chosen, skipped, err := choose(parts(), s.only)
	if err != nil {
		return err
	}
	started := time.Now()
	l, err := lab.Open(ctx, ".", s.lab)
	if err != nil {
		return err
	}
	defer l.Close()
	if s.profile != "" {
		f, err := os.Create(s.profile)
		if err != nil {
			return err
		}
		defer func() { pprof.StopCPUProfile(); err = errors.Join(err, f.Close()) }()
		if err := pprof.StartCPUProfile(f); err != nil {
			return err
		}
	}
	r := report.New(os.Stdout, s.lab.Scale)
	r.Skipped = skipped
	r.Machine = report.ThisMachine(l.Version, started.UTC().Format(time.DateOnly))
	var failed []error
	for _, p := range chosen {
		if err := p.run(ctx, l, r); err != nil {
			// The others may still be measured, and are worth keeping.
			failed = append(failed, fmt.Errorf("%s could not be measured: %w", p.name, err))
			fmt.Fprintln(os.Stderr, failed[len(failed)-1])
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
	r.Took = time.Since(started)
	for _, f := range failed {
		r.Failed = append(r.Failed, f.Error())
	}
	return errors.Join(append(failed, r.Write(s.out))...)
}

// choose picks the named parts, all if none is named.
func choose(all []part, only string) (chosen []part, skipped []string, err error) {
	if only == "" {
		return all, nil, nil
	}
	wanted := strings.Split(only, ",")
	for _, name := range wanted {
		if !slices.Contains(names(all), name) {
			return nil, nil, fmt.Errorf("no part is called %q; there are %s", name, strings.Join(names(all), ", "))
		}
	}
	for _, p := range all {
		if slices.Contains(wanted, p.name) {
			chosen = append(chosen, p)
		} else {
			skipped = append(skipped, p.name)
		}
	}
	return chosen, skipped, nil
}
