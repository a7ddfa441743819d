package pg

import (
	"context"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// A migration by a newer process may change what a prepared statement returns; each connection meets that once for each
// statement ("cached plan must not change result type"). The driver forgets the statement with the error, so that a second
// try prepares it anew. Nothing has happened by then: PostgreSQL refuses before it executes. InTx does the same for a
// whole transaction.

// Exec runs a statement, and once more after a stale plan.
func (db *DB) Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error) {
	tag, err := db.Pool.Exec(ctx, sql, args...)
	if isStalePlan(err) {
		return db.Pool.Exec(ctx, sql, args...)
	}
	return tag, err
}

// Query runs a query, and once more after a stale plan. It waits for the first row, which is when such an error shows.
func (db *DB) Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error) {
	rows, err := db.Pool.Query(ctx, sql, args...)
	if err != nil && !isStalePlan(err) {
		return rows, err
	}
	if err == nil {
		if peeked := peek(rows); peeked.first || !isStalePlan(rows.Err()) {
			return peeked, nil
		}
	}
	return db.Pool.Query(ctx, sql, args...)
}

// QueryRow runs a query for one row when it is scanned, and once more after a stale plan.
func (db *DB) QueryRow(ctx context.Context, sql string, args ...any) pgx.Row {
	return oneRow{ctx, db, sql, args}
}

// peekedRows are rows whose first Next has been called already.
type peekedRows struct {
	pgx.Rows
	first, told bool
}

func peek(rows pgx.Rows) *peekedRows { return &peekedRows{Rows: rows, first: rows.Next()} }

func (r *peekedRows) Next() bool {
	if !r.told {
		r.told = true
		return r.first
	}
	return r.Rows.Next()
}

type oneRow struct {
	ctx  context.Context // of the one call, between QueryRow and Scan
	db   *DB
	sql  string
	args []any
}

func (r oneRow) Scan(dest ...any) error {
	err := r.db.Pool.QueryRow(r.ctx, r.sql, r.args...).Scan(dest...)
	if isStalePlan(err) {
		err = r.db.Pool.QueryRow(r.ctx, r.sql, r.args...).Scan(dest...)
	}
	return err
}
