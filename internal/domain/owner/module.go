package owner

import (
	"context"
	"time"

	"github.com/gatehouse-hq/gatehouse/internal/domain"
	"github.com/gatehouse-hq/gatehouse/internal/infra/jobs"
	"github.com/gatehouse-hq/gatehouse/internal/infra/op"
)

// Module is what this domain hands over to be run.
func (d *Domain) Module() domain.Module {
	return domain.Module{
		Name:  "owner",
		Types: Types(),
		Ops:   d.ops(),
		Periodics: []jobs.Periodic{{
			Name:        "owner.prune",
			Title:       "Forget old sign-ins",
			Description: "Removes ended sessions, used links, counters of wrong passwords, and tokens that ended 90 days ago.",
			Every:       time.Hour,
			Run:         func(ctx context.Context) error { return d.store().prune(ctx) },
		}},
	}
}

func (d *Domain) ops() []op.Op {
	return []op.Op{
		op.New("tokens.list", "List tokens", "Pages through bearer tokens, with what they may do, their expiry and last use. Secrets are never shown.", op.Read, d.Tokens),
		op.New("tokens.issue", "Issue a token", "Makes a bearer token. Its secret is in the answer, this once. A token can issue none that may do more than itself.", op.Credential, d.IssueToken),
		op.Repeatable(op.New("tokens.revoke", "Revoke a token", "Makes a bearer token useless from its next call on. This cannot be taken back.", op.Credential, d.RevokeToken)),
	}
}
