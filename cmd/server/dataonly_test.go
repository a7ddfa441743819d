package main

import (
	"context"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/gatehouse-hq/gatehouse/internal/infra/pg/embedded"
	"github.com/gatehouse-hq/gatehouse/internal/infra/pg/pgtest"
)

// Field case F06 and the guide's page Restore: data that is loaded into a schema that stands already makes no event, in
// either of the two ways PostgreSQL has for it, and the rows arrive as they were.
func TestLoadingDataAloneMakesNoEvents(t *testing.T) {
	t.Parallel()
	from := newSite(t, pgtest.URL(t))
	from.fill()
	var before string
	from.inside(func(a *app) { before = ledger(t, a) })
	dump := filepath.Join(t.TempDir(), "data.dump")
	runClient(t, "pg_dump", nil, from.env["DATABASE_URL"], "--format=custom", "--data-only", "--load-via-partition-root", "--file="+dump)

	for name, load := range map[string]func(url string){
		"by the session setting": func(to string) {
			runClient(t, "pg_restore", []string{"PGOPTIONS=-c gatehouse.quiet_triggers=on"}, to, "--data-only", "--no-owner", "--exit-on-error", dump)
		},
		"without triggers": func(to string) {
			runClient(t, "pg_restore", nil, asSuperuser(t, to), "--data-only", "--no-owner", "--disable-triggers", "--exit-on-error", dump)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			to := newSite(t, pgtest.URL(t))
			conn, err := pgx.Connect(t.Context(), to.env["DATABASE_URL"])
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = conn.Close(context.Background()) }()
			// What the guide says to empty first: a new schema's own rows.
			if _, err := conn.Exec(t.Context(), `delete from owners; delete from schema_stamp; delete from river.river_migration;`); err != nil {
				t.Fatal(err)
			}
			load(to.env["DATABASE_URL"])
			to.inside(func(a *app) {
				if after := ledger(t, a); after != before {
					t.Errorf("the content differs:\n%s\n%s", before, after)
				}
				if err := a.recognise(t.Context(), ""); err != nil {
					t.Fatal(err)
				}
				if h, err := a.instance.Current(t.Context()); err != nil || h == nil {
					t.Errorf("it was not recognised: %v", err)
				}
			})
		})
	}
	if page := manual(t, "Running/Restore.md"); !strings.Contains(page, "gatehouse.quiet_triggers=on") || !strings.Contains(page, "--load-via-partition-root") {
		t.Error("the guide does not say how")
	}
}

// asSuperuser is the address of the same database for the role that may switch triggers off.
func asSuperuser(t *testing.T, address string) string {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	admin, err := url.Parse(os.Getenv(pgtest.EnvAdminURL))
	if err != nil {
		t.Fatal(err)
	}
	admin.Path = u.Path
	return admin.String()
}

func runClient(t *testing.T, name string, env []string, address string, args ...string) {
	t.Helper()
	path, _, err := embedded.Client(t.Context(), name, 14)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), path, append(args, "--dbname="+address)...)
	cmd.Env = append(os.Environ(), env...)
	if said, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", name, err, said)
	}
}
