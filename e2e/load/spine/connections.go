package main

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
)

// connections opens n of them beforehand: opening is not what is measured.
func connections(ctx context.Context, cfg *pgx.ConnConfig, n int) ([]*pgx.Conn, error) {
	var out []*pgx.Conn
	for range n {
		c, err := pgx.ConnectConfig(ctx, cfg.Copy())
		if err != nil {
			return nil, fmt.Errorf("open connection %d: %w", len(out)+1, err)
		}
		out = append(out, c)
	}
	return out, nil
}
