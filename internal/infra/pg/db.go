package pg

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

// Querier runs statements. Both a pool and a transaction are one, so that a
// store does not care which it is bound to.
type Querier interface {
	Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error)
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
	SendBatch(ctx context.Context, b *pgx.Batch) pgx.BatchResults
	CopyFrom(ctx context.Context, table pgx.Identifier, columns []string, src pgx.CopyFromSource) (int64, error)
}

// DB is the pool of one process. Its zero value is not usable; see Open.
type DB struct {
	*pgxpool.Pool
}

// Options are the choices a process makes about its pool.
type Options struct {
	// MaxConns is the size of the pool. Half of it is the most that queues and
	// the relay may hold at once; the rest is the visitors' reserve.
	MaxConns int32
	// Application is shown in pg_stat_activity, so that an operator can tell
	// which process holds a connection.
	Application string
}

// lockTimeout is how long a statement of the pool waits for a lock. Our own transactions are over long before; one that
// somebody left open in a terminal would otherwise take connection after connection, and the visitors' reserve at last.
const lockTimeout = "8s"

// connectTimeout bounds one try to connect: a link that swallows packets says nothing by itself.
const connectTimeout = 5 * time.Second

// Open connects a pool to url and proves it with one round trip. The
// statement cache is on; "cached plan" errors after a migration by a newer
// process are met with a second try (stale.go, InTx; field case F57).
func Open(ctx context.Context, url string, o Options) (*DB, error) {
	cfg, err := pgxpool.ParseConfig(url)
	if err != nil {
		return nil, unreached(err)
	}
	if o.MaxConns > 0 {
		cfg.MaxConns = o.MaxConns
	}
	if o.Application != "" {
		cfg.ConnConfig.RuntimeParams["application_name"] = o.Application
	}
	cfg.ConnConfig.RuntimeParams["timezone"] = "UTC"
	cfg.ConnConfig.ConnectTimeout = connectTimeout
	cfg.MaxConnIdleTime = 5 * time.Minute
	cfg.AfterConnect = func(ctx context.Context, conn *pgx.Conn) error {
		if err := recentEnough(conn.PgConn()); err != nil {
			return err
		}
		// A statement of its own and not a start-up parameter: poolers refuse those they do not know.
		_, err := conn.Exec(ctx, "set lock_timeout = '"+lockTimeout+"'")
		return err
	}
	pool, err := pgxpool.NewWithConfig(ctx, cfg)
	if err != nil {
		return nil, fmt.Errorf("open database pool: %w", scrub(err))
	}
	if err := pool.Ping(ctx); err != nil {
		pool.Close()
		return nil, unreached(err)
	}
	return &DB{Pool: pool}, nil
}

// Now is the database's clock. Everything that orders things by time uses it,
// so that the clocks of several processes need not agree.
func Now(ctx context.Context, q Querier) (time.Time, error) {
	var t time.Time
	err := q.QueryRow(ctx, `select clock_timestamp()`).Scan(&t)
	return t, err
}
