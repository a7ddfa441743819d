package lab

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// Database is one scenario's own.
type Database struct {
	URL    string
	name   string
	server string
	admin  *pgx.Conn // reads what only a superuser may; not for several goroutines
}

// Drop removes the database, whoever is still connected.
func (d *Database) Drop() {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	_ = d.admin.Close(ctx)
	server, err := pgx.Connect(ctx, d.server)
	if err != nil {
		return // the cluster goes away with the run
	}
	defer func() { _ = server.Close(ctx) }()
	_, _ = server.Exec(ctx, "drop database "+d.name+" with (force)")
}

// Exec runs statements that set the stage. They are not counted if
// ResetStatements follows.
func (d *Database) Exec(ctx context.Context, sql string, args ...any) error {
	_, err := d.admin.Exec(ctx, sql, args...)
	if err != nil {
		return fmt.Errorf("%.60s: %w", sql, err)
	}
	return nil
}

// Count runs a query that answers one number.
func (d *Database) Count(ctx context.Context, sql string, args ...any) (n float64, err error) {
	if err := d.admin.QueryRow(ctx, sql, args...).Scan(&n); err != nil {
		return 0, fmt.Errorf("%.60s: %w", sql, err)
	}
	return n, nil
}

// here are the statements of this database, those of our own looks left out.
const here = `pg_stat_statements where dbid = (select oid from pg_database where datname = current_database())
  and userid <> (select oid from pg_roles where rolname = current_user)`

// ResetStatements begins the count anew.
func (d *Database) ResetStatements(ctx context.Context) error {
	return d.Exec(ctx, `select pg_stat_statements_reset()`)
}

// Statements is how many statements were run since the reset, without those
// that only begin and end transactions, and how long they took inside the server.
func (d *Database) Statements(ctx context.Context) (calls float64, took time.Duration, err error) {
	var ms float64
	err = d.admin.QueryRow(ctx, `select coalesce(sum(calls), 0)::float8, coalesce(sum(total_exec_time), 0) from `+here+`
  and query !~* '^(begin|commit|rollback|create|alter)'`).Scan(&calls, &ms)
	return calls, time.Duration(ms * float64(time.Millisecond)), err
}

// PerCall is what the server spent on average on the statements whose text
// holds part: time, and pages of its tables and indexes looked at. The pages do
// not depend on who else keeps the machine busy.
func (d *Database) PerCall(ctx context.Context, part string) (took time.Duration, pages float64, err error) {
	var calls, ms float64
	err = d.admin.QueryRow(ctx, `
select coalesce(sum(calls), 0)::float8, coalesce(sum(total_exec_time) / nullif(sum(calls), 0), 0),
  coalesce((sum(shared_blks_hit + shared_blks_read) / nullif(sum(calls), 0))::float8, 0) from `+here+`
  and query like '%' || $1 || '%'`, part).Scan(&calls, &ms, &pages)
	if err == nil && calls == 0 {
		err = fmt.Errorf("no statement holds %q", part)
	}
	return time.Duration(ms * float64(time.Millisecond)), pages, err
}

// PrintStatements shows the costliest.
func (d *Database) PrintStatements(ctx context.Context) error {
	rows, err := d.admin.Query(ctx, `
select calls, round(total_exec_time)::text, rows, left(regexp_replace(query, '\s+', ' ', 'g'), 150) from `+here+` order by total_exec_time desc limit 14`)
	if err != nil {
		return err
	}
	var calls, n int64
	var took, text string
	_, err = pgx.ForEachRow(rows, []any{&calls, &took, &n, &text}, func() error {
		fmt.Printf("    %8d calls %8s ms %9d rows  %s\n", calls, took, n, text)
		return nil
	})
	return err
}

// Settled waits until no delivery is open.
func (d *Database) Settled(ctx context.Context) error {
	for ctx.Err() == nil {
		var open bool
		if err := d.admin.QueryRow(ctx, `select exists (select from webhook_deliveries where state = 'waiting')`).Scan(&open); err != nil || !open {
			return err
		}
		time.Sleep(20 * time.Millisecond)
	}
	return ctx.Err()
}

// JobUpdates is how often rows of the queue were updated.
func (d *Database) JobUpdates(ctx context.Context) (n float64, err error) {
	err = d.admin.QueryRow(ctx, `select pg_stat_force_next_flush()::text, n_tup_upd::float8 from pg_stat_user_tables where schemaname = 'river' and relname = 'river_job'`).Scan(nil, &n)
	return n, err
}

// Snoozes is how often deliveries were put off, as their rows tell; the rows of
// a scenario that has just ended are all still there.
func (d *Database) Snoozes(ctx context.Context) (float64, error) {
	return d.Count(ctx, `select coalesce(sum((metadata ->> 'snoozed')::bigint), 0)::float8 from river.river_job where kind = 'webhook.deliver'`)
}
