package main

import (
	"context"
	"fmt"
	"io"
	"time"

	gatehouse "github.com/gatehouse-hq/gatehouse"
	"github.com/gatehouse-hq/gatehouse/internal/domain/tasks"
	"github.com/gatehouse-hq/gatehouse/internal/infra/jobs/river"
	"github.com/gatehouse-hq/gatehouse/internal/infra/pg"
	"github.com/gatehouse-hq/gatehouse/internal/infra/pg/embedded"
)

// database is where this process's rows live: the operator's server, or the
// private cluster.
type database struct {
	url     string
	cluster *embedded.Cluster // nil when DATABASE_URL names a server
}

func openDatabase(ctx context.Context, c config, say io.Writer) (*database, error) {
	if c.databaseURL != "" {
		return &database{url: c.databaseURL}, nil
	}
	cluster, err := embedded.Start(ctx, embedded.Config{DataDir: c.dataDir, Log: say})
	if err != nil {
		return nil, err
	}
	return &database{url: cluster.URL(), cluster: cluster}, nil
}

// notThere is an error when a private database would have to be made first, for a command that means one that is there.
func notThere(c config) error {
	if c.databaseURL != "" || embedded.Exists(c.dataDir) {
		return nil
	}
	return fmt.Errorf("there is no Gatehouse in %s yet: set GATEHOUSE_DATA_DIR, or DATABASE_URL, to what the site uses", c.dataDir)
}

// close leaves the private cluster; the last user of it stops it.
func (d *database) close() error {
	if d.cluster == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	return d.cluster.Stop(ctx)
}

// diedNews is how long the panel tells that the private database died.
const diedNews = 24 * time.Hour

// databaseAlerts tells the page of tasks when the private database died and was started again: nothing is lost then, but
// it does not happen for no reason.
func (a *app) databaseAlerts(context.Context) ([]tasks.Reason, error) {
	if a.database.cluster == nil {
		return nil, nil
	}
	h := a.database.cluster.History()
	if h.Ends == 0 || time.Since(h.LastEnd) > diedNews {
		return nil, nil
	}
	times := "once"
	if h.Ends > 1 {
		times = fmt.Sprintf("%d times", h.Ends)
	}
	return []tasks.Reason{{Code: "database_died", Verdict: tasks.Attention, Title: "The private database died and was started again",
		Evidence: fmt.Sprintf("It ended %s since this process started, the last time at %s. What was committed is there.", times, h.LastEnd.UTC().Format("2006-01-02 15:04 UTC")),
		Next:     "See the end of postgres/postgres.log in the data directory, and whether memory or disk ran out. This notice goes away after a day.", Link: "/admin/"}}, nil
}

func (d *database) migrate(ctx context.Context) error {
	return pg.Migrate(ctx, d.url, pg.Plan{Current: gatehouse.Schema, Steps: pg.Migrations, Then: river.Migrate})
}

func migrateOnly(ctx context.Context, p *program, args []string) (err error) {
	if len(args) > 0 {
		return errUsage
	}
	db, err := openDatabase(ctx, p.cfg, p.errOut)
	if err != nil {
		return err
	}
	defer func() { err = orFirst(err, db.close()) }()
	if err := db.migrate(ctx); err != nil {
		return err
	}
	newest, err := pg.NewestVersion(pg.Migrations)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(p.out, "The database is at schema version %d.\n", newest)
	return err
}

// orFirst keeps the error that came first: what follows it is mostly its echo.
func orFirst(first, later error) error {
	if first != nil {
		return first
	}
	return later
}
