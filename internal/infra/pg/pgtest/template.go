package pgtest

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/gatehouse-hq/gatehouse"
	"github.com/gatehouse-hq/gatehouse/internal/infra/jobs/river"
	"github.com/gatehouse-hq/gatehouse/internal/infra/pg"
)

// templateLock is the advisory lock under which one of all the test processes of a run makes the template. The number
// is arbitrary; the migrator's is another.
const templateLock = 0x7465_6d70_6c61_7465

// Plan is what the product brings its database to: its own schema and the queue's.
func Plan() pg.Plan {
	return pg.Plan{Current: gatehouse.Schema, Steps: pg.Migrations, Then: river.Migrate}
}

// ensureTemplate returns the name of the database that holds the plan's schema and makes it if it is not there. The name
// depends on everything that shapes it, so that a server used for many runs never serves an old one.
func ensureTemplate(ctx context.Context, server *pgx.Conn, plan pg.Plan) (string, error) {
	name, err := templateName(plan)
	if err != nil {
		return "", err
	}
	// Asked first without the lock: that is the answer for all tests but the first.
	if done, err := isTemplate(ctx, server, name); err != nil || done {
		return name, err
	}
	if _, err := server.Exec(ctx, `SELECT pg_advisory_lock($1)`, int64(templateLock)); err != nil {
		return "", fmt.Errorf("wait for the template: %w", err)
	}
	done, err := isTemplate(ctx, server, name)
	if err == nil && !done {
		err = makeTemplate(ctx, server, name, plan)
	}
	// Closing the connection after an error frees the lock as well.
	if _, unlock := server.Exec(ctx, `SELECT pg_advisory_unlock($1)`, int64(templateLock)); unlock != nil && err == nil {
		err = fmt.Errorf("let others have the template: %w", unlock)
	}
	return name, err
}

// isTemplate reports whether the finished template is there; one whose maker was killed does not bear the mark yet.
func isTemplate(ctx context.Context, server *pgx.Conn, name string) (bool, error) {
	var done bool
	err := server.QueryRow(ctx, `SELECT EXISTS (SELECT FROM pg_database WHERE datname = $1 AND datistemplate)`, name).Scan(&done)
	if err != nil {
		return false, fmt.Errorf("look for the template: %w", err)
	}
	return done, nil
}

func makeTemplate(ctx context.Context, server *pgx.Conn, name string, plan pg.Plan) error {
	for _, statement := range []string{
		"DROP DATABASE IF EXISTS " + name + " WITH (FORCE)", // half-made by a process that was killed
		"CREATE DATABASE " + name,
	} {
		if _, err := server.Exec(ctx, statement); err != nil {
			return fmt.Errorf("make the template: %w", err)
		}
	}
	address, err := inDatabase(server.Config().ConnString(), name)
	if err != nil {
		return err
	}
	if err := pg.Migrate(ctx, address, plan); err != nil {
		return fmt.Errorf("fill the template: %w", err)
	}
	// Without connections, so that a copy never meets one.
	if _, err := server.Exec(ctx, "ALTER DATABASE "+name+" WITH IS_TEMPLATE true ALLOW_CONNECTIONS false"); err != nil {
		return fmt.Errorf("finish the template: %w", err)
	}
	return nil
}

func templateName(plan pg.Plan) (string, error) {
	h := sha256.New()
	fmt.Fprintf(h, "%d\n%s", len(plan.Current), plan.Current)
	err := fs.WalkDir(plan.Steps, ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := fs.ReadFile(plan.Steps, path)
		fmt.Fprintf(h, "%s %d\n%s", path, len(text), text)
		return err
	})
	if err != nil {
		return "", fmt.Errorf("read the migrations: %w", err)
	}
	if err := writeShapers(h); err != nil {
		return "", fmt.Errorf("read what shapes the template: %w", err)
	}
	return "template_" + hex.EncodeToString(h.Sum(nil)[:10]), nil
}

// cloneStatement copies a template. Copying its files takes a fraction of the time of writing it through the log, the
// default since there has been a choice (PostgreSQL 15). serverVersion is as the server tells it: "15.18 (Debian …)".
func cloneStatement(serverVersion, name, template string) string {
	s := "CREATE DATABASE " + name + " TEMPLATE " + template
	major, _, _ := strings.Cut(serverVersion, ".")
	if n, err := strconv.Atoi(major); err == nil && n < 15 {
		return s
	}
	return s + " STRATEGY FILE_COPY"
}
