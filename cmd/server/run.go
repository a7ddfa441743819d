package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"sync"
	"time"

	"github.com/gatehouse-hq/gatehouse/internal/domain/owner"
)

// stopGrace is what the whole stop may take: 20 s for running tasks (see
// package jobs) and a little for closing doors.
const stopGrace = 25 * time.Second

// serve runs the site until a signal.
func serve(ctx context.Context, p *program, args []string) error {
	if len(args) > 0 {
		return errUsage
	}
	// The port is taken first: another server already there is the likeliest
	// mistake, and the cheapest to find.
	doors, err := listen(p.cfg)
	if err != nil {
		return err
	}
	return serveThrough(ctx, p, doors)
}

// serveThrough assembles the program and lets these doors lead to it, until a signal.
func serveThrough(ctx context.Context, p *program, doors *doors) (err error) {
	defer func() { err = orFirst(err, doors.close()) }()
	p.cfg.baseURL = doors.reachedAt(p.cfg.baseURL)
	// Work outlives the signal by its grace: cancelling hard stops it in the middle.
	hard, cut := context.WithCancel(context.WithoutCancel(ctx))
	defer cut()
	a, err := p.await(ctx, doors, func() (*app, error) { return begin(ctx, hard, p) })
	if err != nil && ctx.Err() != nil {
		return nil // told to stop before it was up
	}
	if err != nil {
		return err
	}
	defer func() { err = orFirst(err, a.close()) }()
	failed := doors.serve(a)
	trimMemory()
	select {
	case <-ctx.Done():
	case err = <-failed:
	}
	a.log.Info("stopping; a second signal stops at once", "grace", stopGrace)
	return orFirst(err, p.leave(hard, cut, func(ctx context.Context) error {
		// Streams end first, so that the doors can close; the relay before the
		// workers, so that they are handed nothing new.
		return errors.Join(a.bus.Stop(ctx), doors.shutdown(ctx), a.stop(ctx))
	}))
}

// begin assembles the program and lets it work; of one that fails nothing is left.
func begin(ctx, hard context.Context, p *program) (_ *app, err error) {
	a, err := assemble(ctx, p, partsForServing)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, a.close())
		}
	}()
	if err := a.recognise(ctx, ""); err != nil {
		return nil, err
	}
	if err := a.start(hard); err != nil {
		return nil, err
	}
	if err := errors.Join(a.importGuide(ctx), a.greet(ctx, p)); err != nil {
		return nil, errors.Join(err, a.stop(hard))
	}
	return a, nil
}

// trimMemory gives back what the start needed and the day will not: migrations, the guide, and the 19 MB of a password's
// hash (65 MB resident became 42, measured). After it the live heap is a few megabytes, so collecting half as often costs
// little memory and gives deliveries the time. GOGC still decides where it is set.
func trimMemory() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(200)
	}
	debug.FreeOSMemory()
}

// leave runs the stop within its grace; the second signal cuts it short.
func (p *program) leave(ctx context.Context, cut func(), stop func(context.Context) error) error {
	grace, cancel := context.WithTimeout(ctx, stopGrace)
	defer cancel()
	var wait sync.WaitGroup
	defer wait.Wait()
	finished := make(chan struct{})
	defer close(finished)
	wait.Go(func() {
		select {
		case <-p.forced:
			cut()
		case <-finished:
		}
	})
	return stop(grace)
}

// greet prints where the site is and, while nobody owns it, the one-time link.
func (a *app) greet(ctx context.Context, p *program) error {
	if a.cfg.role == "worker" {
		return nil
	}
	o, err := a.owner.Owner(ctx)
	if err != nil {
		return err
	}
	fmt.Fprintf(p.out, "Gatehouse is at %s\n", a.cfg.baseURL)
	if o.SetUp {
		return nil
	}
	if t := a.cfg.setupToken; t != "" {
		if err := a.owner.FixSetupToken(ctx, t, false); err != nil && !errors.Is(err, owner.ErrAlreadySetUp) {
			return err
		}
		fmt.Fprintln(p.out, "Set yourself up with the token of GATEHOUSE_SETUP_TOKEN at /setup?token=…")
		return nil
	}
	token, err := a.owner.SetupLink(ctx, false)
	if errors.Is(err, owner.ErrAlreadySetUp) {
		return nil
	}
	if err != nil {
		return err
	}
	fmt.Fprintf(p.out, "Set yourself up (works once, for a day): %s/setup?token=%s\n", a.cfg.baseURL, token)
	return nil
}
