package main

import (
	"context"
	"errors"
	"flag"
	"fmt"

	"github.com/gatehouse-hq/gatehouse/internal/domain/owner"
)

// setupLink prints a one-time link. It needs the terminal of the machine, which
// is what makes --reset safe.
func setupLink(ctx context.Context, p *program, args []string) (err error) {
	flags := flag.NewFlagSet("setup-link", flag.ContinueOnError)
	reset := flags.Bool("reset", false, "also when the owner is already set up")
	if err := flagsOf(flags, args, 0); err != nil {
		return err
	}
	if *reset {
		if err := notThere(p.cfg); err != nil {
			return err
		}
	}
	a, err := assemble(ctx, p, partsForCommands)
	if err != nil {
		return err
	}
	defer func() { err = orFirst(err, a.close()) }()
	token, err := a.owner.SetupLink(ctx, *reset)
	if errors.Is(err, owner.ErrAlreadySetUp) {
		return errors.New("the owner is already set up; for a lost password run: gatehouse setup-link --reset")
	}
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(p.out, "Works once, for a day: %s/setup?token=%s\n", p.cfg.baseURL, token)
	return err
}
