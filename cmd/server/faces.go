package main

import (
	"context"
	"fmt"
	"maps"
	"net/http"

	"github.com/gatehouse-hq/gatehouse/internal/infra/live"
	"github.com/gatehouse-hq/gatehouse/internal/infra/op"
	"github.com/gatehouse-hq/gatehouse/internal/infra/pg"
	"github.com/gatehouse-hq/gatehouse/internal/web"
	"github.com/gatehouse-hq/gatehouse/internal/web/admin"
	adminevents "github.com/gatehouse-hq/gatehouse/internal/web/admin/events"
	admininstance "github.com/gatehouse-hq/gatehouse/internal/web/admin/instance"
	"github.com/gatehouse-hq/gatehouse/internal/web/admin/notes"
	"github.com/gatehouse-hq/gatehouse/internal/web/admin/overview"
	"github.com/gatehouse-hq/gatehouse/internal/web/admin/periodic"
	"github.com/gatehouse-hq/gatehouse/internal/web/admin/settings"
	admintasks "github.com/gatehouse-hq/gatehouse/internal/web/admin/tasks"
	adminwebhooks "github.com/gatehouse-hq/gatehouse/internal/web/admin/webhooks"
	"github.com/gatehouse-hq/gatehouse/internal/web/api"
	"github.com/gatehouse-hq/gatehouse/internal/web/assets"
	"github.com/gatehouse-hq/gatehouse/internal/web/edge"
	"github.com/gatehouse-hq/gatehouse/internal/web/mcp"
	"github.com/gatehouse-hq/gatehouse/internal/web/public"
	"github.com/gatehouse-hq/gatehouse/internal/web/session"
)

// faces builds what people and scripts meet.
func (a *app) faces() (http.Handler, error) {
	set := assets.New()
	site := newSiteName(a.owner, a.cfg.baseURL.String())
	e := edge.New(edge.Config{
		Assets: set, Log: a.log, BaseURL: a.cfg.baseURL, TrustedProxies: a.cfg.trustedProxies,
		Messages: messages(), Site: site.read,
		OnRequest: func(ctx context.Context, id string) context.Context {
			return pg.WithCause(ctx, pg.Cause{Request: id, Actor: "visitor"})
		},
	})
	plans := op.NewPlans(a.pool, a.ops)
	gate := session.New(a.owner, e, a.cfg.baseURL.Scheme == "https")
	hub := live.New(live.Join(a.tasks.Pulse, a.webhooks.Pulse, a.corpus.Pulse), gate.Still, a.log)
	a.endStreams = hub.Close
	return web.New(web.Faces{
		Edge: e, Gate: gate, Assets: set,
		Admin: admin.Routes(e, admin.Sections{
			Overview: overview.New(a.tasks, a.instance, e, admin.LivePath),
			Tasks:    admintasks.New(a.tasks, plans, e, admin.LivePath),
			Periodic: periodic.New(a.tasks, admin.LivePath),
			Events:   adminevents.New(a.tasks, admin.LivePath),
			Webhooks: adminwebhooks.New(a.webhooks, plans, admin.LivePath),
			Settings: settings.New(a.owner, gate),
			Instance: admininstance.New(a.instance, a.owner, admin.LivePath),
			Live:     hub,
			Notes:    notes.New(a.corpus, a.tasks, plans, e),
		}),
		API: api.New(e, gate, a.ops, a.owner.Bearer).Routes,
		MCP: mcp.New(mcp.Config{
			Ops: a.ops, Plans: plans, Bearer: a.owner.Bearer, BaseURL: a.cfg.baseURL, Log: a.log, Version: version, RequestID: edge.RequestID,
		}).Routes,
		Public:  public.New(a.corpus, e, gate.Notice).Routes,
		Ready:   a.ready,
		Healthy: a.tasks.Healthy,
	}), nil
}

// ready proves that the database answers and has this program's schema.
func (a *app) ready(ctx context.Context) error {
	have, err := pg.SchemaVersion(ctx, a.pool)
	if err != nil {
		return err
	}
	want, err := pg.NewestVersion(pg.Migrations)
	if err == nil && have != want {
		err = fmt.Errorf("schema version %d, this program wants %d", have, want)
	}
	return err
}

// messages are what every face says on the page after an action.
func messages() map[string]edge.Message {
	all := admin.Messages()
	maps.Copy(all, session.Messages())
	return all
}
