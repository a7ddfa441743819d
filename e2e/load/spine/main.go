// Command spine measures the path from a saved note to a visitor's search, on
// the built binary and a real PostgreSQL (DATABASE_URL, an empty database):
//
//	go run ./scripts/testcluster -durable -- go run ./e2e/load/spine
//
// It prints medians and ratios. It never fails because of a time.
package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/gatehouse-hq/gatehouse/e2e/blackbox"
	"github.com/gatehouse-hq/gatehouse/internal/infra/pg/pgtest"
)

func main() {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute)
	defer cancel()
	if err := run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// bench is one run: a fresh database and one server on it.
type bench struct {
	pool   *pgxpool.Pool
	server *blackbox.Server
	owner  *blackbox.Owner
	dir    string
	table  []row
}

// row is one figure with its bar.
type row struct{ what, measured, bar string }

func (b *bench) add(what, bar, format string, a ...any) {
	b.table = append(b.table, row{what, fmt.Sprintf(format, a...), bar})
}

func run(ctx context.Context) (err error) {
	b := &bench{}
	if b.dir, err = os.MkdirTemp("", "gatehouse-bench"); err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(b.dir) }()
	url, drop, err := freshDatabase(ctx)
	if err != nil {
		return err
	}
	defer drop()
	binary := filepath.Join(b.dir, "gatehouse")
	if err := blackbox.Build(".", binary); err != nil {
		return err
	}
	if b.server, err = blackbox.Prepare(binary, url, b.dir); err != nil {
		return err
	}
	defer b.server.Signal(syscall.SIGKILL)
	if b.pool, err = pgxpool.New(ctx, url); err != nil {
		return err
	}
	defer b.pool.Close()
	for _, step := range []func(context.Context) error{
		b.starts, b.memoryIdle, b.savedToFound, b.fannedOut, b.importMany, b.writers,
	} {
		if err := step(ctx); err != nil {
			return fmt.Errorf("%w\nthe server said:\n%s", err, b.server.Log(2000))
		}
	}
	fmt.Printf("| figure | measured | bar |\n|---|---|---|\n")
	for _, r := range b.table {
		fmt.Printf("| %s | %s | %s |\n", r.what, r.measured, r.bar)
	}
	return nil
}

// freshDatabase makes an empty database on the cluster that testcluster named.
func freshDatabase(ctx context.Context) (url string, drop func(), err error) {
	base := os.Getenv(pgtest.EnvURL)
	if base == "" {
		return "", nil, fmt.Errorf("%s is not set: run through scripts/testcluster", pgtest.EnvURL)
	}
	return createDatabase(ctx, base)
}
