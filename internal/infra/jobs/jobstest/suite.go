// Package jobstest is the contract of the ports in package jobs as a test
// suite. An implementation calls Run with a way to make fresh worlds; the
// cases use nothing but the ports, two or more processes where it matters.
package jobstest

import (
	"context"
	"encoding/json"
	"slices"
	"testing"
	"time"

	"github.com/gatehouse-hq/gatehouse/internal/infra/jobs"
	"github.com/gatehouse-hq/gatehouse/internal/infra/pg"
)

// World is one empty database and the processes on it.
type World struct {
	DB *pg.DB
	// Open makes the queue of one more process, not yet started. The world
	// stops it with the test if the case has not.
	Open func(t testing.TB, s Setup) jobs.Runtime
}

// Setup is what one process brings.
type Setup struct {
	Kinds     []jobs.Kind
	Periodics []jobs.Periodic
	Queues    []jobs.Queue  // nil means one queue, "index", of 4 workers, and "maintenance" of 1
	Idle      bool          // enqueues, inspects and waits, and claims nothing
	Grace     time.Duration // 0 means 2 s
}

// Case is one clause of the contract.
type Case struct {
	Name string
	Test func(t *testing.T, w World)
}

// Cases lists the whole contract.
func Cases() []Case {
	return slices.Concat(enqueueCases(), uniqueCases(), outcomeCases(), snoozeCases(), cycleCases(), cancelCases(),
		matchingCases(), timeCases(), waitCases(), stopCases(), listCases(), viewCases(), periodicCases(), processCases())
}

// Run proves the contract against worlds of one implementation.
func Run(t *testing.T, fresh func(t testing.TB) World) {
	for _, c := range Cases() {
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			c.Test(t, fresh(t))
		})
	}
}

// patience is how long anything may take on a busy machine before a case fails.
const patience = time.Minute

func ctxOf(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), 2*patience)
	t.Cleanup(cancel)
	return ctx
}

// started opens a process and starts it.
func (w World) started(t testing.TB, s Setup) jobs.Runtime {
	t.Helper()
	rt := w.Open(t, s)
	must(t, rt.Start(ctxOf(t)))
	return rt
}

// kind is a quick one; cases change what they are about.
func kind(name string, h jobs.Handler) jobs.Kind {
	return jobs.Kind{
		Name: name, Title: name, Queue: "index", Awaited: true, Handler: h,
		Policy: jobs.Policy{Attempts: 3, Backoff: func(int) time.Duration { return time.Millisecond }, Timeout: patience},
	}
}

func nothing(context.Context, json.RawMessage) error { return nil }

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func value[T any](v T, err error) func(t testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		must(t, err)
		return v
	}
}

// eventually polls until ok says yes.
func eventually(t testing.TB, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		if ok() {
			return
		}
	}
	t.Fatalf("not within %s: %s", patience, what)
}

// receive takes one value from a signal of the case.
func receive[T any](t testing.TB, what string, c <-chan T) T {
	t.Helper()
	select {
	case v := <-c:
		return v
	case <-time.After(patience):
		t.Fatalf("not within %s: %s", patience, what)
		panic("unreachable")
	}
}

func enqueue(t testing.TB, j jobs.Jobs, kind string, args any, o jobs.EnqueueOpts) jobs.ID {
	t.Helper()
	return value(j.Enqueue(ctxOf(t), kind, args, o))(t)
}

func get(t testing.TB, rt jobs.Runtime, id jobs.ID) jobs.Job {
	t.Helper()
	return value(rt.Get(ctxOf(t), id))(t)
}

// reaches waits until the job shows the state, and returns it.
func reaches(t testing.TB, rt jobs.Runtime, id jobs.ID, s jobs.State) jobs.Job {
	t.Helper()
	var j jobs.Job
	eventually(t, "the job is "+string(s), func() bool {
		j = get(t, rt, id)
		return j.State == s
	})
	return j
}

func ends(t testing.TB, rt jobs.Runtime, id jobs.ID, s jobs.State) jobs.Job {
	t.Helper()
	got, ok := rt.Wait(ctxOf(t), id, patience)
	if !ok || got != s {
		t.Fatalf("job %d ended %q (final %v), want %q: %+v", id, got, ok, s, get(t, rt, id))
	}
	return get(t, rt, id)
}

// inTurn enqueues a job and checks that ids, all due before it, did not run
// after it. A machine under load is late with all of them alike; a job that
// nobody made due, as one left to a slow scheduler, is overtaken.
func inTurn(t testing.TB, rt jobs.Runtime, ids ...jobs.ID) {
	t.Helper()
	next := ends(t, rt, enqueue(t, rt, "demo", nil, jobs.EnqueueOpts{}), jobs.Completed)
	for _, id := range ids {
		if j := ends(t, rt, id, jobs.Completed); j.StartedAt.After(*next.StartedAt) {
			t.Errorf("job %d was due before job %d, and ran %s after it", id, next.ID, j.StartedAt.Sub(*next.StartedAt))
		}
	}
}

func outcomes(j jobs.Job) []string {
	out := []string{}
	for _, a := range j.Attempts {
		out = append(out, a.Outcome)
	}
	return out
}

func equal[T comparable](t testing.TB, what string, got, want T) {
	t.Helper()
	if got != want {
		t.Errorf("%s is %v, want %v", what, got, want)
	}
}

func equalAll[T comparable](t testing.TB, what string, got, want []T) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s are %v, want %v", what, got, want)
	}
}
