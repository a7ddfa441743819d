package pg

import (
	"context"
	"crypto/rand"
	"errors"
	"time"
)

// ErrDeaf: notifications do not arrive. A pooler in transaction mode hands
// each statement to another connection, so LISTEN has no effect behind it
// (field case F02). Everything still works by polling, up to a second later.
var ErrDeaf = errors.New("notifications do not arrive over this database address (is a pooler in transaction mode in between?); polling is in use, which is up to a second slower; for the full speed give the address of PostgreSQL itself")

// proofChannel carries nothing but the question whether anything is heard.
const proofChannel = "gatehouse_proof"

// Prove says something through db and waits until the listener hears it. It
// answers ErrDeaf after within, and nothing when ctx ends before.
func (l *Listener) Prove(ctx context.Context, db *DB, within time.Duration) error {
	word := rand.Text()
	heard := make(chan struct{}, 1)
	defer l.Subscribe(proofChannel, func(payload string) {
		if payload == word {
			select {
			case heard <- struct{}{}:
			default:
			}
		}
	})()
	end := time.NewTimer(within)
	defer end.Stop()
	for {
		// Said again until heard: the first word may come before LISTEN.
		if _, err := db.Exec(ctx, `select pg_notify($1, $2)`, proofChannel, word); err != nil && ctx.Err() == nil {
			if !Unavailable(err) {
				return err
			}
			end.Reset(within) // nothing was said, so nothing could be heard
		}
		select {
		case <-heard:
			return nil
		case <-ctx.Done():
			return nil
		case <-end.C:
			return ErrDeaf
		case <-time.After(within / 20):
		}
	}
}
