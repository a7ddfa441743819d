package river_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/gatehouse-hq/gatehouse/internal/infra/jobs"
	"github.com/gatehouse-hq/gatehouse/internal/infra/jobs/jobstest"
)

func TestFinishedCountsByOutcomeAndTime(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	setup := plain("demo")
	setup.Kinds = append(setup.Kinds, jobs.Kind{Name: "bad", Queue: "index", Awaited: true, Policy: jobs.Policy{Attempts: 3, Timeout: time.Minute},
		Handler: func(context.Context, json.RawMessage) error { return jobs.Discard(errors.New("no")) }})
	rt := start(t, w.open(t, config(setup)))
	before := time.Now().Add(-time.Minute)
	for _, kind := range []string{"demo", "demo", "demo", "bad"} {
		if _, ok := rt.Wait(t.Context(), add(t, rt, kind), most); !ok {
			t.Fatal("does not end")
		}
	}
	after := time.Now().Add(time.Minute)
	got, err := rt.Finished(t.Context(), before, after)
	if err != nil || got[jobs.Completed] != 3 || got[jobs.Discarded] != 1 || got[jobs.Cancelled] != 0 {
		t.Errorf("finished: %v, error %v", got, err)
	}
	if got, err := rt.Finished(t.Context(), after, after.Add(time.Hour)); err != nil || got[jobs.Completed] != 0 {
		t.Errorf("finished later: %v, error %v", got, err)
	}
}

func TestUsualIsTheTimeThatNearlyAllTook(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	setup := plain("demo")
	setup.Idle = true
	rt := w.open(t, config(jobstest.Setup(setup)))
	if took, of, err := rt.Usual(t.Context(), "demo"); err != nil || took != 0 || of != 0 {
		t.Errorf("of nothing: %s of %d, error %v", took, of, err)
	}
	// 300 finished ones, the newest 200 of 1 s, but one of them of an hour.
	w.exec(t, `
insert into river.river_job (kind, queue, args, state, attempt, max_attempts, attempted_at, finalized_at, created_at, scheduled_at)
select 'demo', 'index', '{}', 'completed', 1, 3, now(), now() + case when i = 250 then interval '1 hour' when i <= 100 then interval '1 day' else interval '1 second' end, now(), now()
from generate_series(1, 300) i`)
	if took, of, err := rt.Usual(t.Context(), "demo"); err != nil || took != time.Second || of != 200 {
		t.Errorf("%s of %d, error %v; want 1 s of 200", took, of, err)
	}
}

func TestListOfChosenJobs(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	setup := plain("demo")
	setup.Idle = true
	rt := w.open(t, config(setup))
	var ids []jobs.ID
	for range 5 {
		ids = append(ids, add(t, rt, "demo"))
	}
	p, err := rt.List(t.Context(), jobs.Filter{IDs: []jobs.ID{ids[1], ids[3], ids[4] + 100}})
	if err != nil || len(p.Jobs) != 2 || p.Jobs[0].ID != ids[3] || p.Jobs[1].ID != ids[1] {
		t.Errorf("%+v, error %v", p.Jobs, err)
	}
}

// A turn is overdue past a minute, not while it has just come due, and no longer when it has run.
func TestOverdueBeginsAMinuteLate(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	setup := plain("demo")
	setup.Idle = true
	setup.Periodics = []jobs.Periodic{{Name: "p.one", Title: "One", Every: time.Hour, Run: func(context.Context) error { return nil }}}
	rt := start(t, w.open(t, config(setup)))
	for late, want := range map[time.Duration]bool{-time.Hour: false, 30 * time.Second: false, 2 * time.Minute: true} {
		w.exec(t, `insert into periodic_runs (name, next_run) values ('p.one', clock_timestamp() - $1::interval)
on conflict (name) do update set next_run = excluded.next_run`, late)
		p, err := rt.Periodic(t.Context())
		if err != nil || len(p) != 1 || p[0].Overdue != want {
			t.Errorf("%s late: %+v, error %v", late, p, err)
		}
	}
}
