package tasks_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/gatehouse-hq/gatehouse/internal/domain/tasks"
	"github.com/gatehouse-hq/gatehouse/internal/domain/tasks/taskstest"
	"github.com/gatehouse-hq/gatehouse/internal/infra/events"
	"github.com/gatehouse-hq/gatehouse/internal/infra/jobs"
	"github.com/gatehouse-hq/gatehouse/internal/infra/op"
)

func ops(t *testing.T, d *tasks.Domain) *op.Set {
	t.Helper()
	set, err := op.Collect(d.Module().Ops...)
	if err != nil {
		t.Fatal(err)
	}
	return set
}

func TestEveryOperationIsDeclared(t *testing.T) {
	t.Parallel()
	var names []string
	for _, o := range ops(t, taskstest.New(&taskstest.Queue{}, &taskstest.Stream{})).All() {
		names = append(names, o.Name)
		if o.In.Type != "object" {
			t.Errorf("%s: input is %q, not an object", o.Name, o.In.Type)
		}
	}
	want := strings.Fields(`events.get events.list events.requeue events.types tasks.cancel tasks.cancel_matching tasks.get tasks.health tasks.list
		tasks.overview tasks.pause_periodic tasks.periodic tasks.retry tasks.retry_matching tasks.run_periodic`)
	if !slices.Equal(names, want) {
		t.Errorf("operations are %v, want %v", names, want)
	}
}

// Empty lists are [] (field case F53): a client that checks the answer against
// its schema drops null.
func TestAnswersOfAnEmptySystemHoldNoNull(t *testing.T) {
	t.Parallel()
	set := ops(t, taskstest.New(&taskstest.Queue{}, &taskstest.Stream{}))
	for _, name := range []string{"tasks.overview", "tasks.list", "tasks.periodic", "tasks.health", "events.list", "events.types"} {
		o, _ := set.Get(name)
		out, err := o.Run(context.Background(), nil)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		b, err := json.Marshal(out)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(b), "null") {
			t.Errorf("%s answers %s", name, b)
		}
	}
}

func TestActingOnATaskThatHasMovedOnChangesNothing(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		in   tasks.Reference
		code op.Code
		left jobs.State
	}{
		{"as seen", tasks.Reference{ID: 5, State: "discarded", Attempt: 3}, "", "pending"},
		{"any attempt", tasks.Reference{ID: 5, State: "discarded"}, "", "pending"},
		{"another state", tasks.Reference{ID: 5, State: "retryable", Attempt: 3}, op.Conflict, "discarded"},
		{"another attempt", tasks.Reference{ID: 5, State: "discarded", Attempt: 2}, op.Conflict, "discarded"},
		{"no such task", tasks.Reference{ID: 6, State: "discarded"}, op.NotFound, "discarded"},
		{"no number", tasks.Reference{State: "discarded"}, op.Invalid, "discarded"},
		{"no state of ours", tasks.Reference{ID: 5, State: "gone"}, op.Invalid, "discarded"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			q := &taskstest.Queue{Rows: []jobs.Job{{ID: 5, State: jobs.Discarded, Attempt: 3}}}
			_, err := taskstest.New(q, &taskstest.Stream{}).Retry(context.Background(), c.in)
			if got := op.CodeOf(err); got != c.code {
				t.Errorf("error %v has code %q, want %q", err, got, c.code)
			}
			if q.Rows[0].State != c.left {
				t.Errorf("task is %s, want %s", q.Rows[0].State, c.left)
			}
		})
	}
}

func TestSearchLine(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text, wrong string
		want        tasks.Query
	}{
		{"", "", tasks.Query{}},
		{"id:12", "", tasks.Query{ID: 12}},
		{"kind:corpus.index state:discarded", "", tasks.Query{Kind: "corpus.index", States: []tasks.State{"discarded"}}},
		{"args.note:a:b dial tcp: refused", "", tasks.Query{Args: map[string]string{"note": "a:b"}, Error: "dial tcp: refused"}},
		{"args.:x", "", tasks.Query{Error: "args.:x"}},
		{"id:twelve", "q", tasks.Query{}},
		{"id:-1", "q", tasks.Query{}},
		{"state:lost", "q", tasks.Query{}},
		{"kind:\xff", "kind", tasks.Query{}},
		{"args.a:\x00", "args", tasks.Query{}},
	} {
		got, err := tasks.ParseSearch(c.text)
		var e *op.Error
		if errors.As(err, &e) != (c.wrong != "") || e != nil && e.Field() != c.wrong {
			t.Errorf("%q: error %v, want one at %q", c.text, err, c.wrong)
			continue
		}
		if c.wrong == "" {
			a, _ := json.Marshal(got)
			b, _ := json.Marshal(c.want)
			if string(a) != string(b) {
				t.Errorf("%q reads as %s, want %s", c.text, a, b)
			}
		}
	}
}

func FuzzParseSearch(f *testing.F) {
	for _, s := range []string{"id:1 x", "args.a:b", "state:running", "kind:", ":", "id:\x00"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		q, err := tasks.ParseSearch(s)
		if err != nil && op.CodeOf(err) != op.Invalid {
			t.Fatalf("%q: %v is no error for a person", s, err)
		}
		text := q.Kind + q.Error
		for name, value := range q.Args {
			text += name + value
		}
		if err == nil && (strings.ContainsRune(text, 0) || !utf8.ValidString(text)) {
			t.Fatalf("%q: what PostgreSQL refuses reached the query", s)
		}
	})
}

// Webhooks alone have 200 workers: behind all that is under way for a moment stands the one that will not move.
func TestAStuckTaskIsSeenBehindManyThatRun(t *testing.T) {
	t.Parallel()
	long := taskstest.Noon.Add(-time.Hour)
	q := &taskstest.Queue{AllKinds: []jobs.Kind{{Name: "k", Policy: jobs.Policy{Timeout: time.Minute}}}}
	for id := jobs.ID(250); id > 1; id-- {
		q.Rows = append(q.Rows, jobs.Job{ID: id, Kind: "k", State: jobs.Running, StartedAt: &taskstest.Noon})
	}
	q.Rows = append(q.Rows, jobs.Job{ID: 1, Kind: "k", State: jobs.Running, StartedAt: &long})
	h, err := taskstest.New(q, &taskstest.Stream{}).Health(t.Context(), tasks.None{})
	if err != nil || h.Verdict != tasks.Stuck || len(h.Reasons) != 1 || h.Reasons[0].Link != "/admin/tasks/1" {
		t.Errorf("%+v, %v", h, err)
	}
}

func TestHealthNamesWhatIsWrong(t *testing.T) {
	t.Parallel()
	ago := func(d time.Duration) *time.Time { at := taskstest.Noon.Add(-d); return &at }
	for _, c := range []struct {
		code    string
		verdict tasks.Verdict
		q       *taskstest.Queue
		s       *taskstest.Stream
	}{
		{"", tasks.OK, &taskstest.Queue{AllQueues: []jobs.QueueStatus{{Name: "index", Limit: 4, Waiting: jobs.Count{N: 9}, Oldest: ago(time.Second)}}}, &taskstest.Stream{Size: events.Backlog{Waiting: jobs.Count{N: 1000}, Oldest: time.Minute}}},
		{"events_backlog", tasks.Stuck, &taskstest.Queue{}, &taskstest.Stream{Size: events.Backlog{Waiting: jobs.Count{N: 1001}}}},
		{"events_backlog", tasks.Stuck, &taskstest.Queue{}, &taskstest.Stream{Size: events.Backlog{Waiting: jobs.Count{N: 1}, Oldest: 6 * time.Minute}}},
		{"events_poisoned", tasks.Attention, &taskstest.Queue{}, &taskstest.Stream{Size: events.Backlog{Poisoned: jobs.Count{N: 1}}}},
		{"queue_without_worker", tasks.Stuck, &taskstest.Queue{AllQueues: []jobs.QueueStatus{{Name: "index", Waiting: jobs.Count{N: 1}}}}, &taskstest.Stream{}},
		{"queue_slow", tasks.Attention, &taskstest.Queue{AllQueues: []jobs.QueueStatus{{Name: "index", Limit: 4, Waiting: jobs.Count{N: 1}, Oldest: ago(time.Hour)}}}, &taskstest.Stream{}},
		{"clock_skew", tasks.Attention, &taskstest.Queue{AllProcesses: []jobs.Process{{Alive: true, SkewMS: -501}}}, &taskstest.Stream{}},
		{"process_dead", tasks.Attention, &taskstest.Queue{AllProcesses: []jobs.Process{{BeatAt: taskstest.Noon.Add(-time.Minute)}}}, &taskstest.Stream{}},
		{"", tasks.OK, &taskstest.Queue{AllProcesses: []jobs.Process{{BeatAt: taskstest.Noon.Add(-time.Minute), StoppedAt: ago(time.Minute)}, {BeatAt: taskstest.Noon.Add(-time.Hour)}}}, &taskstest.Stream{}},
		{"periodic_overdue", tasks.Attention, &taskstest.Queue{Periodics: []jobs.PeriodicStatus{{Name: "x", Overdue: true}}}, &taskstest.Stream{}},
		{"", tasks.OK, &taskstest.Queue{Periodics: []jobs.PeriodicStatus{{Name: "x", Overdue: true, Paused: true}}}, &taskstest.Stream{}},
		{"tasks_discarded", tasks.Attention, &taskstest.Queue{AllKinds: []jobs.Kind{{Name: "k"}}, Rows: []jobs.Job{{ID: 1, Kind: "k", State: jobs.Discarded}}}, &taskstest.Stream{}},
		{"task_stuck", tasks.Stuck, &taskstest.Queue{AllKinds: []jobs.Kind{{Name: "k", Policy: jobs.Policy{Timeout: time.Minute}}}, Rows: []jobs.Job{{ID: 1, Kind: "k", State: jobs.Running, StartedAt: ago(3 * time.Minute)}}}, &taskstest.Stream{}},
		{"", tasks.OK, &taskstest.Queue{AllKinds: []jobs.Kind{{Name: "k", Policy: jobs.Policy{Timeout: time.Minute}}}, Rows: []jobs.Job{{ID: 1, Kind: "k", State: jobs.Running, StartedAt: ago(90 * time.Second)}}}, &taskstest.Stream{}},
		{"cancel_ignored", tasks.Stuck, &taskstest.Queue{AllKinds: []jobs.Kind{{Name: "k", Policy: jobs.Policy{Timeout: time.Minute}}}, Rows: []jobs.Job{{ID: 1, Kind: "k", State: jobs.Running, CancelAsked: true, StartedAt: ago(3 * time.Minute)}}}, &taskstest.Stream{}},
	} {
		h, err := taskstest.New(c.q, c.s).Health(context.Background(), tasks.None{})
		if err != nil {
			t.Fatal(err)
		}
		if h.Verdict != c.verdict {
			t.Errorf("%s: verdict %s, want %s", c.code, h.Verdict, c.verdict)
		}
		if c.code == "" {
			if len(h.Reasons) > 0 {
				t.Errorf("healthy, yet %v", h.Reasons)
			}
			continue
		}
		if len(h.Reasons) != 1 || h.Reasons[0].Code != c.code || h.Reasons[0].Evidence == "" || h.Reasons[0].Next == "" {
			t.Errorf("want the one reason %s, got %+v", c.code, h.Reasons)
		}
	}
}

// What raises an alert raises none at its bound: it goes by itself when its cause does.
func TestAlertsGoAtTheirBounds(t *testing.T) {
	t.Parallel()
	ago := func(d time.Duration) *time.Time { at := taskstest.Noon.Add(-d); return &at }
	kinds := []jobs.Kind{{Name: "k", Policy: jobs.Policy{Timeout: time.Minute}}}
	running := func(d time.Duration) []jobs.Job {
		return []jobs.Job{{ID: 1, Kind: "k", State: jobs.Running, StartedAt: ago(d)}}
	}
	for name, c := range map[string]struct {
		at, above func(*taskstest.Queue, *taskstest.Stream)
	}{
		"events_backlog": {
			func(_ *taskstest.Queue, s *taskstest.Stream) {
				s.Size = events.Backlog{Waiting: jobs.Count{N: events.AlertWaiting}, Oldest: events.AlertAge}
			},
			func(_ *taskstest.Queue, s *taskstest.Stream) {
				s.Size = events.Backlog{Waiting: jobs.Count{N: events.AlertWaiting}, Oldest: events.AlertAge + 1}
			},
		},
		"events_poisoned": {
			func(*taskstest.Queue, *taskstest.Stream) {},
			func(_ *taskstest.Queue, s *taskstest.Stream) { s.Size.Poisoned.N = 1 },
		},
		"task_stuck": {
			func(q *taskstest.Queue, _ *taskstest.Stream) { q.AllKinds, q.Rows = kinds, running(2*time.Minute) },
			func(q *taskstest.Queue, _ *taskstest.Stream) { q.AllKinds, q.Rows = kinds, running(2*time.Minute+1) },
		},
		"queue_without_worker": {
			func(q *taskstest.Queue, _ *taskstest.Stream) { q.AllQueues = []jobs.QueueStatus{{Name: "index"}} },
			func(q *taskstest.Queue, _ *taskstest.Stream) {
				q.AllQueues = []jobs.QueueStatus{{Name: "index", Waiting: jobs.Count{N: 1}}}
			},
		},
		"queue_slow": {
			func(q *taskstest.Queue, _ *taskstest.Stream) {
				q.AllQueues = []jobs.QueueStatus{{Name: "index", Limit: 4, Waiting: jobs.Count{N: 1}, Oldest: ago(tasks.QueueAge)}}
			},
			func(q *taskstest.Queue, _ *taskstest.Stream) {
				q.AllQueues = []jobs.QueueStatus{{Name: "index", Limit: 4, Waiting: jobs.Count{N: 1}, Oldest: ago(tasks.QueueAge + 1)}}
			},
		},
		"clock_skew": {
			func(q *taskstest.Queue, _ *taskstest.Stream) {
				q.AllProcesses = []jobs.Process{{Alive: true, SkewMS: 500}}
			},
			func(q *taskstest.Queue, _ *taskstest.Stream) {
				q.AllProcesses = []jobs.Process{{Alive: true, SkewMS: 501}}
			},
		},
		"process_dead": {
			func(q *taskstest.Queue, _ *taskstest.Stream) {
				q.AllProcesses = []jobs.Process{{BeatAt: *ago(tasks.DeathNews)}}
			},
			func(q *taskstest.Queue, _ *taskstest.Stream) {
				q.AllProcesses = []jobs.Process{{BeatAt: *ago(tasks.DeathNews - 1)}}
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for above, set := range map[bool]func(*taskstest.Queue, *taskstest.Stream){false: c.at, true: c.above} {
				q, s := &taskstest.Queue{}, &taskstest.Stream{}
				set(q, s)
				h, err := taskstest.New(q, s).Health(context.Background(), tasks.None{})
				if err != nil {
					t.Fatal(err)
				}
				if found := len(h.Reasons) == 1 && h.Reasons[0].Code == name && strings.HasPrefix(h.Reasons[0].Link, "/admin/"); found != above || !above && len(h.Reasons) > 0 {
					t.Errorf("above its bound %v: %+v", above, h.Reasons)
				}
			}
		})
	}
}

// engine is a search engine that answers as it is told.
type engine func(context.Context) error

func (engine) Name() string                      { return "Meilisearch" }
func (e engine) Check(ctx context.Context) error { return e(ctx) }

func TestSearchThatCannotBeReachedIsAnAlertUntilItAnswers(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, says string
		check      engine
	}{
		{"answers", "", func(context.Context) error { return nil }},
		{"refuses", "does not answer as it should", func(context.Context) error { return errors.New("secret: refused") }},
		{"hangs", "did not answer within 2s", func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			d := taskstest.New(&taskstest.Queue{}, &taskstest.Stream{})
			d.Search = c.check
			h, err := d.Health(context.Background(), tasks.None{})
			if err != nil {
				t.Fatal(err)
			}
			if c.says == "" {
				if len(h.Reasons) > 0 {
					t.Errorf("it answers, yet %+v", h.Reasons)
				}
				return
			}
			if len(h.Reasons) != 1 || h.Reasons[0].Code != "search_unreachable" || !strings.Contains(h.Reasons[0].Evidence, c.says) || strings.Contains(h.Reasons[0].Evidence, "secret") {
				t.Errorf("%+v", h.Reasons)
			}
		})
	}
}

// A turn that failed needs nobody once a later one went well.
func TestAFailedTurnIsMadeGoodByTheNext(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		history []jobs.PeriodicRun
		reasons int
	}{
		{[]jobs.PeriodicRun{{OK: false}, {OK: true}}, 1},
		{[]jobs.PeriodicRun{{OK: true}, {OK: false}}, 0},
	} {
		q := &taskstest.Queue{AllKinds: []jobs.Kind{{Name: jobs.PeriodicKind}}, Periodics: []jobs.PeriodicStatus{{Name: "sweep", History: c.history}},
			Rows: []jobs.Job{{ID: 1, Kind: jobs.PeriodicKind, State: jobs.Discarded}}}
		h, err := taskstest.New(q, &taskstest.Stream{}).Health(context.Background(), tasks.None{})
		if err != nil || len(h.Reasons) != c.reasons {
			t.Errorf("%+v: reasons %+v, error %v", c.history, h.Reasons, err)
		}
	}
}

// A task is compared with its own kind, and the finished ones are asked only when one runs long.
func TestATaskThatTakesUnusuallyLongIsNamed(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name      string
		ran, took time.Duration
		of        int
		asked     int
		slow      bool
	}{
		{"at its bound", 2 * time.Minute, time.Minute, 200, 1, false},
		{"past it", 2*time.Minute + time.Second, time.Minute, 200, 1, true},
		{"a quick kind, not yet long", 30 * time.Second, time.Millisecond, 200, 0, false},
		{"a quick kind, long", 31 * time.Second, time.Millisecond, 200, 1, true},
		{"too few to compare with", 5 * time.Minute, time.Second, 19, 1, false},
		{"enough to compare with", 5 * time.Minute, time.Second, 20, 1, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			started := taskstest.Noon.Add(-c.ran)
			q := &taskstest.Queue{AllKinds: []jobs.Kind{{Name: "k", Policy: jobs.Policy{Timeout: 10 * time.Minute}}}, Rows: []jobs.Job{
				{ID: 2, Kind: "k", State: jobs.Running, StartedAt: &taskstest.Noon}, {ID: 1, Kind: "k", State: jobs.Running, StartedAt: &started},
			}}
			d, asked := taskstest.New(q, &taskstest.Stream{}), 0
			d.Usual = func(_ context.Context, kind string) (time.Duration, int, error) {
				asked++
				return c.took, c.of, nil
			}
			h, err := d.Health(context.Background(), tasks.None{})
			if err != nil || asked != c.asked {
				t.Fatalf("asked %d times, want %d; error %v", asked, c.asked, err)
			}
			if slow := len(h.Reasons) == 1 && h.Reasons[0].Code == "task_slow" && h.Reasons[0].Link == "/admin/tasks/1"; slow != c.slow {
				t.Errorf("reasons are %+v", h.Reasons)
			}
		})
	}
}

func TestWhatIsStuckStandsFirst(t *testing.T) {
	t.Parallel()
	q := &taskstest.Queue{AllProcesses: []jobs.Process{{Alive: true, SkewMS: 900}}, AllQueues: []jobs.QueueStatus{{Name: "index", Waiting: jobs.Count{N: 1}}}, Periodics: []jobs.PeriodicStatus{{Name: "x", Overdue: true}}}
	s := &taskstest.Stream{Size: events.Backlog{Poisoned: jobs.Count{N: 1}}}
	h, err := taskstest.New(q, s).Health(context.Background(), tasks.None{})
	if err != nil {
		t.Fatal(err)
	}
	var codes []string
	for _, r := range h.Reasons {
		codes = append(codes, r.Code)
	}
	if want := []string{"queue_without_worker", "events_poisoned", "clock_skew", "periodic_overdue"}; !slices.Equal(codes, want) || h.Verdict != tasks.Stuck {
		t.Errorf("%s for %v, want %v", h.Verdict, codes, want)
	}
}

func TestHealthThatCannotBeToldIsAnError(t *testing.T) {
	t.Parallel()
	broken := errors.New("no database")
	if _, _, err := taskstest.New(&taskstest.Queue{Broken: broken}, &taskstest.Stream{}).Healthy(context.Background()); !errors.Is(err, broken) {
		t.Errorf("error is %v", err)
	}
}

func TestBulkRetriesWhatMatchedAndNothingElse(t *testing.T) {
	t.Parallel()
	later := taskstest.Noon.Add(time.Second)
	q := &taskstest.Queue{Rows: []jobs.Job{
		{ID: 9, Kind: "k", State: jobs.Discarded},                    // made after the owner asked
		{ID: 4, Kind: "k", State: jobs.Discarded, StartedAt: &later}, // failed again meanwhile
		{ID: 3, Kind: "other", State: jobs.Discarded},
		{ID: 2, Kind: "k", State: jobs.Discarded},
		{ID: 1, Kind: "k", State: jobs.Completed},
	}}
	d := taskstest.New(q, &taskstest.Stream{})
	task, err := d.RetryMatching(context.Background(), tasks.MatchIn{States: []tasks.State{"discarded"}, Kind: "k", Upto: 8})
	if err != nil {
		t.Fatal(err)
	}
	if task.Kind != tasks.BulkKind || len(q.Enqueued) != 1 {
		t.Fatalf("got task %+v and %d enqueued", task, len(q.Enqueued))
	}
	args, err := json.Marshal(q.Enqueued[0])
	if err != nil {
		t.Fatal(err)
	}
	var report json.RawMessage
	ctx := jobs.WithRun(context.Background(), jobs.Run{ID: task.ID}, func(r json.RawMessage) { report = r })
	if err := d.Module().Kinds[0].Handler(ctx, args); err != nil {
		t.Fatal(err)
	}
	var pending []jobs.ID
	for _, j := range q.Rows {
		if j.State == jobs.Pending && j.Kind != tasks.BulkKind {
			pending = append(pending, j.ID)
		}
	}
	if !slices.Equal(pending, []jobs.ID{2}) {
		t.Errorf("retried %v, want task 2 alone", pending)
	}
	if string(report) != `{"done":1,"left_alone":0}` {
		t.Errorf("report %s", report)
	}
}

// What was shown is what is done: a task that comes to match between plan and deed is left alone, old as it may be.
func TestAPlanOfManyIsFrozen(t *testing.T) {
	t.Parallel()
	q := &taskstest.Queue{Rows: []jobs.Job{{ID: 9, Kind: "k", State: jobs.Discarded}, {ID: 5, Kind: "k", State: jobs.Running}, {ID: 3, Kind: "k", State: jobs.Discarded}}}
	d := taskstest.New(q, &taskstest.Stream{})
	ops := d.Module().Ops
	bulk := ops[slices.IndexFunc(ops, func(o op.Op) bool { return o.Name == "tasks.retry_matching" })]
	preview, frozen, err := bulk.Plan(context.Background(), json.RawMessage(`{"states":["discarded"]}`))
	if err != nil || preview.Count != 2 {
		t.Fatalf("%+v %v", preview, err)
	}
	q.Rows[1].State = jobs.Discarded // it failed while the owner was reading
	if _, err := bulk.Run(context.Background(), frozen); err != nil {
		t.Fatal(err)
	}
	args, err := json.Marshal(q.Enqueued[0])
	if err != nil {
		t.Fatal(err)
	}
	ctx := jobs.WithRun(context.Background(), jobs.Run{ID: 10}, func(json.RawMessage) {})
	if err := d.Module().Kinds[0].Handler(ctx, args); err != nil {
		t.Fatal(err)
	}
	for _, j := range q.Rows {
		if (j.ID == 5 && j.State != jobs.Discarded) || ((j.ID == 9 || j.ID == 3) && j.State != jobs.Pending) {
			t.Errorf("task %d is %s", j.ID, j.State)
		}
	}
	if _, err := d.RetryMatching(context.Background(), tasks.MatchIn{States: []tasks.State{"discarded"}, IDs: make([]tasks.ID, 1001)}); op.CodeOf(err) != op.Invalid {
		t.Errorf("any number of ids: %v", err)
	}
}

func TestBulkRefusesWhatItCannotDo(t *testing.T) {
	t.Parallel()
	d := taskstest.New(&taskstest.Queue{}, &taskstest.Stream{})
	for name, c := range map[string]struct {
		in   tasks.MatchIn
		code op.Code
	}{
		"no state":      {tasks.MatchIn{}, op.Invalid},
		"completed":     {tasks.MatchIn{States: []tasks.State{"completed"}}, op.Invalid},
		"nothing there": {tasks.MatchIn{States: []tasks.State{"discarded"}}, op.Conflict},
	} {
		if _, err := d.RetryMatching(context.Background(), c.in); op.CodeOf(err) != c.code {
			t.Errorf("%s: %v, want %s", name, err, c.code)
		}
	}
}

func TestEventsSayHowTheirTasksFared(t *testing.T) {
	t.Parallel()
	q := &taskstest.Queue{Rows: []jobs.Job{{ID: 3, State: jobs.Retryable, LastError: "refused"}}}
	s := &taskstest.Stream{Entries: []events.Entry{
		{Event: events.Event{ID: "e1"}, State: events.Delivered, Fanout: map[string]jobs.ID{"b.sub": 99, "a.sub": 3}},
		{Event: events.Event{ID: "e2"}, State: events.Poisoned},
	}}
	d := taskstest.New(q, s)
	out, err := d.GetEvent(context.Background(), tasks.EventIn{ID: "e1"})
	if err != nil {
		t.Fatal(err)
	}
	if len(out.Tasks) != 2 || out.Tasks[0].State != "retryable" || out.Tasks[0].LastError != "refused" || !out.Tasks[1].Pruned {
		t.Errorf("tasks are %+v", out.Tasks)
	}
	if _, err := d.RequeueEvent(context.Background(), tasks.EventIn{ID: "e1"}); op.CodeOf(err) != op.Conflict {
		t.Errorf("requeue of a delivered event: %v", err)
	}
	if out, err := d.RequeueEvent(context.Background(), tasks.EventIn{ID: "e2"}); err != nil || out.Event.State != events.Waiting {
		t.Errorf("requeue of a poisoned event: %v, %v", out.Event.State, err)
	}
	for _, bad := range []tasks.EventQuery{{State: "lost"}, {Limit: 101}, {Type: "a b"}, {Cursor: "bad"}} {
		if _, err := d.ListEvents(context.Background(), bad); op.CodeOf(err) != op.Invalid {
			t.Errorf("%+v: %v", bad, err)
		}
	}
}

// Of a task that was tried often the newest attempts come first, and following attempts_next meets each once.
func TestAttemptsAreReadInParts(t *testing.T) {
	t.Parallel()
	job := jobs.Job{ID: 5, State: jobs.Discarded, Args: json.RawMessage(`{}`)}
	for n := range 25 {
		job.Attempts = append(job.Attempts, jobs.Attempt{Number: n + 1})
	}
	set := ops(t, taskstest.New(&taskstest.Queue{Rows: []jobs.Job{job}}, &taskstest.Stream{}))
	get, _ := set.Get("tasks.get")
	read := func(in string) (numbers []int, next int) {
		t.Helper()
		out, err := get.Run(t.Context(), json.RawMessage(in))
		if err != nil {
			t.Fatal(err)
		}
		raw, err := get.Encode(out)
		if err != nil {
			t.Fatal(err)
		}
		var part struct {
			Attempts []jobs.Attempt
			Next     int `json:"attempts_next"`
		}
		if err := json.Unmarshal(raw, &part); err != nil {
			t.Fatal(err)
		}
		for _, a := range part.Attempts {
			numbers = append(numbers, a.Number)
		}
		return numbers, part.Next
	}
	if numbers, next := read(`{"id":5}`); len(numbers) != 25 || next != 0 {
		t.Errorf("whole: %v, next %d", numbers, next)
	}
	var all []int
	in, calls := `{"id":5,"attempts_limit":10}`, 0
	for ; in != ""; calls++ {
		numbers, next := read(in)
		all = append(numbers, all...)
		in = ""
		if next > 0 {
			in = fmt.Sprintf(`{"id":5,"attempts_limit":10,"attempts_before":%d}`, next)
		}
	}
	if calls != 3 || len(all) != 25 || all[0] != 1 || !slices.IsSorted(all) {
		t.Errorf("%d calls: %v", calls, all)
	}
	for _, bad := range []string{`{"id":5,"attempts_limit":-1}`, `{"id":5,"attempts_limit":1001}`, `{"id":5,"attempts_before":-1}`} {
		if _, err := get.Run(t.Context(), json.RawMessage(bad)); op.CodeOf(err) != op.Invalid {
			t.Errorf("%s: %v", bad, err)
		}
	}
}
