package admin_test

import (
	"bufio"
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/gatehouse-hq/gatehouse/internal/domain/tasks/taskstest"
	"github.com/gatehouse-hq/gatehouse/internal/infra/jobs"
)

// Nothing between the hub and the browser cuts the stream or holds it back
// (field case F37): the whole chain, a write timeout, a client that takes gzip.
func TestLiveUpdatesPassTheWholeChain(t *testing.T) {
	t.Parallel()
	q := known()
	p := open(t, q, &taskstest.Stream{})
	site := p.Serve(t, time.Second)
	ctx, hangUp := context.WithTimeout(context.Background(), time.Minute)
	defer hangUp()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, site.URL+"/admin/live", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Accept-Encoding", "gzip")
	answer, err := site.Client().Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }()
	lines := bufio.NewScanner(answer.Body)
	beats := 0
	wait := func(event string) {
		t.Helper()
		for lines.Scan() {
			switch lines.Text() {
			case "event: " + event:
				return
			case ":":
				beats++
			}
		}
		t.Fatalf("the stream ended before %q: %v", event, lines.Err())
	}
	wait("hello")
	time.Sleep(1500 * time.Millisecond) // past the write timeout
	if err := q.Retry(ctx, 12, jobs.Expected{State: jobs.Discarded}); err != nil {
		t.Fatal(err)
	}
	beats = 0
	wait("tasks")
	if beats > 0 {
		t.Error("the message came only with the next sign of life: something holds messages back")
	}
}

func TestPagesListenToTheStream(t *testing.T) {
	t.Parallel()
	p := open(t, known(), &taskstest.Stream{})
	for _, path := range []string{"/admin/", "/admin/tasks", "/admin/tasks/12", "/admin/periodic", "/admin/events"} {
		if body := p.page(t, path); !strings.Contains(body, `sse-connect="/admin/live"`) {
			t.Errorf("%s does not listen", path)
		}
	}
	holds(t, p.page(t, "/admin/tasks?state=discarded"), `hx-get="/admin/tasks/new?state=discarded&amp;after=12"`)
	holds(t, p.page(t, "/admin/tasks/new?after=11"), "1 new")
}
