package pgtest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/gatehouse-hq/gatehouse/internal/infra/pg/embedded"
)

// The environment through which a run shares one cluster among its test processes.
const (
	// EnvURL is a database whose role may create databases; it owns those it creates.
	EnvURL = "GATEHOUSE_TEST_DATABASE_URL"
	// EnvAdminURL is the superuser of the same cluster, for what only that may do (extensions, CHECKPOINT). Tests of
	// what the product does never need it: in production there is none.
	EnvAdminURL = "GATEHOUSE_TEST_ADMIN_URL"
)

// Cluster is a private PostgreSQL for tests: quick, and gone afterwards.
type Cluster struct {
	config   embedded.Config
	private  *embedded.Cluster
	watchdog *watchdog
}

// fastSettings give up what only matters after a power cut; max_connections serves all packages of a run at once.
func fastSettings() map[string]string {
	return map[string]string{
		"fsync":              "off",
		"full_page_writes":   "off",
		"synchronous_commit": "off",
		"wal_level":          "minimal",
		"max_wal_senders":    "0",
		"max_connections":    "400",
	}
}

// DurableSettings take back what fastSettings give up.
func DurableSettings() map[string]string {
	return map[string]string{"fsync": "on", "full_page_writes": "on", "synchronous_commit": "on", "wal_level": "replica"}
}

// StartCluster starts a cluster in a temporary directory. Settings go over the fast ones, env
// is added to PostgreSQL's environment. When this process ends
// without Stop, even by SIGKILL, the cluster is stopped and its directory removed all the same.
func StartCluster(ctx context.Context, settings map[string]string, env ...string) (*Cluster, error) {
	dir, err := os.MkdirTemp("", "gatehouse-test-")
	if err != nil {
		return nil, fmt.Errorf("make a directory for the test cluster: %w", err)
	}
	// As root PostgreSQL runs as another user, who has to pass through.
	if err := os.Chmod(dir, 0o711); err != nil {
		return nil, fmt.Errorf("open the directory of the test cluster: %w", err)
	}
	dog, err := watch(dir)
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	all := fastSettings()
	maps.Copy(all, settings)
	c := &Cluster{config: embedded.Config{DataDir: dir, Settings: all, Env: env}, watchdog: dog}
	if c.private, err = embedded.Start(ctx, c.config); err != nil {
		return nil, errors.Join(fmt.Errorf("start a test cluster: %w", err), dog.dismiss())
	}
	if err := c.allowDatabases(ctx); err != nil {
		return nil, errors.Join(err, c.Stop(ctx))
	}
	return c, nil
}

// allowDatabases lets the application's role create databases, which in production it may not.
func (c *Cluster) allowDatabases(ctx context.Context) error {
	admin, err := pgx.Connect(ctx, c.AdminURL())
	if err != nil {
		return fmt.Errorf("sign in to the test cluster: %w", err)
	}
	defer admin.Close(ctx)
	if _, err := admin.Exec(ctx, "ALTER ROLE gatehouse CREATEDB"); err != nil {
		return fmt.Errorf("let tests create databases: %w", err)
	}
	return nil
}

// URL is what EnvURL is to hold.
func (c *Cluster) URL() string { return c.private.URL() }

// AdminURL is what EnvAdminURL is to hold.
func (c *Cluster) AdminURL() string { return c.private.AdminURL() }

// Env is both variables, as os/exec takes them.
func (c *Cluster) Env() []string {
	return []string{EnvURL + "=" + c.URL(), EnvAdminURL + "=" + c.AdminURL()}
}

// Hurt sends PostgreSQL itself a signal that ends it (SIGINT: fast, SIGQUIT: without saving anything, SIGKILL) and waits
// for its end.
func (c *Cluster) Hurt(ctx context.Context, sig syscall.Signal) error {
	pid := c.private.Process()
	if err := syscall.Kill(pid, sig); err != nil {
		return fmt.Errorf("end PostgreSQL: %w", err)
	}
	// Our child: gone once it has been waited for, which the cluster does.
	for syscall.Kill(pid, 0) == nil {
		select {
		case <-ctx.Done():
			return fmt.Errorf("PostgreSQL does not end: %w", ctx.Err())
		case <-time.After(5 * time.Millisecond):
		}
	}
	return nil
}

// Again starts PostgreSQL after Hurt, at the same address.
func (c *Cluster) Again(ctx context.Context) error {
	for {
		next, err := embedded.Start(ctx, c.config)
		if err == nil {
			before := c.private
			c.private = next
			return before.Stop(ctx) // only leaves: the next one uses it now
		}
		// Backends of a killed PostgreSQL may still be on their way out.
		select {
		case <-ctx.Done():
			return err
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// Stop shuts the cluster down and removes its directory.
func (c *Cluster) Stop(ctx context.Context) error {
	return errors.Join(c.private.Stop(ctx), c.watchdog.dismiss())
}
