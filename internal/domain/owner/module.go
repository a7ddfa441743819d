package owner

import (
	"context"
	"time"

	"github.com/gatehouse-hq/gatehouse/internal/domain"
	"github.com/gatehouse-hq/gatehouse/internal/infra/jobs"
)

// Module is what this domain hands over to be run.
func (d *Domain) Module() domain.Module {
	return domain.Module{
		Name:  "owner",
		Types: Types(),
		Periodics: []jobs.Periodic{{
			Name:        "owner.prune",
			Title:       "Forget old sign-ins",
			Description: "Removes ended sessions, used links and counters of wrong passwords.",
			Every:       time.Hour,
			Run:         func(ctx context.Context) error { return d.store().prune(ctx) },
		}},
	}
}
