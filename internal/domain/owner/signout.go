package owner

import (
	"context"
	"fmt"
	"time"

	"github.com/gatehouse-hq/gatehouse/internal/infra/pg"
)

// SignOutEverywhere ends every session and makes every one-time link useless, and says how many sessions there were. A
// database that comes from a backup holds sign-ins and links that were ended since.
func (d *Domain) SignOutEverywhere(ctx context.Context, tx pg.Tx) (int, error) {
	tag, err := tx.Exec(ctx, `delete from public.sessions`)
	if err != nil {
		return 0, fmt.Errorf("end every session: %w", err)
	}
	if _, err := tx.Exec(ctx, `delete from public.setup_tokens`); err != nil {
		return 0, fmt.Errorf("end every one-time link: %w", err)
	}
	return int(tag.RowsAffected()), nil
}

// TokensBefore lists the usable tokens that were issued up to a moment: in a database from a backup, tokens among them may
// have been revoked since, and live again.
func (d *Domain) TokensBefore(ctx context.Context, at time.Time) ([]Token, error) {
	all, err := d.store().tokens(ctx)
	if err != nil {
		return nil, err
	}
	out := []Token{}
	for _, t := range all {
		if t.State == TokenActive && !t.CreatedAt.After(at) {
			out = append(out, t)
		}
	}
	return out, nil
}
