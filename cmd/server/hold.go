package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/gatehouse-hq/gatehouse/internal/domain/instance"
	"github.com/gatehouse-hq/gatehouse/internal/domain/webhooks"
	"github.com/gatehouse-hq/gatehouse/internal/infra/pg"
)

// newInstance builds the domain of the installation as a whole.
func (a *app) newInstance() {
	a.instance = instance.New(instance.Deps{
		DB: a.pool, DataDir: a.cfg.dataDir, Senders: []instance.Sender{heldWebhooks{a.webhooks}},
		SignOut: a.owner.SignOutEverywhere,
		Reindex: func(ctx context.Context) error { _, err := a.corpus.StartReindex(ctx); return err },
		Disks:   disks(a.cfg),
	})
}

// disks are the places that may fill up: the data directory, and the private cluster's where that is on another disk.
func disks(c config) []instance.Disk {
	list := []instance.Disk{{Name: "data directory", Path: c.dataDir}}
	if c.databaseURL == "" {
		list = append(list, instance.Disk{Name: "private database", Path: filepath.Join(c.dataDir, "postgres", "cluster")})
	}
	return list
}

// heldWebhooks is what a hold needs of the webhooks domain.
type heldWebhooks struct{ *webhooks.Domain }

func (w heldWebhooks) Held(ctx context.Context, q pg.Querier, until int64) (instance.Waiting, error) {
	n, err := w.CountHeld(ctx, q, until)
	return instance.Waiting(n), err
}

// recognise looks whether this is the database it was, before anything is sent. because is a reason to hold that is known
// already.
func (a *app) recognise(ctx context.Context, because string) error {
	found, err := a.instance.Recognise(ctx, because)
	if err != nil {
		return fmt.Errorf("look whether this database was restored or copied: %w", err)
	}
	if len(found.Blind) > 0 {
		a.log.Info("the database does not tell this role all that a copy is recognised by; the rest has to do", "untold", strings.Join(found.Blind, ", "))
	}
	if found.Unkept != nil {
		a.log.Warn("the data directory cannot remember this start, so a database that is set back to an older state will not be noticed", "error", found.Unkept)
	}
	if found.Reason != "" {
		a.log.Warn("sends are on hold; the panel says what waits", "reason", found.Reason, "sessions_ended", found.Sessions, "page", a.cfg.baseURL.String()+instance.Page)
		return nil
	}
	h, err := a.instance.Current(ctx)
	if err != nil {
		return fmt.Errorf("look whether sends are on hold: %w", err)
	}
	if h != nil { // said at every start: it would be a long silence otherwise
		a.log.Warn("sends are still on hold; the panel says what waits", "reason", h.Reason, "since", h.SetAt.Format(time.RFC3339), "page", a.cfg.baseURL.String()+instance.Page)
	}
	return nil
}

// putOnHold is for a copy that cannot be recognised, such as that of a whole machine: before its first start.
func putOnHold(ctx context.Context, p *program, args []string) (err error) {
	flags := flag.NewFlagSet("hold", flag.ContinueOnError)
	reason := flags.String("reason", "", "why")
	if err := flagsOf(flags, args, 0); err != nil {
		return err
	}
	if err := notThere(p.cfg); err != nil {
		return err
	}
	if *reason == "" {
		*reason = "It was put on hold at the terminal."
	}
	a, err := assemble(ctx, p, partsForCommands)
	if err != nil {
		return err
	}
	defer func() { err = orFirst(err, a.close()) }()
	if err := a.recognise(ctx, *reason); err != nil {
		return err
	}
	_, err = fmt.Fprintf(p.out, "Nothing is sent until you release the hold at %s. Everybody was signed out.\n", a.cfg.baseURL.String()+instance.Page)
	return err
}

// holdState is doctor's line about the hold.
func holdState(ctx context.Context, pool *pg.DB) (string, error) {
	h, err := instance.New(instance.Deps{DB: pool}).Current(ctx)
	switch {
	case pg.State(err) == "42P01": // an older schema, which the line above tells of
		return "none", nil
	case err != nil:
		return "", err
	case h != nil:
		return "", errors.New("nothing is sent. " + h.Reason + " In the panel, choose whether what waits is sent or dropped: " + instance.Page)
	}
	return "none", nil
}
