package pg

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// Exclusively runs fn while no other program migrates the database at url: one that starts meanwhile waits, and then finds
// what fn has left. fn gets the connection that holds the lock.
func Exclusively(ctx context.Context, url string, fn func(ctx context.Context, conn *pgx.Conn) error) (err error) {
	cfg, err := pgx.ParseConfig(url)
	if err != nil {
		return unreached(err)
	}
	if cfg.ConnectTimeout == 0 {
		cfg.ConnectTimeout = connectTimeout
	}
	conn, err := pgx.ConnectConfig(ctx, cfg)
	if err != nil {
		return unreached(err)
	}
	defer func() {
		end, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
		defer cancel()
		err = errors.Join(notAllowed(err, conn.Config()), conn.Close(end)) // closing also frees the lock
	}()
	if err := recentEnough(conn.PgConn()); err != nil {
		return err
	}
	if _, err := conn.Exec(ctx, `select pg_advisory_lock($1)`, int64(migrateLock)); err != nil {
		return fmt.Errorf("wait for the migration lock: %w", err)
	}
	return fn(ctx, conn)
}
