package jobstest

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/gatehouse-hq/gatehouse/internal/infra/jobs"
)

var errFirst = errors.New("the first line\nand more")

func outcomeCases() []Case {
	return []Case{
		{"a failure is retried and every attempt is kept", failureRetried},
		{"a failed job is shown as retryable, also shortly before its next try", shownRetryable},
		{"attempts exhausted end in discarded", exhausted},
		{"NUL and broken UTF-8 in an error stop nobody (F12)", nulInError},
		{"errors, traces and reports are bounded", boundedTexts},
		{"a panic is a failure with its stack", panics},
		{"discard ends at once and can be retried", discards},
		{"hold is flagged uncertain until it is retried", holds},
		{"the last report of an attempt is kept, a bad one does no harm", reports},
		{"a timeout is a failure and lets others go on (F07)", timesOut},
		{"a handler deaf to its timeout does not hold its slot for ever (F07)", deaf},
	}
}

func failing(times int32, then jobs.Handler) jobs.Handler {
	var n atomic.Int32
	return func(ctx context.Context, a json.RawMessage) error {
		if n.Add(1) <= times {
			return errFirst
		}
		return then(ctx, a)
	}
}

func failureRetried(t *testing.T, w World) {
	rt := w.started(t, Setup{Kinds: []jobs.Kind{kind("demo", failing(2, nothing))}})
	j := ends(t, rt, enqueue(t, rt, "demo", nil, jobs.EnqueueOpts{}), jobs.Completed)
	equalAll(t, "outcomes", outcomes(j), []string{"failed", "failed", "completed"})
	equal(t, "attempt", j.Attempt, 3)
	equal(t, "total", j.Total, 3)
	equal(t, "cycle", j.Cycle, 1)
	equal(t, "last error", j.LastError, "the first line")
	for i, a := range j.Attempts {
		equal(t, "number", a.Number, i+1)
		if a.At.IsZero() || a.Process == "" || (i < 2) != (a.Error == errFirst.Error()) {
			t.Errorf("attempt %d: %+v", i+1, a)
		}
	}
}

func shownRetryable(t *testing.T, w World) {
	k := kind("demo", failing(9, nothing))
	k.Policy.Backoff = func(int) time.Duration { return 4 * time.Second } // below what the library schedules itself
	rt := w.started(t, Setup{Kinds: []jobs.Kind{k}})
	id := enqueue(t, rt, "demo", nil, jobs.EnqueueOpts{})
	j := reaches(t, rt, id, jobs.Retryable)
	equal(t, "attempt", j.Attempt, 1)
	found := value(rt.List(ctxOf(t), jobs.Filter{States: []jobs.State{jobs.Retryable}}))(t)
	if len(found.Jobs) != 1 || found.Jobs[0].ID != id {
		t.Errorf("the list of retryable jobs holds %+v", found.Jobs)
	}
	equal(t, "pending jobs", len(value(rt.List(ctxOf(t), jobs.Filter{States: []jobs.State{jobs.Pending}}))(t).Jobs), 0)
}

func exhausted(t *testing.T, w World) {
	rt := w.started(t, Setup{Kinds: []jobs.Kind{kind("demo", failing(99, nothing))}})
	j := ends(t, rt, enqueue(t, rt, "demo", nil, jobs.EnqueueOpts{}), jobs.Discarded)
	equal(t, "attempt", j.Attempt, 3)
	equal(t, "max attempts", j.MaxAttempts, 3)
	equalAll(t, "outcomes", outcomes(j), []string{"failed", "failed", "failed"})
}

func nulInError(t *testing.T, w World) {
	for _, awaited := range []bool{true, false} {
		bad := kind("bad", func(ctx context.Context, _ json.RawMessage) error {
			jobs.Report(ctx, map[string]string{"body": "x\x00\xff\xfe"})
			return errors.New("broken \x00 \xff\xfe text")
		})
		bad.Policy.Attempts, bad.Awaited = 1, awaited
		worse := kind("worse", func(context.Context, json.RawMessage) error { panic("p\x00\xff") })
		worse.Policy.Attempts, worse.Awaited = 1, awaited
		good := kind("good", nothing)
		good.Awaited = awaited
		fresh := kind("unused", nothing)
		rt := w.started(t, Setup{Kinds: []jobs.Kind{bad, worse, good, fresh}})
		first := enqueue(t, rt, "bad", nil, jobs.EnqueueOpts{})
		second := enqueue(t, rt, "worse", nil, jobs.EnqueueOpts{})
		third := enqueue(t, rt, "good", nil, jobs.EnqueueOpts{})
		ends(t, rt, third, jobs.Completed)
		j := ends(t, rt, first, jobs.Discarded)
		if !strings.Contains(j.Attempts[0].Error, "broken") || strings.ContainsRune(j.Attempts[0].Error, 0) || !utf8.ValidString(j.Attempts[0].Error) {
			t.Errorf("stored error: %q", j.Attempts[0].Error)
		}
		if len(j.Attempts[0].Report) == 0 {
			t.Error("the report is lost")
		}
		ends(t, rt, second, jobs.Discarded)
		must(t, rt.Stop(ctxOf(t)))
	}
}

func boundedTexts(t *testing.T, w World) {
	k := kind("demo", func(ctx context.Context, _ json.RawMessage) error {
		jobs.Report(ctx, map[string]string{"big": strings.Repeat("r", 1<<20)})
		return errors.New(strings.Repeat("ü", 1<<20))
	})
	k.Policy.Attempts = 12
	rt := w.started(t, Setup{Kinds: []jobs.Kind{k}, Queues: []jobs.Queue{{Name: "index", Workers: 4, Cooldown: 2 * time.Millisecond}, {Name: "maintenance", Workers: 1}}})
	j := ends(t, rt, enqueue(t, rt, "demo", nil, jobs.EnqueueOpts{}), jobs.Discarded)
	size := 0
	for _, a := range j.Attempts {
		size += len(a.Error) + len(a.Trace) + len(a.Report)
		if len(a.Error) > 4<<10 || len(a.Report) > 16<<10 || !json.Valid(a.Report) && a.Report != nil {
			t.Fatalf("attempt %d: error of %d bytes, report of %d", a.Number, len(a.Error), len(a.Report))
		}
	}
	if n := len(j.Attempts); n < 10 || j.Attempts[n-1].Number != 12 {
		t.Errorf("%d of 12 attempts are kept, the last is number %d", n, j.Attempts[n-1].Number)
	}
	if size > 256<<10 {
		t.Errorf("the attempts of one job take %d bytes", size)
	}
}

func panics(t *testing.T, w World) {
	var n atomic.Int32
	rt := w.started(t, Setup{Kinds: []jobs.Kind{kind("demo", func(context.Context, json.RawMessage) error {
		if n.Add(1) == 1 {
			panic("out of cheese")
		}
		return nil
	})}})
	j := ends(t, rt, enqueue(t, rt, "demo", nil, jobs.EnqueueOpts{}), jobs.Completed)
	equalAll(t, "outcomes", outcomes(j), []string{"failed", "completed"})
	a := j.Attempts[0]
	if !strings.Contains(a.Error, "out of cheese") || !strings.Contains(a.Trace, "jobstest") {
		t.Errorf("error %q, trace %q", a.Error, a.Trace)
	}
}

func discards(t *testing.T, w World) {
	var n atomic.Int32
	rt := w.started(t, Setup{Kinds: []jobs.Kind{kind("demo", func(context.Context, json.RawMessage) error {
		if n.Add(1) == 1 {
			return jobs.Discard(errors.New("no such address"))
		}
		return nil
	})}})
	id := enqueue(t, rt, "demo", nil, jobs.EnqueueOpts{})
	j := ends(t, rt, id, jobs.Discarded)
	equalAll(t, "outcomes", outcomes(j), []string{"discarded"})
	equal(t, "last error", j.LastError, "no such address")
	equal(t, "uncertain", j.Uncertain, false)
	must(t, rt.Retry(ctxOf(t), id, jobs.Expected{State: jobs.Discarded, Attempt: 1}))
	j = ends(t, rt, id, jobs.Completed)
	equalAll(t, "outcomes", outcomes(j), []string{"discarded", "completed"})
}

func holds(t *testing.T, w World) {
	var n atomic.Int32
	rt := w.started(t, Setup{Kinds: []jobs.Kind{kind("demo", func(context.Context, json.RawMessage) error {
		if n.Add(1) == 1 {
			return jobs.Hold(errors.New("the answer was lost"))
		}
		return nil
	})}})
	id := enqueue(t, rt, "demo", nil, jobs.EnqueueOpts{})
	j := ends(t, rt, id, jobs.Discarded)
	equal(t, "uncertain", j.Uncertain, true)
	equalAll(t, "outcomes", outcomes(j), []string{"held"})
	must(t, rt.Retry(ctxOf(t), id, jobs.Expected{State: jobs.Discarded}))
	equal(t, "uncertain after a retry", ends(t, rt, id, jobs.Completed).Uncertain, false)
}

func reports(t *testing.T, w World) {
	rt := w.started(t, Setup{Kinds: []jobs.Kind{kind("demo", func(ctx context.Context, _ json.RawMessage) error {
		jobs.Report(ctx, map[string]int{"status": 500})
		jobs.Report(ctx, map[string]int{"status": 200})
		jobs.Report(ctx, make(chan int)) // cannot be marshalled: ignored
		return nil
	})}})
	jobs.Report(ctxOf(t), "outside of a handler")
	j := ends(t, rt, enqueue(t, rt, "demo", nil, jobs.EnqueueOpts{}), jobs.Completed)
	equal(t, "report", compact(t, j.Attempts[0].Report), `{"status":200}`)
}

func timesOut(t *testing.T, w World) {
	slow := kind("slow", func(ctx context.Context, _ json.RawMessage) error {
		<-ctx.Done()
		return ctx.Err()
	})
	slow.Policy.Timeout, slow.Policy.Attempts, slow.Queue = 300*time.Millisecond, 1, "slow"
	quick := kind("quick", nothing)
	rt := w.started(t, Setup{Kinds: []jobs.Kind{slow, quick}, Queues: []jobs.Queue{
		{Name: "slow", Workers: 2, Cooldown: 5 * time.Millisecond}, {Name: "index", Workers: 2, Cooldown: 5 * time.Millisecond},
	}})
	var hung []jobs.ID
	for range 4 {
		hung = append(hung, enqueue(t, rt, "slow", nil, jobs.EnqueueOpts{}))
	}
	for range 20 {
		ends(t, rt, enqueue(t, rt, "quick", nil, jobs.EnqueueOpts{}), jobs.Completed)
	}
	for _, id := range hung {
		j := ends(t, rt, id, jobs.Discarded)
		if !strings.Contains(j.LastError, "300ms") {
			t.Errorf("last error is %q", j.LastError)
		}
	}
}

func deaf(t *testing.T, w World) {
	running, let := make(chan bool, 1), make(chan bool)
	k := kind("deaf", func(context.Context, json.RawMessage) error {
		running <- true
		<-let
		return nil
	})
	k.Policy.Timeout = 100 * time.Millisecond
	rt := w.started(t, Setup{Kinds: []jobs.Kind{k, kind("quick", nothing)}, Queues: []jobs.Queue{{Name: "index", Workers: 1, Cooldown: 5 * time.Millisecond}}})
	id := enqueue(t, rt, "deaf", nil, jobs.EnqueueOpts{})
	receive(t, "it runs", running)
	ends(t, rt, enqueue(t, rt, "quick", nil, jobs.EnqueueOpts{}), jobs.Completed)
	equal(t, "state of the deaf one", get(t, rt, id).State, jobs.Running)
	close(let)
	ends(t, rt, id, jobs.Completed)
}
