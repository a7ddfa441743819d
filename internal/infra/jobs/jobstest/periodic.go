package jobstest

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gatehouse-hq/gatehouse/internal/infra/jobs"
)

func periodicCases() []Case {
	return []Case{
		{"a periodic comes back by itself and keeps its history", periodicTurns},
		{"a failed turn is shown and waits for the next one", periodicFails},
		{"run by hand leaves the schedule alone; paused stops only the schedule", periodicByHand},
		{"history and schedule survive a restart, a gap is caught up once", periodicRestart},
		{"two processes make one turn at a time", periodicTwice},
	}
}

func periodic(name string, every time.Duration, run func(context.Context) error) jobs.Periodic {
	return jobs.Periodic{Name: name, Title: "Title of " + name, Description: "What it does.", Every: every, Run: run}
}

func statusOf(t testing.TB, rt jobs.Runtime) jobs.PeriodicStatus {
	t.Helper()
	all := value(rt.Periodic(ctxOf(t)))(t)
	if len(all) != 1 {
		t.Fatalf("%d periodics", len(all))
	}
	return all[0]
}

func periodicTurns(t *testing.T, w World) {
	var n atomic.Int32
	rt := w.started(t, Setup{Periodics: []jobs.Periodic{periodic("tick", 300*time.Millisecond, func(context.Context) error {
		n.Add(1)
		return nil
	})}})
	first := statusOf(t, rt)
	if first.NextRun == nil || first.Paused || first.History == nil || first.Title != "Title of tick" || first.Every != 300*time.Millisecond {
		t.Errorf("before the first turn: %+v", first)
	}
	eventually(t, "three turns", func() bool { return len(statusOf(t, rt).History) >= 3 })
	s := statusOf(t, rt)
	for i, turn := range s.History {
		if !turn.OK || turn.Error != "" || turn.Job == 0 || (turn.Trigger != "schedule" && turn.Trigger != "catch-up") {
			t.Errorf("turn %d: %+v", i, turn)
		}
		if i > 0 && turn.At.After(s.History[i-1].At) {
			t.Error("history is not newest first")
		}
	}
	j := get(t, rt, s.History[0].Job)
	equal(t, "subject", j.Subject, "Title of tick")
	if int(n.Load()) < len(s.History) {
		t.Errorf("%d turns in the history, %d made", len(s.History), n.Load())
	}
}

func periodicFails(t *testing.T, w World) {
	var n atomic.Int32
	rt := w.started(t, Setup{Periodics: []jobs.Periodic{periodic("tick", 300*time.Millisecond, func(context.Context) error {
		switch n.Add(1) {
		case 1:
			return errors.New("no \x00 luck")
		case 2:
			panic("even less")
		}
		return nil
	})}})
	eventually(t, "a turn after two failed ones", func() bool { return len(statusOf(t, rt).History) >= 3 })
	h := statusOf(t, rt).History
	failed, broke := h[len(h)-1], h[len(h)-2]
	if failed.OK || failed.Error != "no \uFFFD luck" || broke.OK || broke.Error != "panic: even less" || !h[len(h)-3].OK {
		t.Errorf("history: %+v", h)
	}
	j := ends(t, rt, failed.Job, jobs.Discarded)
	equal(t, "attempts of a failed turn", len(j.Attempts), 1)
}

func periodicByHand(t *testing.T, w World) {
	rt := w.started(t, Setup{Periodics: []jobs.Periodic{periodic("tick", time.Hour, func(context.Context) error { return nil })}})
	before := statusOf(t, rt).NextRun
	id := value(rt.RunPeriodic(ctxOf(t), "tick"))(t)
	ends(t, rt, id, jobs.Completed)
	s := statusOf(t, rt)
	if len(s.History) != 1 || s.History[0].Trigger != "hand" || s.History[0].Job != id {
		t.Errorf("history: %+v", s.History)
	}
	if s.NextRun == nil || !s.NextRun.Equal(*before) {
		t.Errorf("the schedule moved from %v to %v", before, s.NextRun)
	}
	must(t, rt.PausePeriodic(ctxOf(t), "tick", true))
	s = statusOf(t, rt)
	if !s.Paused || s.NextRun != nil || s.Overdue {
		t.Errorf("paused: %+v", s)
	}
	ends(t, rt, value(rt.RunPeriodic(ctxOf(t), "tick"))(t), jobs.Completed)
	must(t, rt.PausePeriodic(ctxOf(t), "tick", false))
	if s = statusOf(t, rt); s.Paused || s.NextRun == nil || len(s.History) != 2 {
		t.Errorf("resumed: %+v", s)
	}
	if _, err := rt.RunPeriodic(ctxOf(t), "tock"); !errors.Is(err, jobs.ErrNotFound) {
		t.Errorf("an unknown one answers %v", err)
	}
	if err := rt.PausePeriodic(ctxOf(t), "tock", true); !errors.Is(err, jobs.ErrNotFound) {
		t.Errorf("pausing an unknown one answers %v", err)
	}
}

func periodicRestart(t *testing.T, w World) {
	const every = 1500 * time.Millisecond
	setup := Setup{Periodics: []jobs.Periodic{periodic("tick", every, func(context.Context) error { return nil })}}
	rt := w.started(t, setup)
	eventually(t, "a turn is kept", func() bool { return len(statusOf(t, rt).History) > 0 })
	must(t, rt.Stop(ctxOf(t)))
	kept := statusOf(t, rt)
	missed := kept.NextRun.Add(2 * every)
	eventually(t, "turns are missed", func() bool { return time.Now().After(missed) })
	began := time.Now()
	rt = w.started(t, setup)
	var s jobs.PeriodicStatus
	eventually(t, "the gap is caught up", func() bool { s = statusOf(t, rt); return len(s.History) > len(kept.History) })
	took := time.Since(began)
	n := len(s.History) - len(kept.History)
	if !slices.Equal(s.History[n:], kept.History) || s.History[n-1].Trigger != "catch-up" {
		t.Errorf("history: %+v, kept was %+v", s.History, kept.History)
	}
	// Three turns were due at once: one is made for all, and those that have come since.
	if most := 1 + int(took/every) + 1; n > most {
		t.Errorf("%d turns within %s of the restart, want at most %d", n, took, most)
	}
	if s.NextRun == nil || time.Until(*s.NextRun) > every {
		t.Errorf("next turn at %v", s.NextRun)
	}
}

func periodicTwice(t *testing.T, w World) {
	var now, most atomic.Int32
	setup := Setup{Periodics: []jobs.Periodic{periodic("tick", 200*time.Millisecond, func(context.Context) error {
		if n := now.Add(1); n > most.Load() {
			most.Store(n)
		}
		time.Sleep(20 * time.Millisecond)
		now.Add(-1)
		return nil
	})}}
	a, b := w.started(t, setup), w.started(t, setup)
	for range 5 {
		value(a.RunPeriodic(ctxOf(t), "tick"))(t)
		value(b.RunPeriodic(ctxOf(t), "tick"))(t)
	}
	eventually(t, "some turns", func() bool { return len(statusOf(t, a).History) >= 4 })
	equal(t, "turns at once", most.Load(), 1)
	seen := map[jobs.ID]bool{}
	for _, turn := range statusOf(t, b).History {
		if seen[turn.Job] {
			t.Errorf("job %d is in the history twice", turn.Job)
		}
		seen[turn.Job] = true
	}
}
