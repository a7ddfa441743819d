package owner

import (
	"context"
	"fmt"
	"time"

	"github.com/gatehouse-hq/gatehouse/internal/infra/pg"
)

type store struct{ q pg.Querier }

func (s store) with(tx pg.Tx) store { return store{q: tx} }

func (s store) owner(ctx context.Context) (o Owner, passwordHash string, err error) {
	err = s.q.QueryRow(ctx, `
		select id, coalesce(email, ''), name, zone, site_title, site_tagline, single_keys, set_up_at is not null, coalesce(password_hash, '')
		from owners order by created_at limit 1`).
		Scan(&o.ID, &o.Email, &o.Name, &o.Zone, &o.Title, &o.Tagline, &o.SingleKeys, &o.SetUp, &passwordHash)
	if err != nil {
		return Owner{}, "", fmt.Errorf("read the owner: %w", err)
	}
	return o, passwordHash, nil
}

func (s store) setCredentials(ctx context.Context, id, email, hash string) error {
	_, err := s.q.Exec(ctx, `
		update owners set email = $2, password_hash = $3, set_up_at = coalesce(set_up_at, clock_timestamp()) where id = $1`, id, email, hash)
	return err
}

// holdPassword says whether hash is the owner's still, and keeps it so until
// the transaction ends.
func (s store) holdPassword(ctx context.Context, id, hash string) (same bool, err error) {
	err = s.q.QueryRow(ctx, `select password_hash = $2 from owners where id = $1 for share`, id, hash).Scan(&same)
	return same, err
}

// changePassword sets the password if it is the one that was read.
func (s store) changePassword(ctx context.Context, id, from, to string) (same bool, err error) {
	tag, err := s.q.Exec(ctx, `update owners set password_hash = $3 where id = $1 and password_hash = $2`, id, from, to)
	return tag.RowsAffected() == 1, err
}

// endSessions ends all sessions but that of keep, a token; empty keeps none.
// It comes after the change of the owner's row that is its reason: a sign-in
// holds that row while it opens its session, so none slips through between.
func (s store) endSessions(ctx context.Context, keep string) error {
	_, err := s.q.Exec(ctx, `delete from sessions where token_hash <> $1`, hashToken(keep))
	return err
}

func (s store) saveSettings(ctx context.Context, o Owner) error {
	_, err := s.q.Exec(ctx, `
		update owners set name = $2, zone = $3, site_title = $4, site_tagline = $5, single_keys = $6 where id = $1`,
		o.ID, o.Name, o.Zone, o.Title, o.Tagline, o.SingleKeys)
	return err
}

// replaceSetupToken leaves one valid link: the newest.
func (s store) replaceSetupToken(ctx context.Context, hash []byte, reset bool, life time.Duration) error {
	if _, err := s.q.Exec(ctx, `delete from setup_tokens`); err != nil {
		return err
	}
	_, err := s.q.Exec(ctx, `
		insert into setup_tokens (token_hash, reset, expires_at) values ($1, $2, clock_timestamp() + $3)`, hash, reset, life)
	return err
}

func (s store) setupToken(ctx context.Context, hash []byte) (reset, found bool, err error) {
	err = s.q.QueryRow(ctx, `select reset from setup_tokens where token_hash = $1 and expires_at > clock_timestamp()`, hash).Scan(&reset)
	if pg.NoRows(err) {
		return false, false, nil
	}
	return reset, err == nil, err
}

// takeSetupToken uses the link up; false means that somebody was faster.
func (s store) takeSetupToken(ctx context.Context, hash []byte) (bool, error) {
	tag, err := s.q.Exec(ctx, `delete from setup_tokens where token_hash = $1 and expires_at > clock_timestamp()`, hash)
	return tag.RowsAffected() == 1, err
}

func (s store) noteFailure(ctx context.Context, address string) error {
	_, err := s.q.Exec(ctx, `insert into login_failures (address) values ($1)`, address)
	return err
}

// shutFor is how long the door stays shut for an address: until so few wrong
// tries are left within the window, of its own and of everybody, that one more
// may be made. It is not positive while the door is open.
func (s store) shutFor(ctx context.Context, address string) (time.Duration, error) {
	var wait *time.Duration
	err := s.q.QueryRow(ctx, `
		select max(at) + $2::interval - clock_timestamp() from (
			(select at from login_failures where address = $1 order by at desc offset $3 limit 1)
			union all
			(select at from login_failures order by at desc offset $4 limit 1)
		) as decides`, address, window, perAddress-1, overAll-1).Scan(&wait)
	if err != nil || wait == nil {
		return 0, err
	}
	return *wait, nil
}

func (s store) prune(ctx context.Context) error {
	for _, q := range []string{
		`delete from login_failures where at < clock_timestamp() - interval '1 day'`,
		`delete from sessions where expires_at < clock_timestamp()`,
		`delete from setup_tokens where expires_at < clock_timestamp()`,
		// Long enough to be seen in the list by someone who wonders what stopped.
		`delete from tokens where least(expires_at, revoked_at) < clock_timestamp() - interval '90 days'`,
	} {
		if _, err := s.q.Exec(ctx, q); err != nil {
			return err
		}
	}
	return nil
}
