package meili_test

import (
	"context"
	"errors"
	"maps"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gatehouse-hq/gatehouse/internal/infra/search"
	"github.com/gatehouse-hq/gatehouse/internal/infra/search/meili"
	"github.com/gatehouse-hq/gatehouse/internal/infra/search/searchtest"
	fake "github.com/gatehouse-hq/gatehouse/mock-stack/meili"
)

// each is every method of the port that talks to the server, a write first.
func each(e search.Engine) map[string]func(context.Context) error {
	return map[string]func(context.Context) error{
		"upsert": func(ctx context.Context) error { return e.Upsert(ctx, []search.Document{note(1, 2, "pear")}) },
		"remove": func(ctx context.Context) error { return e.Remove(ctx, []string{searchtest.ID(2)}) },
		"search": func(ctx context.Context) error {
			_, err := e.Search(ctx, search.Query{Text: "plum", Limit: 10})
			return err
		},
		"each":    func(ctx context.Context) error { return e.Each(ctx, func([]search.Held) error { return nil }) },
		"check":   func(ctx context.Context) error { return e.Check(ctx) },
		"prepare": func(ctx context.Context) error { return e.Prepare(ctx) },
	}
}

// ofAJob is what a job may take: calls end well before.
const ofAJob = 30 * time.Second

// During an outage every call fails, once: trying again is for the job.
func TestOutage(t *testing.T) {
	t.Parallel()
	// The client's own retries come after 1 s: the deadline of a call must
	// leave them time, or the count below proves nothing.
	for outage, patience := range map[fake.Outage]time.Duration{
		fake.OutageRefuse: 5 * time.Second, fake.Outage503: 5 * time.Second, fake.OutageHang: 300 * time.Millisecond,
	} {
		t.Run(string(outage), func(t *testing.T) {
			t.Parallel()
			server := start(t)
			e := open(t, server.URL(), secret, meili.Options{Index: index, CallTimeout: time.Minute, WriteTimeout: time.Minute})
			put(t, e, note(1, 1, "plum"), note(2, 1, "plum"))
			if err := server.SetOutage(outage); err != nil {
				t.Fatal(err)
			}
			before := total(server)
			ctx, cancel := context.WithTimeout(t.Context(), ofAJob)
			defer cancel()
			for name, call := range each(open(t, server.URL(), secret, meili.Options{Index: index, CallTimeout: patience})) {
				switch err := call(ctx); {
				case err == nil:
					t.Errorf("%s succeeded", name)
				case ctx.Err() != nil:
					t.Fatalf("%s was ended by its job's deadline, not by its own: %v", name, err)
				case outage != fake.OutageHang && errors.Is(err, context.DeadlineExceeded):
					t.Errorf("%s waited for more than the failure: %v", name, err)
				}
			}
			// One that hangs may be given up before its request arrived.
			n := total(server) - before
			if n > 6 || n < 6 && outage == fake.Outage503 {
				t.Errorf("6 failing calls asked %d times", n)
			}
			if err := server.SetOutage(fake.OutageNone); err != nil {
				t.Fatal(err)
			}
			for _, name := range []string{"upsert", "remove"} { // as the job would
				if err := each(e)[name](t.Context()); err != nil {
					t.Errorf("%s after the outage: %v", name, err)
				}
			}
			if got := held(t, e); !maps.Equal(got, map[string]int64{searchtest.ID(1): 2}) {
				t.Errorf("held %v", got)
			}
		})
	}
}

func total(server *fake.Running) (n int) {
	for _, times := range server.Requests() {
		n += times
	}
	return n
}

// A server that accepts and never answers (field case F07): each call ends at
// its own deadline, by default well under the 30 s of a job.
func TestNeverAnswers(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0") // connections queue in the kernel, nobody accepts
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	e := open(t, "http://"+listener.Addr().String(), "", meili.Options{})
	var calls sync.WaitGroup
	for name, call := range each(e) {
		calls.Go(func() {
			ctx, cancel := context.WithTimeout(t.Context(), ofAJob)
			defer cancel()
			err := call(ctx)
			if ctx.Err() != nil {
				t.Errorf("%s was ended by its job's deadline, not by its own", name)
			}
			if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "did not answer in time") {
				t.Errorf("%s: %v", name, err)
			}
		})
	}
	calls.Wait()
}

// 202 is not success (field case F30): the write failed later, was forgotten,
// or is never done.
func TestAcceptedIsNotDone(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		faults fake.TaskFaults
		says   string
	}{
		"fails":    {fake.TaskFaults{Fail: 1}, "no_space_left_on_device"},
		"vanishes": {fake.TaskFaults{Vanish: 1}, "unknown to it now"},
		// Which of the two bounds ends it, the call's or the write's, is a matter of a moment.
		"lasts": {fake.TaskFaults{Delay: time.Hour}, "in time"},
	} {
		for _, write := range []string{"upsert", "remove"} {
			t.Run(write+" "+name, func(t *testing.T) {
				t.Parallel()
				server := start(t)
				e := open(t, server.URL(), secret, meili.Options{Index: index, CallTimeout: time.Minute, WriteTimeout: time.Minute})
				put(t, e, note(1, 1, "plum"), note(2, 1, "plum"))
				server.SetTaskFaults(c.faults)
				if c.faults.Delay > 0 { // the fake works on it for an hour
					hasty := open(t, server.URL(), secret, meili.Options{Index: index, WriteTimeout: time.Second})
					wantError(t, each(hasty)[write](t.Context()), c.says)
					return
				}
				wantError(t, each(e)[write](t.Context()), c.says)
				if got := held(t, e); !maps.Equal(got, map[string]int64{searchtest.ID(1): 1, searchtest.ID(2): 1}) {
					t.Errorf("held %v", got)
				}
				if err := each(e)[write](t.Context()); err != nil {
					t.Errorf("the job's next try: %v", err)
				}
			})
		}
	}
}

// Task numbers start over when the server's disk is replaced: somebody else's
// success under our number is not ours.
func TestNumberOfAnotherTask(t *testing.T) {
	t.Parallel()
	server := start(t)
	for range 20 {
		byHand(t, server, "POST", "/indexes/"+index+"/documents", []map[string]string{{"id": "other"}})
	}
	server.Snapshot("of others")
	server.Wipe()
	e := engineOf(t, server)
	put(t, e, note(1, 1, "plum")) // among the first tasks, so the next has the number of one of the twenty
	server.SetTaskFaults(fake.TaskFaults{Delay: time.Hour})
	route := "POST /indexes/" + index + "/documents"
	asked := server.Requests()[route]
	ended := make(chan error, 1)
	go func() { ended <- e.Upsert(t.Context(), []search.Document{note(2, 1, "pear")}) }()
	for server.Requests()[route] == asked {
		time.Sleep(time.Millisecond)
	}
	if err := server.Restore("of others"); err != nil {
		t.Fatal(err)
	}
	wantError(t, <-ended, "unknown to it now")
}

// The error of a failed task must not carry a note's text into the panel.
func TestFailureKeepsTextBack(t *testing.T) {
	t.Parallel()
	server := start(t)
	e := engineOf(t, server)
	bad := note(1, 1, strings.Repeat("a secret of the note. ", 100))
	bad.ID = "not an id!"
	err := e.Upsert(t.Context(), []search.Document{bad})
	wantError(t, err, "invalid_document_id")
	if len(err.Error()) > 500 || strings.Contains(err.Error(), "a secret") {
		t.Errorf("the error tells the text: %v", err)
	}
}

// A wiped server (F30) holds nothing and says so, and is prepared again by the
// next write or check.
func TestWiped(t *testing.T) {
	t.Parallel()
	server := start(t)
	e := engineOf(t, server)
	put(t, e, note(1, 1, "plum"))
	server.Wipe()
	if got := held(t, e); len(got) != 0 {
		t.Errorf("held %v", got)
	}
	if _, err := e.Search(t.Context(), search.Query{Text: "plum", Limit: 10}); err == nil {
		t.Error("a search without an index found nothing, without a word")
	}
	if err := e.Remove(t.Context(), []string{searchtest.ID(1)}); err != nil {
		t.Errorf("remove: %v", err)
	}
	put(t, e, note(2, 1, "plum"))
	res, err := e.Search(t.Context(), search.Query{Text: "plum", PublishedOnly: true, Limit: 10})
	if err != nil || res.Total != 1 {
		t.Errorf("after a write: %+v, %v", res, err)
	}
	server.Wipe()
	if err := e.Prepare(t.Context()); err != nil {
		t.Fatal(err)
	}
	res, err = e.Search(t.Context(), search.Query{Text: "plum", PublishedOnly: true, Limit: 10})
	if err != nil || res.Total != 0 {
		t.Errorf("after a check: %+v, %v", res, err)
	}
}

// An older state (F30): Each shows what came back and what is old, removing
// and writing puts it right.
func TestRestored(t *testing.T) {
	t.Parallel()
	server := start(t)
	e := engineOf(t, server)
	put(t, e, note(1, 1, "plum"), note(2, 1, "plum"))
	server.Snapshot("older")
	put(t, e, note(1, 2, "pear"), note(3, 1, "fig"))
	if err := e.Remove(t.Context(), []string{searchtest.ID(2)}); err != nil {
		t.Fatal(err)
	}
	if err := server.Restore("older"); err != nil {
		t.Fatal(err)
	}
	if got := held(t, e); !maps.Equal(got, map[string]int64{searchtest.ID(1): 1, searchtest.ID(2): 1}) {
		t.Fatalf("held %v", got)
	}
	err := e.Each(t.Context(), func([]search.Held) error { return e.Remove(t.Context(), []string{searchtest.ID(2)}) })
	if err != nil {
		t.Fatal(err)
	}
	put(t, e, note(1, 2, "pear"), note(3, 1, "fig"))
	if got := held(t, e); !maps.Equal(got, map[string]int64{searchtest.ID(1): 2, searchtest.ID(3): 1}) {
		t.Errorf("held %v", got)
	}
}
