package jobstest

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/gatehouse-hq/gatehouse/internal/infra/jobs"
)

func uniqueCases() []Case {
	return []Case{
		{"twins are found whatever the order of their keys", uniqueCanonical},
		{"a running job is a twin, a completed one is not", uniqueStates},
		{"a twin in retryable or snoozed counts as waiting", uniqueWhileRetrying},
		{"the last of three quick edits is the one that counts (F11)", threeEdits},
	}
}

func uniqueCanonical(t *testing.T, w World) {
	rt := w.Open(t, Setup{Idle: true, Kinds: []jobs.Kind{kind("demo", nothing), kind("other", nothing)}})
	u := jobs.EnqueueOpts{UniqueByArgs: true}
	first := enqueue(t, rt, "demo", json.RawMessage(`{"a":{"x":1,"y":"ü"},"b":[1,2]}`), u)
	for name, raw := range map[string]string{
		"keys turned":    `{"b":[1,2],"a":{"y":"ü","x":1}}`,
		"spaces":         `{ "a" : {"x": 1, "y":"ü"}, "b":[1, 2] }`,
		"other escaping": `{"a":{"x":1,"y":"\u00fc"},"b":[1,2]}`,
	} {
		out := value(rt.EnqueueMany(ctxOf(t), []jobs.Insert{{Kind: "demo", Args: json.RawMessage(raw), EnqueueOpts: u}}))(t)
		if out[0].ID != first || !out[0].Skipped {
			t.Errorf("%s: %+v, want job %d skipped", name, out[0], first)
		}
	}
	if enqueue(t, rt, "demo", json.RawMessage(`{"a":{"x":1,"y":"ü"},"b":[2,1]}`), u) == first {
		t.Error("other args are taken for a twin")
	}
	if enqueue(t, rt, "other", json.RawMessage(`{"a":{"x":1,"y":"ü"},"b":[1,2]}`), u) == first {
		t.Error("another kind is taken for a twin")
	}
	if enqueue(t, rt, "demo", json.RawMessage(`{"a":{"x":1,"y":"ü"},"b":[1,2]}`), jobs.EnqueueOpts{}) == first {
		t.Error("a job that does not ask for it is merged")
	}
}

func uniqueStates(t *testing.T, w World) {
	running, let := make(chan bool, 4), make(chan bool, 4)
	rt := w.started(t, Setup{Kinds: []jobs.Kind{kind("demo", func(context.Context, json.RawMessage) error {
		running <- true
		<-let
		return nil
	})}})
	u := jobs.EnqueueOpts{UniqueByArgs: true}
	first := enqueue(t, rt, "demo", nil, u)
	receive(t, "it runs", running)
	equal(t, "twin of a running job", enqueue(t, rt, "demo", nil, u), first)
	let <- true
	ends(t, rt, first, jobs.Completed)
	second := enqueue(t, rt, "demo", nil, u)
	if second == first {
		t.Fatal("a change after completion was swallowed")
	}
	receive(t, "the second runs", running)
	let <- true
	ends(t, rt, second, jobs.Completed)
}

func uniqueWhileRetrying(t *testing.T, w World) {
	k := kind("demo", func(context.Context, json.RawMessage) error { return errFirst })
	k.Policy.Backoff = func(int) time.Duration { return time.Hour }
	s := kind("sleepy", func(context.Context, json.RawMessage) error { return jobs.Snooze(time.Hour) })
	rt := w.started(t, Setup{Kinds: []jobs.Kind{k, s}})
	u := jobs.EnqueueOpts{UniqueByArgs: true}
	id := enqueue(t, rt, "demo", nil, u)
	reaches(t, rt, id, jobs.Retryable)
	equal(t, "twin of a retryable job", enqueue(t, rt, "demo", nil, u), id)
	asleep := enqueue(t, rt, "sleepy", nil, u)
	eventually(t, "it sleeps", func() bool { return get(t, rt, asleep).Snoozes == 1 })
	equal(t, "twin of a snoozed job", enqueue(t, rt, "sleepy", nil, u), asleep)
}

// threeEdits is field case F11. The args name the version, as the relay's do:
// an edit during a run is another job, not a twin.
func threeEdits(t *testing.T, w World) {
	type note struct{ V string }
	running, let := make(chan string, 4), make(chan bool, 4)
	index := make(chan string, 4)
	k := kind("index", func(_ context.Context, a json.RawMessage) error {
		var n note
		if err := json.Unmarshal(a, &n); err != nil {
			return err
		}
		running <- n.V
		<-let
		index <- n.V
		return nil
	})
	rt := w.started(t, Setup{Kinds: []jobs.Kind{k}, Queues: []jobs.Queue{{Name: "index", Workers: 1, Cooldown: 5 * time.Millisecond}}})
	u := jobs.EnqueueOpts{UniqueByArgs: true}
	let <- true
	ends(t, rt, enqueue(t, rt, "index", note{"plum"}, u), jobs.Completed)
	receive(t, "plum runs", running)
	pear := enqueue(t, rt, "index", note{"pear"}, u)
	equal(t, "running", receive(t, "pear runs", running), "pear")
	fig := enqueue(t, rt, "index", note{"fig"}, u) // while pear runs
	if fig == pear {
		t.Fatal("the edit during a run was swallowed")
	}
	let <- true
	let <- true
	ends(t, rt, fig, jobs.Completed)
	last := ""
	for len(index) > 0 {
		last = <-index
	}
	equal(t, "last indexed", last, "fig")
}
