package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/gatehouse-hq/gatehouse/internal/domain/instance"
	"github.com/gatehouse-hq/gatehouse/internal/infra/pg"
	"github.com/gatehouse-hq/gatehouse/internal/infra/pg/embedded"
	"github.com/gatehouse-hq/gatehouse/internal/infra/search"
)

// Bounds that doctor and the panel share with the guide.
const (
	skewBound = 500 * time.Millisecond
)

// examination is one line of doctor's report: what was found, or an error
// that says what to do.
type examination struct {
	name string
	look func(ctx context.Context) (found string, err error)
}

// doctor looks at everything a start depends on and changes nothing. A private
// cluster that nobody runs is started for the look and stopped again; one that
// was never made is not made.
func doctor(ctx context.Context, p *program, args []string) error {
	if len(args) > 0 {
		return errUsage
	}
	var db *database
	var pool *pg.DB
	defer func() {
		if pool != nil {
			pool.Close()
		}
		if db != nil {
			if err := db.close(); err != nil {
				fmt.Fprintln(p.errOut, "stop the private database:", err)
			}
		}
	}()
	list := []examination{
		{"disk", func(context.Context) (string, error) { return diskSpace(p.cfg) }},
		{"database", func(ctx context.Context) (found string, err error) {
			if p.cfg.databaseURL == "" && !embedded.Exists(p.cfg.dataDir) {
				return "none yet; the first start makes a private one in " + p.cfg.dataDir, mayBeWritten(p.cfg.dataDir)
			}
			if db, err = openDatabase(ctx, p.cfg, p.errOut); err != nil {
				return "", err
			}
			if pool, err = pg.Open(ctx, db.url, pg.Options{MaxConns: 2, Application: "gatehouse doctor"}); err != nil {
				return "", err
			}
			err = pool.QueryRow(ctx, `select split_part(version(), ' on ', 1) || ', ' || pg_size_pretty(pg_database_size(current_database()))`).Scan(&found)
			return found, err
		}},
		{"schema", needs(&pool, schemaState)},
		{"seal key", func(ctx context.Context) (string, error) { return keyState(ctx, p.cfg, pool) }},
		{"hold", needs(&pool, holdState)},
		{"clock", needs(&pool, clockSkew)},
		{"search", needs(&pool, func(ctx context.Context, pool *pg.DB) (string, error) {
			engine, err := newEngine(p.cfg, pool)
			if err != nil {
				return "", err
			}
			err = engine.Check(ctx)
			if errors.Is(err, search.ErrNoIndex) {
				return engine.Name() + " answers; a running server makes its index", nil
			}
			return engine.Name() + " answers", err
		})},
	}
	sick := 0
	for _, e := range list {
		ctx, cancel := context.WithTimeout(ctx, time.Minute)
		found, err := e.look(ctx)
		cancel()
		if errors.Is(err, errNotLooked) {
			fmt.Fprintf(p.out, "%-9s -        not looked at: there is no database to ask\n", e.name)
			continue
		}
		if err != nil {
			sick++
			fmt.Fprintf(p.out, "%-9s PROBLEM  %v\n", e.name, err)
			continue
		}
		fmt.Fprintf(p.out, "%-9s ok       %s\n", e.name, found)
	}
	if sick > 0 {
		return fmt.Errorf("%d of %d need attention", sick, len(list))
	}
	return nil
}

// errNotLooked: what is asked of a database cannot be, and its line says why.
var errNotLooked = errors.New("not looked at")

// needs skips an examination when there is no database to ask.
func needs(pool **pg.DB, look func(context.Context, *pg.DB) (string, error)) func(context.Context) (string, error) {
	return func(ctx context.Context) (string, error) {
		if *pool == nil {
			return "", errNotLooked
		}
		return look(ctx, *pool)
	}
}

func schemaState(ctx context.Context, pool *pg.DB) (string, error) {
	have, err := pg.SchemaVersion(ctx, pool)
	if err != nil {
		return "", err
	}
	want, err := pg.NewestVersion(pg.Migrations)
	switch {
	case err != nil:
		return "", err
	case have == 0:
		return "empty; the first start creates it", nil
	case have > want:
		return "", fmt.Errorf("%w: version %d, this program knows %d; use the newer program", pg.ErrNewerSchema, have, want)
	case have < want:
		return "", fmt.Errorf("version %d, this program wants %d; run: gatehouse migrate", have, want)
	}
	return fmt.Sprintf("version %d", have), nil
}

func clockSkew(ctx context.Context, pool *pg.DB) (string, error) {
	before := time.Now()
	theirs, err := pg.Now(ctx, pool)
	if err != nil {
		return "", err
	}
	// The database read its clock somewhere within the round trip.
	skew := before.Add(time.Since(before) / 2).Sub(theirs).Round(time.Millisecond)
	if skew.Abs() > skewBound {
		return "", fmt.Errorf("this machine and the database differ by %s; set both clocks by NTP", skew)
	}
	return fmt.Sprintf("within %s of the database", max(skew.Abs(), time.Millisecond)), nil
}

func diskSpace(c config) (string, error) {
	spaces, err := instance.New(instance.Deps{Disks: disks(c)}).Spaces()
	if err != nil {
		return "", err
	}
	texts := make([]string, len(spaces))
	for i, s := range spaces {
		if s.Low {
			return "", fmt.Errorf("only %s; make room", s)
		}
		texts[i] = s.String()
	}
	return strings.Join(texts, ", "), nil
}
