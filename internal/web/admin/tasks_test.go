package admin_test

import (
	"html"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/gatehouse-hq/gatehouse/internal/domain/tasks/taskstest"
	bus "github.com/gatehouse-hq/gatehouse/internal/infra/events"
	"github.com/gatehouse-hq/gatehouse/internal/infra/jobs"
	"github.com/gatehouse-hq/gatehouse/internal/web/webtest"
)

func TestTheTaskListSaysWhatAndWhy(t *testing.T) {
	t.Parallel()
	p := open(t, known(), &taskstest.Stream{})
	body := p.page(t, "/admin/tasks?state=discarded")
	holds(t, body, `href="/admin/tasks/12"`, "wiki://garden", "search refused", "3/10", `value="12:discarded:3"`,
		`value="owner.notify"`, // a kind that never ran
		"completed tasks for 24 hours",
		"By kind and error", `error=search+refused`)
	if strings.Contains(body, `href="/admin/tasks/10"`) {
		t.Error("a pending task stands among the discarded")
	}
	holds(t, p.page(t, "/admin/tasks?state=cancelled"), "No task is cancelled")
	holds(t, p.page(t, "/admin/tasks?kind=owner.notify"), "No task matches", "Clear the search")
}

func TestAnOldLinkToAJobLeadsToItsPage(t *testing.T) {
	t.Parallel()
	p := open(t, known(), &taskstest.Stream{})
	if to, _ := p.sent(t, webtest.Get("/admin/tasks?job=12")); to != "/admin/tasks/12" {
		t.Errorf("leads to %s", to)
	}
}

func TestASearchThatCannotBeReadKeepsTheTypedText(t *testing.T) {
	t.Parallel()
	p := open(t, known(), &taskstest.Stream{})
	body := p.status(t, webtest.Get("/admin/tasks?q=id%3Atwelve"), http.StatusUnprocessableEntity)
	holds(t, body, `value="id:twelve"`, "takes the number of a task")
	if strings.Contains(body, "No task") {
		t.Error("a refused search looks like an empty list")
	}
	p.status(t, webtest.Get("/admin/tasks?state=lost"), http.StatusUnprocessableEntity)
	p.status(t, webtest.Get("/admin/events?type=a+b"), http.StatusUnprocessableEntity)
	p.status(t, webtest.Get("/admin/events?state=lost"), http.StatusUnprocessableEntity)
}

func TestActionsOnSelectedTasks(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		path   string
		fields []string
		flash  string
		states map[jobs.ID]jobs.State
	}{
		{"both", "/admin/tasks/retry", []string{"pick", "12:discarded:3", "pick", "11:discarded:3"}, "task-retried:2", map[jobs.ID]jobs.State{12: "pending", 11: "pending"}},
		{"one has moved on", "/admin/tasks/retry", []string{"pick", "12:retryable:3", "pick", "11:discarded:3"}, "task-retried-some:1", map[jobs.ID]jobs.State{12: "discarded", 11: "pending"}},
		{"all have moved on", "/admin/tasks/retry", []string{"pick", "12:discarded:2"}, "task-untouched:1", map[jobs.ID]jobs.State{12: "discarded"}},
		{"none", "/admin/tasks/retry", nil, "task-none-picked:0", map[jobs.ID]jobs.State{12: "discarded"}},
		{"a row's own button leaves the selection alone", "/admin/tasks/retry", []string{"pick", "12:discarded:3", "only", "11:discarded:3"}, "task-retried:1", map[jobs.ID]jobs.State{12: "discarded", 11: "pending"}},
		{"cancel", "/admin/tasks/cancel", []string{"pick", "10:pending:0"}, "task-cancelled:1", map[jobs.ID]jobs.State{10: "cancelled"}},
		{"gone", "/admin/tasks/cancel", []string{"pick", "99:pending:0"}, "task-untouched:1", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p := open(t, known(), &taskstest.Stream{})
			const back = "/admin/tasks?kind=corpus.index&state=discarded"
			to, flash := p.sent(t, webtest.Post(c.path, append(c.fields, "back", back)...))
			if to != back || flash != c.flash {
				t.Errorf("leads to %s with %q, want %s with %q", to, flash, back, c.flash)
			}
			for _, j := range p.queue.Rows {
				if want, told := c.states[j.ID]; told && j.State != want {
					t.Errorf("task %d is %s, want %s", j.ID, j.State, want)
				}
			}
		})
	}
}

func TestASelectionThatIsNoneIsRefused(t *testing.T) {
	t.Parallel()
	p := open(t, known(), &taskstest.Stream{})
	for _, pick := range []string{"12", "x:discarded:3", "12:discarded:x", "12:lost:3", "0:discarded:3"} {
		p.status(t, webtest.Post("/admin/tasks/retry", "pick", pick), http.StatusUnprocessableEntity)
	}
	if p.queue.Rows[0].State != jobs.Discarded {
		t.Error("a refused selection changed a task")
	}
}

// The way back may only lead to a page of ours (field case F35).
func TestTheWayBackStaysHere(t *testing.T) {
	t.Parallel()
	p := open(t, known(), &taskstest.Stream{})
	for _, back := range []string{"//evil.example", `/\evil.example`, "/%5Cevil.example", "/%09/evil.example", "/.//evil.example", "https:evil.example", "javascript:alert(7)", "/ok%0d%0aSet-Cookie:x=1"} {
		if to, _ := p.sent(t, webtest.Post("/admin/tasks/retry", "back", back)); to != "/admin/tasks" {
			t.Errorf("back=%q leads to %q", back, to)
		}
	}
}

func TestAConflictIsShownOnTheTasksPage(t *testing.T) {
	t.Parallel()
	p := open(t, known(), &taskstest.Stream{})
	body := p.status(t, webtest.Post("/admin/tasks/12/retry", "state", "retryable", "attempt", "3"), http.StatusConflict)
	holds(t, body, "Task 12 has changed since you looked", "discarded", "Retry now")
	if to, flash := p.sent(t, webtest.Post("/admin/tasks/12/retry", "state", "discarded", "attempt", "3")); to != "/admin/tasks/12" || flash != "task-retried:1" {
		t.Errorf("leads to %s with %q", to, flash)
	}
	p.status(t, webtest.Post("/admin/tasks/12/cancel", "state", "discarded", "attempt", "many"), http.StatusUnprocessableEntity)
}

func TestTheTaskPageTellsItsWholeStory(t *testing.T) {
	t.Parallel()
	q := known()
	q.Rows[0].Args = []byte(`{"event_id": "e1", "number": 12345678901234567890.10}`)
	p := open(t, q, &taskstest.Stream{})
	holds(t, p.page(t, "/admin/tasks/12"), "Index a note: wiki://garden", "3 of 10", "waited 1.00 s", "59.0 s later", "for good", "goroutine 1", "took 30 ms",
		"12345678901234567890.10", // no float in between
		"abc123", `href="/admin/events/e1"`)
	q.Rows = append(q.Rows, jobs.Job{ID: 5, Kind: "owner.notify", State: jobs.Discarded, Uncertain: true}, jobs.Job{ID: 4, Kind: "corpus.index", State: jobs.Completed, Pruned: true})
	body := p.page(t, "/admin/tasks/5")
	holds(t, body, `href="/admin/notices"`, "The outside may already have done it")
	if strings.Contains(body, "/admin/tasks/5/retry") {
		t.Error("a task that is retried elsewhere has a retry button")
	}
	holds(t, p.page(t, "/admin/tasks/4"), "its details are no longer kept")
}

// What strangers wrote is text on every page (field case F33).
func TestMarkupOfStrangersIsText(t *testing.T) {
	t.Parallel()
	q := known()
	j := &q.Rows[0]
	j.Subject, j.LastError, j.Args = markup, markup, []byte(`{"event_id":"`+"e1"+`","x":"</script><script>alert(7)</script>"}`)
	j.Attempts[0].Error, j.Attempts[0].Trace, j.Attempts[0].Report = markup, markup, []byte(`"</script><script>alert(7)"`)
	j.Cause.Request, j.Cause.Actor = markup, markup
	q.Periodics = []jobs.PeriodicStatus{{Name: "p", Title: markup, History: []jobs.PeriodicRun{{Error: markup}}}}
	s := &taskstest.Stream{Entries: []bus.Entry{{Event: bus.Event{ID: "e1", Type: "a.happened", Subject: markup, Data: []byte(`{"x":"<svg onload=alert(7)>"}`), Cause: j.Cause}, State: bus.Poisoned, LastError: markup, Fanout: map[string]jobs.ID{"corpus.index": 12}}}}
	p := open(t, q, s)
	for _, path := range []string{"/admin/", "/admin/tasks", "/admin/tasks?state=discarded", "/admin/tasks/12", "/admin/periodic", "/admin/events", "/admin/events/e1",
		"/admin/tasks?error=" + "%3Csvg%20onload%3Dalert(7)%3E", "/admin/tasks/matching?action=retry&state=discarded&error=%3Csvg%20onload%3Dalert(7)%3E"} {
		body := p.page(t, path)
		for _, live := range []string{"<svg onload", "<script>alert", "</script><script>"} {
			if strings.Contains(body, live) {
				t.Errorf("%s: %s is live", path, live)
			}
		}
		if !strings.Contains(body, "&lt;svg onload") {
			t.Errorf("%s does not show the text at all", path)
		}
	}
}

func TestAllThatMatchIsAskedForFirst(t *testing.T) {
	t.Parallel()
	p := open(t, known(), &taskstest.Stream{})
	const question = "/admin/tasks/matching?action=retry&state=discarded"
	body := p.page(t, question)
	holds(t, body, "Retry 2 tasks", "state: discarded", "task 12", "Tasks that come later are left alone")
	plan := planIn(t, body)
	confirm := func(action, plan string) *http.Request {
		return webtest.Post("/admin/tasks/matching", "action", action, "plan", plan)
	}
	p.status(t, confirm("cancel", plan), http.StatusConflict)
	p.status(t, confirm("eat", plan), http.StatusUnprocessableEntity)
	p.status(t, confirm("retry", ""), http.StatusConflict)
	if len(p.queue.Enqueued) != 0 {
		t.Errorf("%d enqueued before anybody confirmed", len(p.queue.Enqueued))
	}
	to, flash := p.sent(t, confirm("retry", plan))
	if !strings.HasPrefix(to, "/admin/tasks/10") || flash != "task-bulk-started:0" || len(p.queue.Enqueued) != 1 {
		t.Errorf("leads to %s with %q; %d enqueued", to, flash, len(p.queue.Enqueued))
	}
	holds(t, p.status(t, confirm("retry", plan), http.StatusConflict), "used up or expired")
	if len(p.queue.Enqueued) != 1 {
		t.Errorf("a form sent twice acts twice")
	}
	holds(t, p.page(t, "/admin/tasks/matching?action=cancel&state=running&kind=no.such"), "No task matches any more")
}

// Newer leads to the page before, not to the first; filters stay; only the first page speaks of new tasks.
func TestNewerIsTheWayBack(t *testing.T) {
	t.Parallel()
	q := known()
	q.Rows = nil
	for id := jobs.ID(220); id > 0; id-- {
		q.Rows = append(q.Rows, jobs.Job{ID: id, Kind: "corpus.index", State: jobs.Completed})
	}
	p := open(t, q, &taskstest.Stream{})
	follow := func(page, rel string) string {
		t.Helper()
		m := regexp.MustCompile(`rel="` + rel + `" href="([^"]+)"`).FindStringSubmatch(page)
		if m == nil {
			return ""
		}
		return html.UnescapeString(m[1])
	}
	way := []string{"/admin/tasks?state=completed"}
	for next := way[0]; next != ""; {
		page := p.page(t, next)
		if len(way) > 1 && strings.Contains(page, "/admin/tasks/new?") {
			t.Errorf("page %d speaks of new tasks", len(way))
		}
		if next = follow(page, "next"); next != "" {
			way = append(way, next)
		}
	}
	if len(way) != 5 {
		t.Fatalf("%d pages: %v", len(way), way)
	}
	for i := len(way) - 1; i > 0; i-- {
		if back := follow(p.page(t, way[i]), "prev"); back != way[i-1] {
			t.Errorf("back from page %d is %s, want %s", i+1, back, way[i-1])
		}
	}
}

// A list that is looked at keeps its rows: each shows its present state where it stands, also when the filter would no
// longer select it.
func TestShownRowsStayInPlace(t *testing.T) {
	t.Parallel()
	p := open(t, known(), &taskstest.Stream{})
	holds(t, p.page(t, "/admin/tasks?state=discarded"), `hx-get="/admin/tasks/shown?ids=12.11"`, `hx-select-oob="#page-action"`)
	if err := p.queue.Retry(t.Context(), 12, jobs.Expected{State: jobs.Discarded}); err != nil {
		t.Fatal(err)
	}
	body := p.page(t, "/admin/tasks/shown?ids=12.11")
	holds(t, body, `id="rows"`, "12:pending:3", "11:discarded:3")
	if strings.Contains(body, "<html") || strings.Contains(body, "/admin/tasks/10") {
		t.Errorf("more than those rows:\n%s", body)
	}
	for _, bad := range []string{"", "x", "-1", "1.2.", strings.Repeat("1.", 100) + "1"} {
		p.status(t, webtest.Get("/admin/tasks/shown?ids="+bad), http.StatusNotFound)
	}
}

// What strangers wrote is text also where an error is told, and in parts of pages (field case F33).
func TestMarkupOfStrangersIsTextWhenSomethingGoesWrong(t *testing.T) {
	t.Parallel()
	q := known()
	q.Rows[0].Subject, q.Rows[0].LastError, q.Rows[0].Kind = markup, markup, markup
	p := open(t, q, &taskstest.Stream{})
	escaped := url.QueryEscape(markup)
	for _, c := range []struct {
		r      *http.Request
		status int
	}{
		{webtest.Get("/admin/tasks/shown?ids=12"), http.StatusOK},
		{webtest.Get("/admin/tasks?q=state:" + escaped), http.StatusUnprocessableEntity},
		{webtest.Get("/admin/tasks?state=" + escaped), http.StatusUnprocessableEntity},
		{webtest.Get("/admin/tasks?cursor=" + escaped), http.StatusUnprocessableEntity},
		{webtest.Get("/admin/tasks?trail=" + escaped + "&cursor=1"), http.StatusOK},
		{webtest.Get("/admin/events?type=" + escaped), http.StatusUnprocessableEntity},
		{webtest.Get("/admin/tasks/" + url.PathEscape(`<svg onload=alert(7)>`)), http.StatusNotFound},
		{webtest.Get("/admin/events/" + url.PathEscape(`<svg onload=alert(7)>`)), http.StatusNotFound},
		{webtest.Post("/admin/periodic/" + url.PathEscape(`<svg onload=alert(7)>`) + "/run"), http.StatusNotFound},
		{webtest.Post("/admin/tasks/12/retry", "state", "retryable", "attempt", "1"), http.StatusConflict},
		{webtest.Post("/admin/tasks/matching", "action", "retry", "state", markup, "upto", "12"), http.StatusConflict},
	} {
		body := p.status(t, c.r, c.status)
		for _, live := range []string{"<svg onload", "<script>alert", "</script><script>"} {
			if strings.Contains(body, live) {
				t.Errorf("%s: %s is live", c.r.URL, live)
			}
		}
	}
}
