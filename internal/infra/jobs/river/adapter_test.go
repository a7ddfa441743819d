package river_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/gatehouse-hq/gatehouse/internal/infra/jobs"
	"github.com/gatehouse-hq/gatehouse/internal/infra/jobs/jobstest"
	"github.com/gatehouse-hq/gatehouse/internal/infra/jobs/river"
	"github.com/gatehouse-hq/gatehouse/internal/infra/pg"
)

func nothing(context.Context, json.RawMessage) error { return nil }

func plain(names ...string) jobstest.Setup {
	var s jobstest.Setup
	for _, n := range names {
		s.Kinds = append(s.Kinds, jobs.Kind{Name: n, Queue: "index", Awaited: true, Handler: nothing, Policy: jobs.Policy{Attempts: 3, Timeout: time.Minute}})
	}
	return s
}

func TestPrunedJobKeepsItsPage(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	rt := start(t, w.open(t, config(plain("demo"))))
	id := add(t, rt, "demo")
	if s, ok := rt.Wait(t.Context(), id, most); !ok || s != jobs.Completed {
		t.Fatal(s)
	}
	w.exec(t, `delete from river.river_job where id = $1`, id)
	if j := job(t, rt, id); !j.Pruned || j.State != jobs.Completed || j.ID != id {
		t.Errorf("%+v", j)
	}
	if s, ok := rt.Wait(t.Context(), id, most); !ok || s != jobs.Completed {
		t.Errorf("waiting for it answers %s, %v", s, ok)
	}
	if _, err := rt.Get(t.Context(), id+1); !errors.Is(err, jobs.ErrNotFound) {
		t.Errorf("the next id answers %v", err)
	}
	if err := rt.Retry(t.Context(), id, jobs.Expected{State: jobs.Completed}); !errors.Is(err, jobs.ErrNotFound) {
		t.Errorf("retrying it answers %v", err)
	}
}

func TestTriggerAnnouncesTheKindsOfEveryVersion(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	start(t, w.open(t, config(plain("old.kind", "other.kind"))))
	next := start(t, w.open(t, config(plain("new.kind"))))
	var def string
	if err := w.db.QueryRow(t.Context(), `select pg_get_triggerdef(oid) from pg_trigger where tgname = 'gatehouse_job_final'`).Scan(&def); err != nil {
		t.Fatal(err)
	}
	for _, k := range []string{"old.kind", "other.kind", "new.kind"} {
		if !strings.Contains(def, "'"+k+"'") {
			t.Errorf("%s is not announced: %s", k, def)
		}
	}
	// Every way to an end is heard, also one the library takes by itself.
	heard := make(chan string, 4)
	l := pg.NewListener(w.url, slog.New(slog.DiscardHandler))
	ready := make(chan bool, 1)
	l.Subscribe("gatehouse_job_final", func(p string) {
		if p == "" {
			ready <- true
			return
		}
		heard <- p
	})
	ctx, cancel := context.WithCancel(context.Background())
	gone := make(chan bool)
	go func() { l.Run(ctx); close(gone) }()
	defer func() { cancel(); <-gone }()
	<-ready
	id, err := next.Enqueue(t.Context(), "new.kind", nil, jobs.EnqueueOpts{RunAt: time.Now().Add(time.Hour)})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := next.CancelMatching(t.Context(), jobs.Match{Kind: "new.kind"}); err != nil {
		t.Fatal(err)
	}
	select {
	case got := <-heard:
		if got != fmt.Sprint(id) {
			t.Errorf("heard %s, want %d", got, id)
		}
	case <-time.After(most):
		t.Error("a cancelled job's end was not heard")
	}
}

// A dropped trigger is put back, and a switched off one replaced, at the next start.
func TestTriggerIsAssertedAtStart(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, damage := range []string{`drop trigger gatehouse_job_final on river.river_job`, `alter table river.river_job disable trigger gatehouse_job_final`} {
		rt := start(t, w.open(t, config(plain("demo"))))
		if err := rt.Stop(context.Background()); err != nil {
			t.Fatal(err)
		}
		w.exec(t, damage)
	}
	start(t, w.open(t, config(plain("demo"))))
	var enabled string
	if err := w.db.QueryRow(t.Context(), `select tgenabled::text from pg_trigger where tgname = 'gatehouse_job_final'`).Scan(&enabled); err != nil || enabled != "O" {
		t.Errorf("the trigger is %q, %v", enabled, err)
	}
}

func TestMigrateTwice(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for range 2 {
		if err := river.Migrate(t.Context(), w.url); err != nil {
			t.Fatal(err)
		}
	}
}

// NOTIFY in each inserting transaction would serialise the commits of all
// writers; other processes are told after the commit, at most every 50 ms.
func TestWakeUpsOfOtherProcessesAreThrottled(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	start(t, w.open(t, config(plain("demo")))) // there is somebody to announce to
	rt := start(t, w.open(t, config(plain("demo"))))
	listener, err := pgx.Connect(t.Context(), w.url)
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close(context.Background())
	if _, err := listener.Exec(t.Context(), `listen "river.river_insert"`); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	for range 200 {
		add(t, rt, "demo")
	}
	took := time.Since(began)
	heard, patience := 0, time.Minute
	for {
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		_, err := listener.WaitForNotification(ctx)
		cancel()
		if err != nil {
			break
		}
		heard, patience = heard+1, 400*time.Millisecond
	}
	// One at once, one for what came during the last pause, and one in each 50 ms between.
	if most := int(took/(50*time.Millisecond)) + 2; heard < 1 || heard > most {
		t.Errorf("200 jobs within %s sent %d notifications, want 1 to %d", took, heard, most)
	}
}

// An undecodable number in a row would otherwise come from elsewhere: what the
// adapter reads must survive rows that were written by hand.
func TestRowsWrittenByHandDoNoHarm(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	rt := start(t, w.open(t, config(plain("demo"))))
	w.exec(t, `insert into river.river_job (kind, queue, max_attempts, metadata, args) values
		('demo', 'index', 5, '{"ledger": "x", "base": "many", "cause": 7}', '[1]'), ('unheard.of', 'index', 1, '{}', '{}')`)
	id := add(t, rt, "demo")
	if s, ok := rt.Wait(t.Context(), id, most); !ok || s != jobs.Completed {
		t.Errorf("the ordinary job is %s", s)
	}
	until(t, "all have ended", func() bool {
		p, err := rt.List(t.Context(), jobs.Filter{States: []jobs.State{jobs.Completed, jobs.Discarded}})
		if err != nil {
			t.Fatal(err)
		}
		return len(p.Jobs) == 3
	})
	if _, err := rt.Overview(t.Context(), "unheard.of"); err != nil {
		t.Errorf("a kind that only rows know: %v", err)
	}
}
