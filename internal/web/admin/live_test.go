package admin_test

import (
	"bufio"
	"context"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/gatehouse-hq/gatehouse/internal/domain/tasks/taskstest"
	"github.com/gatehouse-hq/gatehouse/internal/infra/jobs"
	"github.com/gatehouse-hq/gatehouse/internal/web/webtest"
)

// Nothing between the hub and the browser cuts the stream or holds it back
// (field case F37): the whole chain, a write timeout, a client that takes gzip.
func TestLiveUpdatesPassTheWholeChain(t *testing.T) {
	t.Parallel()
	q := known()
	p := open(t, q, &taskstest.Stream{})
	site := p.Serve(t, time.Second)
	ctx := context.Background()
	_, wait := listen(t, site.Client(), site.URL+"/admin/live")
	wait("hello")
	time.Sleep(1500 * time.Millisecond) // past the write timeout
	if err := q.Retry(ctx, 12, jobs.Expected{State: jobs.Discarded}); err != nil {
		t.Fatal(err)
	}
	if wait("tasks") > 0 {
		t.Error("the message came only with the next sign of life: something holds messages back")
	}
}

// What happens after a page's data was read and before its stream begins is told, on every page that listens.
func TestAPageCarriesThePositionOfItsData(t *testing.T) {
	t.Parallel()
	q := known()
	p := open(t, q, &taskstest.Stream{})
	site := p.Serve(t, time.Minute)
	for i, path := range []string{"/admin/", "/admin/tasks", "/admin/tasks/12", "/admin/periodic", "/admin/events", "/admin/webhooks", "/admin/notes", "/admin/instance"} {
		at := regexp.MustCompile(`data-stream-at="([a-z0-9.-]+)"`).FindStringSubmatch(p.page(t, path))
		if at == nil {
			t.Errorf("%s does not say where the stream was", path)
			continue
		}
		if _, err := q.Enqueue(context.Background(), q.AllKinds[0].Name, i, jobs.EnqueueOpts{}); err != nil {
			t.Fatal(err)
		}
		_, wait := listen(t, site.Client(), site.URL+"/admin/live?last="+at[1])
		wait("tasks")
	}
	part := webtest.Get("/admin/tasks")
	part.Header.Set("Hx-Request", "true")
	if body := p.status(t, part, http.StatusOK); !strings.Contains(body, `data-stream-at=""`) {
		t.Error("a part is not put in with its page's position, and has asked for one")
	}
}

// A browser that signs out in one tab still has streams in others.
func TestAStreamEndsWithItsSession(t *testing.T) {
	t.Parallel()
	p := open(t, known(), &taskstest.Stream{})
	site := p.Serve(t, time.Minute)
	lines, wait := listen(t, site.Client(), site.URL+"/admin/live")
	wait("hello")
	if _, err := p.db.Exec(context.Background(), `delete from public.sessions`); err != nil {
		t.Fatal(err)
	}
	if err := p.queue.Retry(context.Background(), 12, jobs.Expected{State: jobs.Discarded}); err != nil {
		t.Fatal(err)
	}
	wait("out")
	for lines.Scan() {
		if strings.HasPrefix(lines.Text(), "data:") {
			t.Errorf("after the end: %q", lines.Text())
		}
	}
	again := webtest.Get("/admin/live")
	again.Header.Set("Accept", "text/event-stream")
	p.status(t, again, http.StatusUnauthorized)
}

// listen opens a stream; wait reads on to a message and returns how many signs of life came before.
func listen(t *testing.T, c *http.Client, address string) (lines *bufio.Scanner, wait func(text string) (beats int)) {
	t.Helper()
	ctx, hangUp := context.WithTimeout(context.Background(), time.Minute)
	t.Cleanup(hangUp)
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Accept-Encoding", "gzip")
	answer, err := c.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = answer.Body.Close() })
	lines = bufio.NewScanner(answer.Body)
	return lines, func(text string) (beats int) {
		t.Helper()
		for lines.Scan() {
			switch lines.Text() {
			case "data: " + text:
				return beats
			case "data: beat":
				beats++
			}
		}
		t.Fatalf("the stream ended before %q: %v", text, lines.Err())
		return 0
	}
}

func TestPagesListenToTheStream(t *testing.T) {
	t.Parallel()
	p := open(t, known(), &taskstest.Stream{})
	for _, path := range []string{"/admin/", "/admin/tasks", "/admin/tasks/12", "/admin/periodic", "/admin/events"} {
		if body := p.page(t, path); !strings.Contains(body, `data-stream="/admin/live"`) {
			t.Errorf("%s does not listen", path)
		}
	}
	holds(t, p.page(t, "/admin/tasks?state=discarded"), `hx-get="/admin/tasks/new?state=discarded&amp;after=12"`)
	holds(t, p.page(t, "/admin/tasks/new?after=11"), "1 new")
}
