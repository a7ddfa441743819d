package pg

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"sort"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"
)

// ErrNewerSchema: the database was migrated by a newer program. Serving it with
// older code could lose data, so the program refuses and names both versions.
var ErrNewerSchema = errors.New("database schema is newer than this program")

// migrateLock is the advisory lock that lets one migrator work at a time; the
// others wait and then find nothing to do. The number is arbitrary and stable.
const migrateLock = 0x6761_7465_686f_7573

// Plan is the schema a program wants: Current for an empty database, Steps
// (files NNNN_name.sql) for one that holds an older version.
type Plan struct {
	Current string
	Steps   fs.FS
	// Then runs under the same lock after our own schema is in place (River's
	// migrator, which keeps its own ledger).
	Then func(ctx context.Context, url string) error
}

// Migrate brings the database at url to the plan's newest version. Each step
// is one transaction with its stamp: killed at any point, the database is as
// before or one step further, and the next start goes on.
func Migrate(ctx context.Context, url string, p Plan) error {
	steps, err := readSteps(p.Steps)
	if err != nil {
		return err
	}
	return Exclusively(ctx, url, func(ctx context.Context, conn *pgx.Conn) error {
		if err := climb(ctx, conn, p.Current, steps); err != nil || p.Then == nil {
			return err
		}
		return p.Then(ctx, url)
	})
}

// climb takes the steps that are missing. The caller holds the lock.
func climb(ctx context.Context, conn *pgx.Conn, current string, steps []step) error {
	version, err := schemaVersion(ctx, conn)
	if err != nil {
		return err
	}
	newest := steps[len(steps)-1].version
	switch {
	case version > newest:
		return fmt.Errorf("%w: it holds version %d and this program knows %d; start the newer program, or restore a backup made before the upgrade", ErrNewerSchema, version, newest)
	case version == 0:
		if err := apply(ctx, conn, current, newest); err != nil {
			return fmt.Errorf("create schema: %w", err)
		}
	default:
		for _, s := range steps {
			if s.version <= version {
				continue
			}
			if err := apply(ctx, conn, s.sql, s.version); err != nil {
				return fmt.Errorf("migrate to version %d (%s): %w", s.version, s.name, err)
			}
		}
	}
	return nil
}

// SchemaVersion is the version stamped in the database; 0 means empty.
func SchemaVersion(ctx context.Context, q Querier) (int, error) { return schemaVersion(ctx, q) }

// NewestVersion is the version a program with these steps wants.
func NewestVersion(steps fs.FS) (int, error) {
	s, err := readSteps(steps)
	if err != nil {
		return 0, err
	}
	return s[len(s)-1].version, nil
}

type rowQuerier interface {
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
}

func schemaVersion(ctx context.Context, q rowQuerier) (int, error) {
	var exists bool
	if err := q.QueryRow(ctx, `select to_regclass('public.schema_stamp') is not null`).Scan(&exists); err != nil {
		return 0, fmt.Errorf("look for the schema stamp: %w", err)
	}
	if !exists {
		return 0, nil
	}
	var v int
	if err := q.QueryRow(ctx, `select version from public.schema_stamp`).Scan(&v); err != nil {
		return 0, fmt.Errorf("read the schema stamp: %w", err)
	}
	return v, nil
}

type step struct {
	version int
	name    string
	sql     string
}

func readSteps(dir fs.FS) ([]step, error) {
	names, err := fs.Glob(dir, "migrations/*.sql")
	if err != nil || len(names) == 0 {
		return nil, fmt.Errorf("no migrations in the program: %w", err)
	}
	sort.Strings(names)
	var steps []step
	for _, n := range names {
		base := strings.TrimSuffix(n[strings.LastIndex(n, "/")+1:], ".sql")
		num, _, _ := strings.Cut(base, "_")
		v, err := strconv.Atoi(num)
		if err != nil || v != len(steps)+1 {
			return nil, fmt.Errorf("migration %s: want number %04d", n, len(steps)+1)
		}
		b, err := fs.ReadFile(dir, n)
		if err != nil {
			return nil, err
		}
		steps = append(steps, step{version: v, name: base, sql: string(b)})
	}
	return steps, nil
}

// apply runs sql and the stamp in one transaction (the simple protocol wraps a
// multi-statement string, and begin/commit make it explicit).
func apply(ctx context.Context, conn *pgx.Conn, sql string, version int) error {
	stamp := fmt.Sprintf(`
insert into public.schema_stamp (version) values (%d)
on conflict (one) do update set version = excluded.version, applied_at = clock_timestamp();`, version)
	_, err := conn.Exec(ctx, "begin;\n"+sql+"\n;"+stamp+"\ncommit;")
	if err != nil {
		_, rerr := conn.Exec(context.WithoutCancel(ctx), "rollback")
		return errors.Join(err, rerr)
	}
	return nil
}
