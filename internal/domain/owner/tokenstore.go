package owner

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/gatehouse-hq/gatehouse/internal/infra/pg"
)

const tokenColumns = `id::text, name, classes, created_at, expires_at, used_at, revoked_at,
	case when revoked_at is not null then 'revoked'
	     when expires_at <= clock_timestamp() then 'expired'
	     else 'active' end as state`

func scanToken(row pgx.CollectableRow) (Token, error) {
	var t Token
	err := row.Scan(&t.ID, &t.Name, &t.Classes, &t.CreatedAt, &t.ExpiresAt, &t.UsedAt, &t.RevokedAt, &t.State)
	return t, err
}

func oneToken(ctx context.Context, q pg.Querier, sql string, args ...any) (Token, error) {
	rows, err := q.Query(ctx, sql, args...)
	if err != nil {
		return Token{}, err
	}
	return pgx.CollectExactlyOneRow(rows, scanToken)
}

func (s store) insertToken(ctx context.Context, ownerID string, in IssueTokenIn, hash []byte) (Token, error) {
	t, err := oneToken(ctx, s.q, `
		insert into tokens (owner_id, name, token_hash, classes, expires_at)
		values ($1, $2, $3, $4, case when $5 > 0 then clock_timestamp() + make_interval(days => $5) end)
		returning `+tokenColumns, ownerID, in.Name, hash, in.Classes, in.Days)
	if err != nil {
		return Token{}, fmt.Errorf("store token: %w", err)
	}
	return t, nil
}

func (s store) usableTokens(ctx context.Context) (n int, err error) {
	err = s.q.QueryRow(ctx, `select count(*) from tokens where revoked_at is null and (expires_at is null or expires_at > clock_timestamp())`).Scan(&n)
	return n, err
}

func (s store) tokens(ctx context.Context) ([]Token, error) {
	rows, err := s.q.Query(ctx, `select `+tokenColumns+` from tokens order by (revoked_at is null and coalesce(expires_at > clock_timestamp(), true)) desc, created_at desc limit 500`)
	if err != nil {
		return nil, fmt.Errorf("list tokens: %w", err)
	}
	return pgx.CollectRows(rows, scanToken)
}

func (s store) tokenByHash(ctx context.Context, hash []byte) (Token, error) {
	return oneToken(ctx, s.q, `select `+tokenColumns+` from tokens where token_hash = $1`, hash)
}

func (s store) revokeToken(ctx context.Context, id string) (Token, error) {
	return oneToken(ctx, s.q, `
		update tokens set revoked_at = clock_timestamp() where id = $1::uuid and revoked_at is null returning `+tokenColumns, id)
}

func (s store) touchToken(ctx context.Context, id string) error {
	_, err := s.q.Exec(ctx, `
		update tokens set used_at = clock_timestamp()
		where id = $1::uuid and (used_at is null or used_at < clock_timestamp() - interval '1 minute')`, id)
	if err != nil && !pg.DiskFull(err) { // reading must go on then
		return fmt.Errorf("note the token's use: %w", err)
	}
	return nil
}
