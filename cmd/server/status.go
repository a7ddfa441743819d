package main

import (
	"context"
	"time"

	"github.com/gatehouse-hq/gatehouse/internal/domain/instance"
	"github.com/gatehouse-hq/gatehouse/internal/infra/op"
	"github.com/gatehouse-hq/gatehouse/internal/infra/pg"
)

// status says what is running here and whether it is fit for work.
type status struct {
	Version  string           `json:"version"`
	Role     string           `json:"role" jsonschema:"all, web or worker"`
	BaseURL  string           `json:"base_url"`
	Site     string           `json:"site" jsonschema:"the site's name; text from the owner"`
	Database string           `json:"database" jsonschema:"version of PostgreSQL"`
	Schema   int              `json:"schema" jsonschema:"version of the database's schema"`
	Ready    bool             `json:"ready" jsonschema:"the database has the schema that this program wants"`
	Search   string           `json:"search" jsonschema:"postgres or meilisearch"`
	Now      time.Time        `json:"now" jsonschema:"the database's clock"`
	Backups  instance.Backups `json:"backups"`
	Disks    []instance.Space `json:"disks"`
	Hold     *instance.Hold   `json:"hold,omitempty" jsonschema:"while there is one, nothing is sent"`
	Verdict  string           `json:"verdict" jsonschema:"ok, or what is wrong; tasks.health says more"`
}

// statusOp is the one operation of no domain: it is about the whole program.
func (a *app) statusOp() op.Op {
	return op.New("instance.status", "What is running here", "Says which version runs, on which database and search engine, and whether it is fit for work.", op.Read,
		func(ctx context.Context, _ struct{}) (status, error) {
			s := status{Version: version, Role: a.cfg.role, BaseURL: a.cfg.baseURL.String(), Search: "postgres"}
			if a.cfg.meiliURL != "" {
				s.Search = "meilisearch"
			}
			owner, err := a.owner.Owner(ctx)
			if err != nil {
				return s, err
			}
			s.Site = owner.Title
			if err := a.pool.QueryRow(ctx, `select current_setting('server_version'), clock_timestamp()`).Scan(&s.Database, &s.Now); err != nil {
				return s, err
			}
			if s.Schema, err = pg.SchemaVersion(ctx, a.pool); err != nil {
				return s, err
			}
			s.Ready = a.ready(ctx) == nil
			if s.Backups, err = a.instance.Backups(ctx); err != nil {
				return s, err
			}
			if s.Disks, err = a.instance.Spaces(); err != nil {
				return s, err
			}
			if s.Hold, err = a.instance.Current(ctx); err != nil {
				return s, err
			}
			s.Verdict, _, err = a.tasks.Healthy(ctx)
			return s, err
		})
}
