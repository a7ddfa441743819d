package admin_test

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/go-chi/chi/v5"

	"github.com/gatehouse-hq/gatehouse/internal/domain/corpus"
	"github.com/gatehouse-hq/gatehouse/internal/domain/instance"
	"github.com/gatehouse-hq/gatehouse/internal/domain/owner"
	domain "github.com/gatehouse-hq/gatehouse/internal/domain/tasks"
	"github.com/gatehouse-hq/gatehouse/internal/domain/tasks/taskstest"
	bus "github.com/gatehouse-hq/gatehouse/internal/infra/events"
	"github.com/gatehouse-hq/gatehouse/internal/infra/jobs"
	"github.com/gatehouse-hq/gatehouse/internal/infra/live"
	"github.com/gatehouse-hq/gatehouse/internal/infra/op"
	"github.com/gatehouse-hq/gatehouse/internal/infra/pg"
	"github.com/gatehouse-hq/gatehouse/internal/infra/pg/pgtest"
	"github.com/gatehouse-hq/gatehouse/internal/infra/search/postgres"
	"github.com/gatehouse-hq/gatehouse/internal/web/admin"
	"github.com/gatehouse-hq/gatehouse/internal/web/admin/events"
	instancepage "github.com/gatehouse-hq/gatehouse/internal/web/admin/instance"
	"github.com/gatehouse-hq/gatehouse/internal/web/admin/notes"
	"github.com/gatehouse-hq/gatehouse/internal/web/admin/overview"
	"github.com/gatehouse-hq/gatehouse/internal/web/admin/periodic"
	"github.com/gatehouse-hq/gatehouse/internal/web/admin/settings"
	"github.com/gatehouse-hq/gatehouse/internal/web/admin/tasks"
	"github.com/gatehouse-hq/gatehouse/internal/web/admin/webhooks"
	"github.com/gatehouse-hq/gatehouse/internal/web/webtest"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

// panel is the whole panel on a queue and a stream in memory.
type panel struct {
	*webtest.House
	queue  *taskstest.Queue
	stream *taskstest.Stream
	db     *pg.DB
}

func open(t *testing.T, q *taskstest.Queue, s *taskstest.Stream) panel {
	t.Helper()
	db := pgtest.New(t)
	rec := bus.NewRecorder(append(append(owner.Types(), corpus.Types()...), webhookTypes()...), bus.NewBell())
	o := owner.New(db, rec)
	h := webtest.New(t, o, admin.Messages())
	d := domain.New(domain.Sources{Jobs: q, Queue: q, Stream: s, DB: db})
	plans := plansOf(t, db, d.Module().Ops)
	house := instance.New(instance.Deps{DB: db, DataDir: t.TempDir(), Disks: []instance.Disk{{Name: "data directory", Path: t.TempDir()}}})
	hub := live.New(d.Pulse, h.Gate.Still, slog.New(slog.DiscardHandler))
	t.Cleanup(hub.Close)
	h.Router.Route("/admin", func(r chi.Router) {
		r.Use(h.Gate.Require)
		admin.Routes(h.Edge, admin.Sections{
			Overview: overview.New(d, house, h.Edge, admin.LivePath),
			Tasks:    tasks.New(d, plans, h.Edge, admin.LivePath),
			Periodic: periodic.New(d, admin.LivePath),
			Events:   events.New(d, admin.LivePath),
			Webhooks: webhooks.New(newHooks(t, db, rec, q), plans, admin.LivePath),
			Settings: settings.New(o, h.Gate),
			Instance: instancepage.New(house, o, admin.LivePath),
			Notes:    notes.New(corpus.New(corpus.Deps{DB: db, Recorder: rec, Engine: postgres.New(db), Ring: func() {}}), d, plans, h.Edge),
			Live:     hub,
		})(r)
	})
	return panel{h, q, s, db}
}

// plansOf keeps plans of these operations.
func plansOf(t *testing.T, db *pg.DB, ops []op.Op) *op.Plans {
	t.Helper()
	set, err := op.Collect(ops...)
	if err != nil {
		t.Fatal(err)
	}
	return op.NewPlans(db, set)
}

// planIn is the plan that a page asks to confirm.
func planIn(t *testing.T, page string) string {
	t.Helper()
	found := regexp.MustCompile(`name="plan" value="(plan_[A-Z0-9]+)"`).FindStringSubmatch(page)
	if found == nil {
		t.Fatalf("the page asks for nothing:\n%s", page)
	}
	return found[1]
}

func (p panel) page(t *testing.T, path string) string {
	t.Helper()
	return p.status(t, webtest.Get(path), http.StatusOK)
}

func (p panel) status(t *testing.T, r *http.Request, want int) string {
	t.Helper()
	w := p.Owner(r)
	if w.Code != want {
		t.Fatalf("%s %s: status %d, want %d\n%s\n%s", r.Method, r.URL, w.Code, want, w.Body, p.Log)
	}
	return w.Body.String()
}

// sent posts a form and returns where it leads and what the next page will say.
func (p panel) sent(t *testing.T, r *http.Request) (to, flash string) {
	t.Helper()
	w := p.Owner(r)
	if w.Code != http.StatusSeeOther {
		t.Fatalf("%s: status %d, want 303\n%s", r.URL, w.Code, w.Body)
	}
	return w.Header().Get("Location"), flashOf(w)
}

func flashOf(w *httptest.ResponseRecorder) string {
	for _, c := range w.Result().Cookies() {
		if c.Name == "gatehouse_flash" {
			return c.Value
		}
	}
	return ""
}

func holds(t *testing.T, page string, texts ...string) {
	t.Helper()
	for _, text := range texts {
		if !strings.Contains(page, text) {
			t.Errorf("the page does not say %q:\n%s", text, page)
		}
	}
}

// markup is what strangers write (field case F33).
const markup = `"><svg onload=alert(7)></script><script>alert(7)</script>`

func at(s string) *time.Time {
	t, err := time.Parse(time.RFC3339, s)
	if err != nil {
		panic(err)
	}
	return &t
}

func failed(id jobs.ID) jobs.Job {
	created := *at("2026-03-01T10:00:00Z")
	return jobs.Job{ID: id, Kind: "corpus.index", Queue: "index", State: jobs.Discarded, Subject: "wiki://garden", Args: []byte(`{"event_id": "e1"}`),
		Attempt: 3, MaxAttempts: 10, Total: 3, Cycle: 1, CreatedAt: created, FinishedAt: at("2026-03-01T10:10:00Z"), LastError: "search refused", Cause: pg.Cause{Request: "abc123", Actor: "owner", Event: "e1"},
		Attempts: []jobs.Attempt{
			{Number: 1, Cycle: 1, At: created.Add(time.Second), Duration: 20 * time.Millisecond, Outcome: "failed", Error: "search refused", Report: []byte(`{"took": 1}`)},
			{Number: 2, Cycle: 1, At: created.Add(time.Minute), Duration: 30 * time.Millisecond, Outcome: "discarded", Error: "search refused\nfor good", Trace: "goroutine 1"},
		}}
}

func known() *taskstest.Queue {
	return &taskstest.Queue{
		AllKinds: []jobs.Kind{{Name: "corpus.index", Title: "Index a note"}, {Name: "owner.notify", RetriedBy: "notices"}},
		Rows:     []jobs.Job{failed(12), failed(11), {ID: 10, Kind: "corpus.index", State: jobs.Pending}},
	}
}

// Every route of the panel, whoever adds it, keeps these promises.
func TestEveryRouteIsClosedToStrangersAndOtherSites(t *testing.T) {
	t.Parallel()
	p := open(t, known(), &taskstest.Stream{})
	seen := 0
	err := chi.Walk(p.Router, func(method, route string, _ http.Handler, _ ...func(http.Handler) http.Handler) error {
		seen++
		path := strings.NewReplacer("{id}", "12", "{name}", "known", "{batch}", "1", "{event}", "1").Replace(route)
		if method == http.MethodGet {
			w := p.Stranger(webtest.Get(path))
			if w.Code != http.StatusSeeOther || !strings.HasPrefix(w.Header().Get("Location"), "/login?next=") {
				t.Errorf("GET %s without a session: %d to %q", path, w.Code, w.Header().Get("Location"))
			}
			return nil
		}
		if w := p.Stranger(webtest.Post(path)); w.Code != http.StatusUnauthorized {
			t.Errorf("%s %s without a session: %d", method, path, w.Code)
		}
		r := webtest.Post(path)
		r.Header.Set("Sec-Fetch-Site", "cross-site")
		if w := p.Owner(r); w.Code != http.StatusForbidden {
			t.Errorf("%s %s from another site: %d", method, path, w.Code)
		}
		return nil
	})
	if err != nil || seen < 15 {
		t.Errorf("walked %d routes: %v", seen, err)
	}
	if p.queue.Rows[0].State != jobs.Discarded {
		t.Error("a refused request changed a task")
	}
}

func TestWhatIsNotThereIsNotFound(t *testing.T) {
	t.Parallel()
	p := open(t, known(), &taskstest.Stream{})
	for _, r := range []*http.Request{
		webtest.Get("/admin/tasks/999"), webtest.Get("/admin/tasks/x"), webtest.Get("/admin/tasks/-1"), webtest.Get("/admin/events/none"),
		webtest.Get("/admin/tasks/matching?action=eat"), webtest.Get("/admin/nothing"),
		webtest.Post("/admin/tasks/999/retry", "state", "discarded", "attempt", "1"),
		webtest.Post("/admin/periodic/unknown/run"), webtest.Post("/admin/periodic/unknown/pause"), webtest.Post("/admin/events/none/requeue"),
	} {
		body := p.status(t, r, http.StatusNotFound)
		if r.Method == http.MethodGet && r.URL.Path != "/admin/nothing" { // which the whole site answers, not the panel
			holds(t, body, `href="/admin/">`)
		}
	}
}

// A page that cannot be loaded must not look like one with nothing on it.
func TestAFailedLoadDoesNotLookEmpty(t *testing.T) {
	t.Parallel()
	q := known()
	p := open(t, q, &taskstest.Stream{})
	q.Broken = errBroken{}
	for _, path := range []string{"/admin/tasks", "/admin/tasks?state=discarded", "/admin/periodic"} {
		if body := p.status(t, webtest.Get(path), http.StatusInternalServerError); strings.Contains(body, "secret") {
			t.Errorf("%s tells internals: %s", path, body)
		}
	}
	body := p.page(t, "/admin/")
	holds(t, body, "Whether anything needs you could not be loaded", "The queues could not be loaded")
	if strings.Contains(body, "Nothing needs you") || strings.Contains(body, "secret") {
		t.Errorf("a broken overview says that all is well:\n%s", body)
	}
	holds(t, p.Log.String(), "secret")
}

type errBroken struct{}

func (errBroken) Error() string { return "secret: the database is gone" }
