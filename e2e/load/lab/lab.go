// Package lab gives benchmarks what they run on: a PostgreSQL that keeps its
// promises on disk, databases of their own on it, what the server counted, and
// receivers.
package lab

import (
	"context"
	"crypto/rand"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/gatehouse-hq/gatehouse/e2e/blackbox"
	"github.com/gatehouse-hq/gatehouse/internal/infra/pg/pgtest"
)

// Lab is one run's PostgreSQL, built binary and amounts.
type Lab struct {
	Binary  string
	Version string // of PostgreSQL
	Rounds  int    // of figures that are measured several times
	Workers int    // of both webhook queues
	SQL     bool   // print the costliest statements of each scenario
	scale   float64
	dir     string
	cluster *pgtest.Cluster
}

// Options are what the command line says.
type Options struct {
	Scale   float64
	Rounds  int
	Workers int
	SQL     bool
}

// Open starts PostgreSQL and builds the binary from root, the checkout.
func Open(ctx context.Context, root string, o Options) (l *Lab, err error) {
	l = &Lab{Rounds: max(1, o.Rounds), Workers: o.Workers, SQL: o.SQL, scale: o.Scale}
	defer func() {
		if err != nil {
			l.Close()
		}
	}()
	if l.dir, err = os.MkdirTemp("", "gatehouse-bench"); err != nil {
		return l, err
	}
	l.Binary = filepath.Join(l.dir, "gatehouse")
	if err := blackbox.Build(root, l.Binary); err != nil {
		return l, err
	}
	settings := pgtest.DurableSettings()
	settings["shared_preload_libraries"] = "pg_stat_statements"
	settings["max_connections"] = "200"
	if l.cluster, err = pgtest.StartCluster(ctx, settings); err != nil {
		return l, err
	}
	conn, err := pgx.Connect(ctx, l.cluster.URL())
	if err != nil {
		return l, fmt.Errorf("reach the cluster: %w", err)
	}
	l.Version, _, _ = strings.Cut(conn.PgConn().ParameterStatus("server_version"), " ")
	return l, conn.Close(ctx)
}

// Close stops PostgreSQL and removes everything.
func (l *Lab) Close() {
	if l.cluster != nil {
		_ = l.cluster.Stop(context.Background()) // its watchdog removes what is left
	}
	_ = os.RemoveAll(l.dir)
}

// N is an amount at the run's scale, never none.
func (l *Lab) N(full int) int { return max(1, int(float64(full)*l.scale)) }

// Dir makes a folder that goes away with the lab.
func (l *Lab) Dir(name string) (string, error) {
	return os.MkdirTemp(l.dir, name)
}

// Database makes an empty database with statistics of its statements.
func (l *Lab) Database(ctx context.Context) (*Database, error) {
	d := &Database{name: "bench_" + strings.ToLower(rand.Text())}
	server, err := pgx.Connect(ctx, l.cluster.URL())
	if err != nil {
		return nil, fmt.Errorf("reach the cluster: %w", err)
	}
	defer func() { _ = server.Close(ctx) }()
	if _, err := server.Exec(ctx, "create database "+d.name); err != nil {
		return nil, fmt.Errorf("create a database: %w", err)
	}
	d.URL, d.server = at(l.cluster.URL(), d.name), l.cluster.AdminURL()
	if d.admin, err = pgx.Connect(ctx, at(l.cluster.AdminURL(), d.name)); err != nil {
		return nil, fmt.Errorf("reach the database: %w", err)
	}
	if _, err := d.admin.Exec(ctx, "create extension pg_stat_statements"); err != nil {
		d.Drop()
		return nil, fmt.Errorf("count statements: %w", err)
	}
	return d, nil
}

func at(server, database string) string {
	u, err := url.Parse(server)
	if err != nil {
		return server
	}
	u.Path = "/" + database
	return u.String()
}
