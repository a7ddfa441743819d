package events

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

const (
	// notifyGap is the least time between two notifications of one process.
	// NOTIFY takes a cluster-wide lock at commit: inside the transactions of 50
	// writers it cost 61 % of their rate, throttled beside them nothing.
	notifyGap = 50 * time.Millisecond
	// notifyTimeout bounds one connect and one notification.
	notifyTimeout = 5 * time.Second
	// notifyRest follows a failure: others find the events by their poll meanwhile.
	notifyRest = 5 * time.Second
)

// notifyOthers wakes the relays of other processes when this one's bell rings,
// on a connection of its own, until ctx ends.
func (b *Bus) notifyOthers(ctx context.Context) {
	if b.cfg.URL == "" {
		return
	}
	var conn *pgx.Conn
	defer func() { hangUp(ctx, conn) }()
	failing := false
	for {
		select {
		case <-ctx.Done():
			return
		case <-b.cfg.Bell.others:
		}
		var err error
		conn, err = b.notify(ctx, conn)
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			if !failing {
				b.cfg.Log.Warn("other processes are not notified of events; they find them by polling", "error", err)
			}
			failing = true
			hangUp(ctx, conn)
			conn = nil
			pause(ctx, notifyRest, nil)
		default:
			failing = false
			pause(ctx, notifyGap, nil)
		}
	}
}

// notify sends one notification, over conn or a new connection if that is nil.
func (b *Bus) notify(ctx context.Context, conn *pgx.Conn) (*pgx.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, notifyTimeout)
	defer cancel()
	if conn == nil {
		var err error
		if conn, err = pgx.Connect(ctx, b.cfg.URL); err != nil {
			return nil, fmt.Errorf("connect to notify: %w", err)
		}
	}
	// The payload is who speaks, never what happened: long ones fail the sender (field case F03).
	if _, err := conn.Exec(ctx, `select pg_notify($1, $2)`, Channel, b.self); err != nil {
		return conn, fmt.Errorf("notify: %w", err)
	}
	return conn, nil
}

func hangUp(ctx context.Context, conn *pgx.Conn) {
	if conn == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancel()
	_ = conn.Close(ctx) // the session is over either way
}
