package owner

import (
	"context"
	"encoding/hex"
	"fmt"
	"time"

	"github.com/gatehouse-hq/gatehouse/internal/infra/op"
	"github.com/gatehouse-hq/gatehouse/internal/infra/pg"
)

// SessionLife is how long a browser stays signed in after its last visit.
const SessionLife = 30 * 24 * time.Hour

// Visit is where a sign-in comes from, shown in the list of sessions.
type Visit struct {
	Address   string
	UserAgent string
}

// Session is one signed-in browser. ID is derived from the token's hash and
// opens nothing.
type Session struct {
	ID        string
	Address   string
	UserAgent string
	CreatedAt time.Time
	SeenAt    time.Time
	Current   bool
}

// Session returns the owner behind a session token, or an Unauthorized error.
// It renews the session's life at most once an hour.
func (d *Domain) Session(ctx context.Context, token string) (Owner, error) {
	var renew bool
	err := d.db.QueryRow(ctx, `
		select seen_at < clock_timestamp() - interval '1 hour' from sessions
		where token_hash = $1 and expires_at > clock_timestamp()`, hashToken(token)).Scan(&renew)
	if pg.NoRows(err) {
		return Owner{}, op.Errorf(op.Unauthorized, "Sign in to see this page.")
	}
	if err != nil {
		return Owner{}, fmt.Errorf("read session: %w", err)
	}
	if renew {
		if _, err := d.db.Exec(ctx, `
			update sessions set seen_at = clock_timestamp(), expires_at = clock_timestamp() + $2
			where token_hash = $1`, hashToken(token), SessionLife); err != nil && !pg.DiskFull(err) { // the panel is where it is told
			return Owner{}, fmt.Errorf("renew session: %w", err)
		}
	}
	return d.Owner(ctx)
}

// SignOut ends the session of token. An unknown token is fine.
func (d *Domain) SignOut(ctx context.Context, token string) error {
	_, err := d.db.Exec(ctx, `delete from sessions where token_hash = $1`, hashToken(token))
	return err
}

// Sessions lists the signed-in browsers, the newest visit first; token marks
// the one that asks.
func (d *Domain) Sessions(ctx context.Context, token string) ([]Session, error) {
	rows, err := d.db.Query(ctx, `
		select encode(substring(token_hash from 1 for 8), 'hex'), address, user_agent, created_at, seen_at
		from sessions where expires_at > clock_timestamp() order by seen_at desc limit 100`)
	if err != nil {
		return nil, fmt.Errorf("list sessions: %w", err)
	}
	defer rows.Close()
	mine := hex.EncodeToString(hashToken(token)[:8])
	out := []Session{}
	for rows.Next() {
		var s Session
		if err := rows.Scan(&s.ID, &s.Address, &s.UserAgent, &s.CreatedAt, &s.SeenAt); err != nil {
			return nil, err
		}
		s.Current = s.ID == mine
		out = append(out, s)
	}
	return out, rows.Err()
}

// EndSession signs one browser out by the ID that Sessions shows.
func (d *Domain) EndSession(ctx context.Context, id string) error {
	tag, err := d.db.Exec(ctx, `delete from sessions where encode(substring(token_hash from 1 for 8), 'hex') = $1`, id)
	if err != nil {
		return err
	}
	if tag.RowsAffected() == 0 {
		return op.Errorf(op.NotFound, "That session has already ended.")
	}
	return nil
}

func openSession(ctx context.Context, tx pg.Tx, ownerID string, v Visit) (string, error) {
	token, hash := newToken()
	_, err := tx.Exec(ctx, `
		insert into sessions (token_hash, owner_id, address, user_agent, expires_at)
		values ($1, $2, $3, $4, clock_timestamp() + $5)`,
		hash, ownerID, v.Address, clip(v.UserAgent), SessionLife)
	if err != nil {
		return "", fmt.Errorf("open session: %w", err)
	}
	return token, nil
}

// clip keeps a stranger's User-Agent short and free of what PostgreSQL refuses.
func clip(s string) string {
	out := make([]rune, 0, 200)
	for _, r := range s {
		if r < ' ' || r == '\uFFFD' {
			continue
		}
		if out = append(out, r); len(out) == 200 {
			break
		}
	}
	return string(out)
}
