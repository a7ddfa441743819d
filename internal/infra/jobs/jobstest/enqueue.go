package jobstest

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/gatehouse-hq/gatehouse/internal/infra/jobs"
	"github.com/gatehouse-hq/gatehouse/internal/infra/pg"
)

func enqueueCases() []Case {
	return []Case{
		{"a job runs with its args and knows its attempt", runsWithArgs},
		{"a job exists if and only if its transaction commits", existsWithItsTransaction},
		{"undeclared kinds and queues are refused", refusesUndeclared},
		{"args that cannot be stored are refused", refusesBadArgs},
		{"many jobs come back in the order of the inserts", manyInOrder},
		{"a cause travels from the request to the job and on", causeTravels},
		{"args that no handler can read end the job at once", poisonArgs},
	}
}

func runsWithArgs(t *testing.T, w World) {
	type seen struct {
		args string
		run  jobs.Run
	}
	ran := make(chan seen, 1)
	rt := w.started(t, Setup{Kinds: []jobs.Kind{kind("demo", func(ctx context.Context, a json.RawMessage) error {
		r, _ := jobs.Current(ctx)
		ran <- seen{string(a), r}
		return nil
	})}})
	id := enqueue(t, rt, "demo", map[string]any{"b": 1, "a": "x"}, jobs.EnqueueOpts{})
	got := receive(t, "the handler runs", ran)
	var args map[string]any
	must(t, json.Unmarshal([]byte(got.args), &args))
	if len(args) != 2 || args["a"] != "x" || args["b"] != 1.0 {
		t.Errorf("the handler saw %s", got.args)
	}
	equal(t, "id", got.run.ID, id)
	equal(t, "kind", got.run.Kind, "demo")
	equal(t, "attempt", got.run.Attempt, 1)
	j := ends(t, rt, id, jobs.Completed)
	equalAll(t, "outcomes", outcomes(j), []string{"completed"})
	if j.FinishedAt == nil || j.StartedAt == nil || j.Attempts[0].Process == "" {
		t.Errorf("times or process are missing: %+v", j)
	}
}

func existsWithItsTransaction(t *testing.T, w World) {
	ran := make(chan string, 4)
	rt := w.started(t, Setup{Kinds: []jobs.Kind{kind("demo", func(_ context.Context, a json.RawMessage) error {
		ran <- string(a)
		return nil
	})}})
	undo := errors.New("undo")
	var lost, kept jobs.ID
	err := pg.InTx(ctxOf(t), w.DB, func(tx pg.Tx) error {
		lost = enqueue(t, rt.With(tx), "demo", map[string]bool{"lost": true}, jobs.EnqueueOpts{})
		return undo
	})
	if !errors.Is(err, undo) {
		t.Fatal(err)
	}
	must(t, pg.InTx(ctxOf(t), w.DB, func(tx pg.Tx) error {
		kept = enqueue(t, rt.With(tx), "demo", map[string]bool{"kept": true}, jobs.EnqueueOpts{})
		if _, err := rt.Get(ctxOf(t), kept); err == nil {
			if j := get(t, rt, kept); !j.Pruned {
				t.Error("the job is seen before its transaction committed")
			}
		}
		return nil
	}))
	ends(t, rt, kept, jobs.Completed)
	if got := receive(t, "the kept job runs", ran); !strings.Contains(got, "kept") {
		t.Errorf("ran %s", got)
	}
	if j, err := rt.Get(ctxOf(t), lost); err == nil && !j.Pruned {
		t.Errorf("the job of a rolled back transaction exists: %+v", j)
	}
	if len(ran) != 0 {
		t.Error("the job of a rolled back transaction ran")
	}
}

func refusesUndeclared(t *testing.T, w World) {
	rt := w.started(t, Setup{Kinds: []jobs.Kind{kind("demo", nothing)}})
	if _, err := rt.Enqueue(ctxOf(t), "other", nil, jobs.EnqueueOpts{}); !errors.Is(err, jobs.ErrUnknownKind) {
		t.Errorf("an undeclared kind answers %v", err)
	}
	if _, err := rt.Enqueue(ctxOf(t), "demo", nil, jobs.EnqueueOpts{Queue: "nowhere"}); err == nil || !strings.Contains(err.Error(), "nowhere") {
		t.Errorf("an undeclared queue answers %v", err)
	}
	if _, err := rt.CancelMatching(ctxOf(t), jobs.Match{Kind: "other"}); !errors.Is(err, jobs.ErrUnknownKind) {
		t.Errorf("matching an undeclared kind answers %v", err)
	}
	equal(t, "jobs", len(value(rt.List(ctxOf(t), jobs.Filter{}))(t).Jobs), 0)
}

func refusesBadArgs(t *testing.T, w World) {
	rt := w.started(t, Setup{Kinds: []jobs.Kind{kind("demo", nothing)}})
	for name, args := range map[string]any{
		"NUL in a text":          map[string]string{"title": "ab\x00cd"},
		"NUL in a nested key":    map[string]any{"a": []any{map[string]any{"k\x00": 1}}},
		"NUL escaped in raw":     json.RawMessage(`{"a":"\u0000"}`),
		"not JSON":               json.RawMessage(`{"a":`),
		"two values":             json.RawMessage(`{} {}`),
		"not an object":          []int{1, 2},
		"cannot be marshalled":   map[string]any{"f": func() {}},
		"number beyond the type": json.RawMessage(`{"n":1e999999}`),
	} {
		if _, err := rt.Enqueue(ctxOf(t), "demo", args, jobs.EnqueueOpts{}); !errors.Is(err, jobs.ErrBadArgs) {
			t.Errorf("%s answers %v", name, err)
		}
	}
	// What only looks like it is stored: an escaped backslash, broken UTF-8, a lone surrogate.
	for name, args := range map[string]any{
		"escaped backslash": json.RawMessage(`{"a":"\\u0000"}`),
		"broken UTF-8":      map[string]string{"a": "\xff\xfe"},
		"lone surrogate":    json.RawMessage(`{"a":"\ud800"}`),
		"no args":           nil,
	} {
		id, err := rt.Enqueue(ctxOf(t), "demo", args, jobs.EnqueueOpts{})
		if err != nil {
			t.Errorf("%s answers %v", name, err)
			continue
		}
		ends(t, rt, id, jobs.Completed)
	}
}

func manyInOrder(t *testing.T, w World) {
	rt := w.Open(t, Setup{Idle: true, Kinds: []jobs.Kind{kind("demo", nothing), kind("other", nothing)}})
	unique := jobs.EnqueueOpts{UniqueByArgs: true}
	var in []jobs.Insert
	for i := range 1100 { // more than one statement takes
		in = append(in, jobs.Insert{Kind: "demo", Args: map[string]int{"i": 2000 - i}})
	}
	in = append(in,
		jobs.Insert{Kind: "demo", Args: map[string]string{"u": "z"}, EnqueueOpts: unique},
		jobs.Insert{Kind: "demo", Args: map[string]string{"u": "a"}, EnqueueOpts: unique},
		jobs.Insert{Kind: "other", Args: map[string]string{"u": "a"}, EnqueueOpts: unique},
		jobs.Insert{Kind: "demo", Args: map[string]string{"u": "z"}, EnqueueOpts: unique})
	out := value(rt.EnqueueMany(ctxOf(t), in))(t)
	equal(t, "results", len(out), len(in))
	for _, i := range []int{0, 1, 999, 1000, 1099, 1100, 1101, 1102} {
		j := get(t, rt, out[i].ID)
		want := value(json.Marshal(in[i].Args))(t)
		if compact(t, j.Args) != string(want) || j.Kind != in[i].Kind {
			t.Errorf("result %d is job %s %s, want %s %s", i, j.Kind, j.Args, in[i].Kind, want)
		}
	}
	if last := out[1103]; !last.Skipped || last.ID != out[1100].ID || out[1100].Skipped {
		t.Errorf("twins in one batch: %+v and %+v", out[1100], last)
	}
	if len(value(rt.EnqueueMany(ctxOf(t), nil))(t)) != 0 {
		t.Error("nothing in, something out")
	}
}

func compact(t testing.TB, raw json.RawMessage) string {
	t.Helper()
	var v any
	must(t, json.Unmarshal(raw, &v))
	return string(value(json.Marshal(v))(t))
}

func causeTravels(t *testing.T, w World) {
	seen := make(chan pg.Cause, 2)
	rt := w.started(t, Setup{Kinds: []jobs.Kind{kind("demo", func(ctx context.Context, _ json.RawMessage) error {
		seen <- pg.CauseFrom(ctx)
		return nil
	})}})
	ctx := pg.WithCause(ctxOf(t), pg.Cause{Request: "r-1", Actor: "owner"})
	id := value(rt.Enqueue(ctx, "demo", nil, jobs.EnqueueOpts{}))(t)
	equal(t, "cause in the handler", receive(t, "it runs", seen), pg.Cause{Request: "r-1", Actor: "owner", Job: int64(id)})
	equal(t, "cause of the job", get(t, rt, id).Cause, pg.Cause{Request: "r-1", Actor: "owner"})
	out := value(rt.EnqueueMany(ctx, []jobs.Insert{{Kind: "demo", Cause: pg.Cause{Event: "e-1"}}}))(t)
	receive(t, "it runs", seen)
	equal(t, "cause of its own", get(t, rt, out[0].ID).Cause, pg.Cause{Event: "e-1"})
}

func poisonArgs(t *testing.T, w World) {
	rt := w.started(t, Setup{Kinds: []jobs.Kind{kind("demo", func(_ context.Context, a json.RawMessage) error {
		var v struct{ N int }
		if err := json.Unmarshal(a, &v); err != nil {
			return jobs.Discard(err)
		}
		return nil
	})}})
	id := enqueue(t, rt, "demo", map[string]string{"n": "seven"}, jobs.EnqueueOpts{})
	j := ends(t, rt, id, jobs.Discarded)
	equal(t, "attempt", j.Attempt, 1)
	if !strings.Contains(j.LastError, "cannot unmarshal") {
		t.Errorf("last error is %q", j.LastError)
	}
	ends(t, rt, enqueue(t, rt, "demo", map[string]int{"n": 7}, jobs.EnqueueOpts{RunAt: time.Now()}), jobs.Completed)
}
