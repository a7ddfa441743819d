package jobstest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/gatehouse-hq/gatehouse/internal/infra/jobs"
)

func listCases() []Case {
	return []Case{
		{"the list is newest first and pages by cursor", listPages},
		{"the list filters by state, kind, id, args and error", listFilters},
	}
}

func viewCases() []Case {
	return []Case{
		{"the overview shows every declared kind before its first run", overviewBeforeFirstRun},
		{"counts are bounded", boundedCounts},
		{"a job says what it is about, even if the kind's own words fail", subjects},
	}
}

func ids(p jobs.Page) []jobs.ID {
	out := []jobs.ID{}
	for _, j := range p.Jobs {
		out = append(out, j.ID)
	}
	return out
}

func listPages(t *testing.T, w World) {
	rt := w.Open(t, Setup{Idle: true, Kinds: []jobs.Kind{kind("demo", nothing), kind("other", nothing)}})
	var all []jobs.ID
	for i := range 25 {
		name := []string{"demo", "other"}[i%2]
		all = append([]jobs.ID{enqueue(t, rt, name, map[string]int{"i": i}, jobs.EnqueueOpts{})}, all...)
	}
	for _, f := range []jobs.Filter{{Limit: 10}, {Limit: 10, States: []jobs.State{jobs.Pending, jobs.Running}}} {
		var got []jobs.ID
		for page := 0; ; page++ {
			p := value(rt.List(ctxOf(t), f))(t)
			got = append(got, ids(p)...)
			if p.Next == "" {
				equal(t, "pages after the first", page, 2)
				break
			}
			f.Cursor = p.Next
		}
		equalAll(t, "ids", got, all)
	}
	equalAll(t, "newer ones", ids(value(rt.List(ctxOf(t), jobs.Filter{AfterID: all[2]}))(t)), all[:2])
	exact := value(rt.List(ctxOf(t), jobs.Filter{Limit: 25}))(t)
	if exact.Next != "" || len(exact.Jobs) != 25 {
		t.Errorf("a page that holds all: %d jobs, next %q", len(exact.Jobs), exact.Next)
	}
	for _, cursor := range []string{"!", "-1", "zzzzzzzzzzzzzzzzzzzzz"} {
		if _, err := rt.List(ctxOf(t), jobs.Filter{Cursor: cursor}); !errors.Is(err, jobs.ErrBadFilter) {
			t.Errorf("cursor %q answers %v", cursor, err)
		}
	}
}

func listFilters(t *testing.T, w World) {
	rt := w.started(t, Setup{Kinds: []jobs.Kind{
		kind("good", nothing),
		kind("bad", func(context.Context, json.RawMessage) error { return jobs.Discard(errors.New("100% of_it \\ refused")) }),
	}})
	later := jobs.EnqueueOpts{RunAt: time.Now().Add(time.Hour)}
	done := enqueue(t, rt, "good", map[string]any{"note": "n-1", "n": 7, "flag": true}, jobs.EnqueueOpts{})
	ends(t, rt, done, jobs.Completed)
	refused := enqueue(t, rt, "bad", map[string]any{"note": "n-1", "n": "7"}, jobs.EnqueueOpts{})
	ends(t, rt, refused, jobs.Discarded)
	waiting := enqueue(t, rt, "good", map[string]any{"note": "n-2"}, later)
	gone := enqueue(t, rt, "good", map[string]any{"note": nil}, later)
	must(t, rt.Cancel(ctxOf(t), gone, jobs.Expected{State: jobs.Pending}))
	for _, c := range []struct {
		what string
		f    jobs.Filter
		want []jobs.ID
	}{
		{"everything", jobs.Filter{}, []jobs.ID{gone, waiting, refused, done}},
		{"one state", jobs.Filter{States: []jobs.State{jobs.Pending}}, []jobs.ID{waiting}},
		{"two states", jobs.Filter{States: []jobs.State{jobs.Discarded, jobs.Cancelled}}, []jobs.ID{gone, refused}},
		{"a kind", jobs.Filter{Kind: "bad"}, []jobs.ID{refused}},
		{"a kind and a state", jobs.Filter{Kind: "good", States: []jobs.State{jobs.Completed}}, []jobs.ID{done}},
		{"an unknown kind", jobs.Filter{Kind: "none"}, []jobs.ID{}},
		{"an id", jobs.Filter{ID: refused}, []jobs.ID{refused}},
		{"an id and a state that is not its", jobs.Filter{ID: refused, States: []jobs.State{jobs.Pending}}, []jobs.ID{}},
		{"a text", jobs.Filter{Args: map[string]string{"note": "n-1"}}, []jobs.ID{refused, done}},
		{"a number, typed or not", jobs.Filter{Args: map[string]string{"n": "7"}}, []jobs.ID{refused, done}},
		{"a truth", jobs.Filter{Args: map[string]string{"flag": "true"}}, []jobs.ID{done}},
		{"two args", jobs.Filter{Args: map[string]string{"note": "n-1", "flag": "true"}}, []jobs.ID{done}},
		{"an arg and a kind", jobs.Filter{Kind: "bad", Args: map[string]string{"note": "n-1"}}, []jobs.ID{refused}},
		{"an error", jobs.Filter{Error: "OF_IT \\ ref"}, []jobs.ID{refused}},
		{"an error with signs of patterns", jobs.Filter{Error: "1%0"}, []jobs.ID{}},
		{"odd args", jobs.Filter{Args: map[string]string{"a'b\x00": "\xff"}}, []jobs.ID{}},
	} {
		equalAll(t, c.what, ids(value(rt.List(ctxOf(t), c.f))(t)), c.want)
	}
}

func overviewBeforeFirstRun(t *testing.T, w World) {
	rt := w.started(t, Setup{Kinds: []jobs.Kind{kind("good", nothing), kind("never", nothing)}})
	names := []string{}
	for _, k := range value(rt.Overview(ctxOf(t), ""))(t) {
		names = append(names, k.Kind)
		if len(k.States) != len(jobs.States()) {
			t.Errorf("%s shows %d states", k.Kind, len(k.States))
		}
	}
	equalAll(t, "kinds", names, []string{"good", "never"})
	ends(t, rt, enqueue(t, rt, "good", nil, jobs.EnqueueOpts{}), jobs.Completed)
	enqueue(t, rt, "good", nil, jobs.EnqueueOpts{RunAt: time.Now().Add(time.Hour)})
	eventually(t, "the counts follow", func() bool {
		k := value(rt.Overview(ctxOf(t), "good"))(t)[0]
		return k.States[jobs.Completed].N == 1 && k.States[jobs.Pending].N == 1 && k.States[jobs.Retryable].N == 0 && k.Moves == 1
	})
	if _, err := rt.Overview(ctxOf(t), "unheard-of"); !errors.Is(err, jobs.ErrNotFound) {
		t.Errorf("an unknown kind answers %v", err)
	}
	equal(t, "kinds", len(rt.Kinds()), 2)
}

func boundedCounts(t *testing.T, w World) {
	rt := w.Open(t, Setup{Idle: true, Kinds: []jobs.Kind{kind("demo", nothing)}})
	in := make([]jobs.Insert, 1200)
	for i := range in {
		in[i] = jobs.Insert{Kind: "demo", Args: map[string]string{"i": fmt.Sprint(i)}}
	}
	value(rt.EnqueueMany(ctxOf(t), in))(t)
	k := value(rt.Overview(ctxOf(t), "demo"))(t)[0]
	equal(t, "count", k.States[jobs.Pending], jobs.Count{N: 1000, AtLeast: true})
	if k.Oldest == nil {
		t.Error("nothing says since when the oldest waits")
	}
	q := value(rt.Queues(ctxOf(t)))(t)[0]
	equal(t, "waiting", q.Waiting, jobs.Count{N: 1000, AtLeast: true})
}

func subjects(t *testing.T, w World) {
	good, bad := kind("good", nothing), kind("bad", nothing)
	good.Subject = func(a json.RawMessage) string { return "about " + compact(t, a) }
	bad.Subject = func(json.RawMessage) string { panic("no words") }
	rt := w.started(t, Setup{Kinds: []jobs.Kind{good, bad}})
	equal(t, "subject", get(t, rt, enqueue(t, rt, "good", map[string]int{"n": 1}, jobs.EnqueueOpts{})).Subject, `about {"n":1}`)
	enqueue(t, rt, "bad", nil, jobs.EnqueueOpts{})
	equal(t, "jobs", len(value(rt.List(ctxOf(t), jobs.Filter{}))(t).Jobs), 2)
}
