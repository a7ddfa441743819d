package pgtest

import (
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/gatehouse-hq/gatehouse/internal/infra/pg"
)

// New gives the test a migrated, otherwise empty database of its own, which goes away with the test. The pool has 16
// connections. A connection still in use when the test ends fails the test: in the product it would be lost for good.
func New(t testing.TB) *pg.DB {
	t.Helper()
	db, err := pg.Open(t.Context(), URL(t), pg.Options{MaxConns: 16, Application: t.Name()})
	if err != nil {
		t.Fatalf("pgtest: %v", err)
	}
	t.Cleanup(func() {
		closed := make(chan struct{})
		go func() {
			defer close(closed)
			db.Close()
		}()
		select {
		case <-closed:
		case <-time.After(5 * time.Second):
			t.Errorf("pgtest: %d connections were not given back by the end of the test", db.Stat().AcquiredConns())
		}
	})
	return db
}

// URL is New for a test that opens the database itself, or hands it to a second process.
func URL(t testing.TB) string {
	t.Helper()
	return create(t, func(ctx context.Context, server *pgx.Conn) (string, error) {
		return ensureTemplate(ctx, server, Plan())
	})
}

// Empty gives the test a database of its own without any schema, for tests of the migrator.
func Empty(t testing.TB) string {
	t.Helper()
	return create(t, func(context.Context, *pgx.Conn) (string, error) { return "template1", nil })
}

// create makes a database from a template and drops it with the test, whoever is still connected.
func create(t testing.TB, template func(context.Context, *pgx.Conn) (string, error)) string {
	t.Helper()
	address := os.Getenv(EnvURL)
	if address == "" {
		t.Fatalf("pgtest: %s is not set: let the package's TestMain call pgtest.Main", EnvURL)
	}
	name := "test_" + strings.ToLower(rand.Text())
	err := onServer(t.Context(), address, func(ctx context.Context, server *pgx.Conn) error {
		from, err := template(ctx, server)
		if err != nil {
			return err
		}
		_, err = server.Exec(ctx, cloneStatement(server.PgConn().ParameterStatus("server_version"), name, from))
		return err
	})
	if err != nil {
		t.Fatalf("pgtest: make a database: %v", err)
	}
	t.Cleanup(func() {
		// The test's own context has ended by now. FORCE ends every connection, among them an autovacuum worker's, which
		// only a superuser may end.
		err := onServer(context.Background(), cmp.Or(os.Getenv(EnvAdminURL), address), func(ctx context.Context, server *pgx.Conn) error {
			_, err := server.Exec(ctx, "DROP DATABASE IF EXISTS "+name+" WITH (FORCE)")
			return err
		})
		if err != nil {
			t.Errorf("pgtest: drop the database: %v", err)
		}
	})
	made, err := inDatabase(address, name)
	if err != nil {
		t.Fatalf("pgtest: %v", err)
	}
	return made
}

// onServer does something on a connection of its own, within two minutes: many tests at once wait for each other.
func onServer(ctx context.Context, address string, do func(context.Context, *pgx.Conn) error) error {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	conn, err := pgx.Connect(ctx, address)
	if err != nil {
		return err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	return do(ctx, conn)
}

// inDatabase is the address of another database of the same server.
func inDatabase(server, name string) (string, error) {
	u, err := url.Parse(server)
	if err != nil {
		return "", fmt.Errorf("%s is not an address like postgres://user:password@host/database", EnvURL)
	}
	u.Path = "/" + name
	return u.String(), nil
}
