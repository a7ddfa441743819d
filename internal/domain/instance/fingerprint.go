package instance

import (
	"context"
	"fmt"

	"github.com/gatehouse-hq/gatehouse/internal/infra/pg"
)

// fingerprint is what tells one database from a copy of it. System and Timeline are nil where the role may not ask.
type fingerprint struct {
	System, Timeline *int64
	Database, Events int64
}

// readFingerprint asks the server. blind names what could not be asked, for the log.
func readFingerprint(ctx context.Context, q pg.Querier) (f fingerprint, blind []string, err error) {
	err = q.QueryRow(ctx, `
select d.oid::bigint, 'public.events'::regclass::oid::bigint from pg_catalog.pg_database d where d.datname = current_database()`).Scan(&f.Database, &f.Events)
	if err != nil {
		return f, nil, fmt.Errorf("ask which database this is: %w", err)
	}
	// Managed servers may keep these to themselves; the rest then has to do.
	asks := []struct {
		name, sql string
		to        **int64
	}{
		{"system identifier", `select system_identifier from pg_catalog.pg_control_system()`, &f.System},
		{"timeline", `select ('x' || substr(pg_catalog.pg_walfile_name(pg_catalog.pg_current_wal_lsn()), 1, 8))::bit(32)::bigint`, &f.Timeline},
	}
	for _, a := range asks {
		var n int64
		switch err := q.QueryRow(ctx, a.sql).Scan(&n); {
		case err == nil:
			*a.to = &n
		case pg.Unavailable(err) || ctx.Err() != nil:
			return f, nil, fmt.Errorf("ask for the server's %s: %w", a.name, err)
		default:
			blind = append(blind, a.name)
		}
	}
	return f, blind, nil
}

// differs says in words how the database that remembers was is another one, or is empty.
func (f fingerprint) differs(was fingerprint) string {
	other := func(a, b *int64) bool { return a != nil && b != nil && *a != *b }
	switch {
	case other(f.System, was.System):
		return "it is on another PostgreSQL server than before"
	case f.Database != was.Database:
		return "it is another database than before"
	case f.Events != was.Events:
		return "its tables were made anew"
	case other(f.Timeline, was.Timeline):
		return "its server was recovered to a point in time, or a standby has taken over"
	}
	return ""
}
