// Package admin is the owner's panel. Each section is a package below it; this
// file lists every route of the panel.
package admin

import (
	"context"
	"maps"
	"net/http"
	"strings"

	"github.com/go-chi/chi/v5"

	"github.com/gatehouse-hq/gatehouse/internal/web/admin/events"
	"github.com/gatehouse-hq/gatehouse/internal/web/admin/instance"
	"github.com/gatehouse-hq/gatehouse/internal/web/admin/notes"
	"github.com/gatehouse-hq/gatehouse/internal/web/admin/overview"
	"github.com/gatehouse-hq/gatehouse/internal/web/admin/periodic"
	"github.com/gatehouse-hq/gatehouse/internal/web/admin/settings"
	"github.com/gatehouse-hq/gatehouse/internal/web/admin/tasks"
	"github.com/gatehouse-hq/gatehouse/internal/web/admin/webhooks"
	"github.com/gatehouse-hq/gatehouse/internal/web/edge"
	"github.com/gatehouse-hq/gatehouse/internal/web/ui"
)

// Sections are the parts of the panel.
type Sections struct {
	Overview *overview.Section
	Tasks    *tasks.Section
	Periodic *periodic.Section
	Events   *events.Section
	Webhooks *webhooks.Section
	Settings *settings.Section
	Instance *instance.Section
	Notes    *notes.Section

	// Live is the event stream that open pages listen to; nil for none.
	Live Stream
}

// Stream tells open pages what changed since a position.
type Stream interface {
	http.Handler
	Position(ctx context.Context) string
}

// LivePath is the address of the event stream.
const LivePath = "/admin/live"

// routes is the panel's router with the edge put around every handler.
type routes struct {
	chi.Router
	edge *edge.Edge
}

func (r routes) get(pattern string, h edge.Handler) {
	r.Method(http.MethodGet, pattern, r.edge.Handle(h))
}

func (r routes) post(pattern string, h edge.Handler) {
	r.Method(http.MethodPost, pattern, r.edge.Handle(h))
}

// Routes lists every route of the panel, relative to /admin. They are mounted
// behind the sign-in gate.
func Routes(e *edge.Edge, s Sections) func(chi.Router) {
	return func(router chi.Router) {
		if s.Live != nil {
			router.Use(positioned(s.Live))
			router.Method(http.MethodGet, "/live", s.Live)
		}
		r := routes{router, e}
		r.get("/", s.Overview.Page)

		r.get("/tasks", s.Tasks.List)
		r.get("/tasks/new", s.Tasks.New)
		r.get("/tasks/shown", s.Tasks.Shown)
		r.post("/tasks/retry", s.Tasks.RetryPicked)
		r.post("/tasks/cancel", s.Tasks.CancelPicked)
		r.get("/tasks/matching", s.Tasks.ConfirmMatching)
		r.post("/tasks/matching", s.Tasks.ActOnMatching)
		r.get("/tasks/{id}", s.Tasks.One)
		r.post("/tasks/{id}/retry", s.Tasks.Retry)
		r.post("/tasks/{id}/cancel", s.Tasks.Cancel)

		r.get("/periodic", s.Periodic.Page)
		r.post("/periodic/{name}/run", s.Periodic.Run)
		r.post("/periodic/{name}/pause", s.Periodic.Pause)
		r.post("/periodic/{name}/resume", s.Periodic.Resume)

		r.get("/events", s.Events.List)
		r.get("/events/new", s.Events.New)
		r.get("/events/shown", s.Events.Shown)
		r.get("/events/{id}", s.Events.One)
		r.post("/events/{id}/requeue", s.Events.Requeue)

		webhookRoutes(r, s.Webhooks)

		r.get("/settings", s.Settings.Page)
		r.post("/settings", s.Settings.Save)
		r.post("/settings/password", s.Settings.ChangePassword)
		r.post("/settings/sessions/{id}/end", s.Settings.EndSession)
		r.get("/settings/tokens", s.Settings.Tokens)
		r.post("/settings/tokens", s.Settings.IssueToken)
		r.get("/settings/tokens/{id}/revoke", s.Settings.ConfirmRevoke)
		r.post("/settings/tokens/{id}/revoke", s.Settings.RevokeToken)

		instanceRoutes(r, s.Instance)

		s.Notes.Routes(router)
	}
}

// positioned notes where the stream is before a page's data is read, so that the page is told of all that happens from
// then on. Parts of a page leave its position as it is.
func positioned(live Stream) func(http.Handler) http.Handler {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("Hx-Request") == "" && !strings.HasSuffix(r.URL.Path, LivePath) {
				r = r.WithContext(ui.WithLiveAt(r.Context(), live.Position(r.Context())))
			}
			next.ServeHTTP(w, r)
		})
	}
}

func instanceRoutes(r routes, s *instance.Section) {
	r.get("/instance", s.Page)
	r.get("/instance/hold", s.AskHold)
	r.post("/instance/hold", s.Hold)
	r.get("/instance/drop", s.AskDrop)
	r.post("/instance/release", s.Release)
	r.post("/instance/backups", s.Remind)
}

func webhookRoutes(r routes, s *webhooks.Section) {
	r.get("/webhooks", s.List)
	r.post("/webhooks", s.Create)
	r.get("/webhooks/new", s.NewForm)
	r.get("/webhooks/{id}", s.One)
	r.get("/webhooks/{id}/new", s.New)
	r.get("/webhooks/{id}/shown", s.Shown)
	r.get("/webhooks/{id}/edit", s.EditForm)
	r.post("/webhooks/{id}/edit", s.Save)
	r.post("/webhooks/{id}/pause", s.Pause)
	r.get("/webhooks/{id}/enable", s.AskEnable)
	r.post("/webhooks/{id}/enable", s.Enable)
	r.get("/webhooks/{id}/rotate", s.AskRotate)
	r.post("/webhooks/{id}/rotate", s.Rotate)
	r.get("/webhooks/{id}/delete", s.AskDelete)
	r.post("/webhooks/{id}/delete", s.Delete)
	r.post("/webhooks/{id}/test", s.SendTest)
	r.get("/webhooks/{id}/deliveries/{event}", s.Delivery)
	r.post("/webhooks/{id}/again", s.Again)
	r.get("/webhooks/{id}/failed", s.AskFailed)
	r.post("/webhooks/{id}/failed", s.Failed)
	r.get("/webhooks/{id}/recover", s.AskRecover)
	r.post("/webhooks/{id}/recover", s.Recover)
}

// Messages are what the actions of every section say when they are done; the
// edge shows them on the next page.
func Messages() map[string]edge.Message {
	all := map[string]edge.Message{}
	for _, section := range []map[string]edge.Message{
		tasks.Messages(), periodic.Messages(), events.Messages(), webhooks.Messages(), settings.Messages(), instance.Messages(), notes.Messages(),
	} {
		maps.Copy(all, section)
	}
	return all
}
