package river_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/gatehouse-hq/gatehouse/internal/infra/jobs"
	"github.com/gatehouse-hq/gatehouse/internal/infra/jobs/jobstest"
	"github.com/gatehouse-hq/gatehouse/internal/infra/jobs/river"
	"github.com/gatehouse-hq/gatehouse/internal/infra/pg"
)

// A second process is this test program again, told by its environment which
// part to play.
const (
	envPart = "GATEHOUSE_TEST_PART"
	envURL  = "GATEHOUSE_TEST_PART_URL"
	envLog  = "GATEHOUSE_TEST_PART_LOG"
)

// handlers of the second process: each says that it began, in a file that the
// test watches, and then does what its part is about.
func parts() map[string]jobs.Handler {
	return map[string]jobs.Handler{
		"hang": func(ctx context.Context, _ json.RawMessage) error {
			<-ctx.Done()
			return ctx.Err()
		},
		"exit": func(context.Context, json.RawMessage) error { os.Exit(3); return nil },
		// Deaf to everything until the test lets it succeed.
		"late": func(context.Context, json.RawMessage) error {
			for !exists(os.Getenv(envLog) + let) {
				time.Sleep(5 * time.Millisecond)
			}
			return nil
		},
	}
}

// let is the ending of the file at whose sight the part "late" succeeds.
const let = ".let"

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

func begin(h jobs.Handler, log string) jobs.Handler {
	return func(ctx context.Context, a json.RawMessage) error {
		r, _ := jobs.Current(ctx)
		f, err := os.OpenFile(log, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		if err != nil {
			return err
		}
		_, err = fmt.Fprintln(f, r.ID)
		if err := f.Close(); err != nil {
			return err
		}
		if err != nil {
			return err
		}
		return h(ctx, a)
	}
}

// TestPart is not a test: it is what the second process runs.
func TestPart(t *testing.T) {
	part := os.Getenv(envPart)
	if part == "" {
		t.Skip("only for a second process")
	}
	ctx := context.Background()
	db, err := pg.Open(ctx, os.Getenv(envURL), pg.Options{MaxConns: 24})
	if err != nil {
		t.Fatal(err)
	}
	log := slog.New(slog.NewTextHandler(os.Stderr, nil))
	listener := pg.NewListener(os.Getenv(envURL), log)
	go listener.Run(ctx)
	rt, err := river.New(db, os.Getenv(envURL), listener, log, crashConfig(begin(parts()[part], os.Getenv(envLog))))
	if err != nil {
		t.Fatal(err)
	}
	if err := rt.Start(ctx); err != nil {
		t.Fatal(err)
	}
	time.Sleep(2 * time.Minute) // the test kills it long before
}

func crashConfig(h jobs.Handler) river.Config {
	k := jobs.Kind{Name: "demo", Queue: "index", Awaited: true, Handler: h, Policy: jobs.Policy{
		Attempts: 2, Backoff: func(int) time.Duration { return 10 * time.Millisecond }, Timeout: time.Minute,
	}}
	batched := k
	batched.Name, batched.Awaited = "batched", false
	cfg := config(jobstest.Setup{Kinds: []jobs.Kind{k, batched}})
	cfg.Beat = 500 * time.Millisecond
	return cfg
}

type second struct {
	cmd *exec.Cmd
	log string
}

// play starts a second process and returns once it runs a job.
func play(t *testing.T, w *world, part string) *second {
	t.Helper()
	p := &second{log: filepath.Join(t.TempDir(), "began")}
	p.cmd = exec.Command(os.Args[0], "-test.run=^TestPart$", "-test.timeout=3m")
	p.cmd.Env = append(os.Environ(), envPart+"="+part, envURL+"="+w.url, envLog+"="+p.log)
	if testing.Verbose() {
		p.cmd.Stderr = os.Stderr
	}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var once sync.Once
	end := func() {
		once.Do(func() {
			_ = p.cmd.Process.Kill() // it may have ended by itself
			_ = p.cmd.Wait()         // its exit is no news
		})
	}
	t.Cleanup(end)
	return p
}

func (p *second) signal(t *testing.T, s syscall.Signal) {
	t.Helper()
	if err := p.cmd.Process.Signal(s); err != nil {
		t.Fatal(err)
	}
}

// let allows the part "late" to succeed.
func (p *second) let(t *testing.T) {
	t.Helper()
	if err := os.WriteFile(p.log+let, nil, 0o600); err != nil {
		t.Fatal(err)
	}
}

// runs is how often its handler began.
func (p *second) runs() int {
	b, err := os.ReadFile(p.log)
	if err != nil {
		return 0
	}
	return strings.Count(string(b), "\n")
}

// most is how long something may take that takes under a second, on a machine under load.
const most = time.Minute

func until(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(most); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		if ok() {
			return
		}
	}
	t.Fatalf("not within %s: %s", most, what)
}

func (w *world) exec(t *testing.T, sql string, args ...any) {
	t.Helper()
	if _, err := w.db.Exec(t.Context(), sql, args...); err != nil {
		t.Fatal(err)
	}
}

func job(t *testing.T, rt *river.Runtime, id jobs.ID) jobs.Job {
	t.Helper()
	j, err := rt.Get(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	return j
}

func add(t *testing.T, rt *river.Runtime, kind string) jobs.ID {
	t.Helper()
	id, err := rt.Enqueue(t.Context(), kind, nil, jobs.EnqueueOpts{})
	if err != nil {
		t.Fatal(err)
	}
	return id
}

func start(t *testing.T, rt *river.Runtime) *river.Runtime {
	t.Helper()
	if err := rt.Start(context.Background()); err != nil {
		t.Fatal(err)
	}
	return rt
}

func idle(w *world, t *testing.T) *river.Runtime {
	cfg := crashConfig(func(context.Context, json.RawMessage) error { return nil })
	cfg.Work = false
	return w.open(t, cfg)
}

func TestKilledProcessesJobsRunAgainSoon(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	watch := idle(w, t)
	p := play(t, w, "hang")
	id, batched := add(t, watch, "demo"), add(t, watch, "batched")
	until(t, "both run", func() bool { return p.runs() == 2 })
	p.signal(t, syscall.SIGKILL)
	rt := start(t, w.open(t, crashConfig(func(context.Context, json.RawMessage) error { return nil })))
	for _, id := range []jobs.ID{id, batched} {
		s, ok := rt.Wait(t.Context(), id, most) // the library's own rescue comes minutes later
		if !ok || s != jobs.Completed {
			t.Fatalf("job %d is %s: %+v", id, s, job(t, rt, id))
		}
		j := job(t, rt, id)
		if j.Attempt != 1 || len(j.Attempts) != 2 || j.Attempts[0].Outcome != "crashed" || j.Attempts[0].Process == j.Attempts[1].Process {
			t.Errorf("a crash cost an attempt, or is not told: %+v", j)
		}
	}
}

func TestCancelOfADeadProcessesJobIsHonoured(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	watch := idle(w, t)
	p := play(t, w, "late") // deaf: the cancel reaches nobody
	id := add(t, watch, "demo")
	until(t, "it runs", func() bool { return p.runs() == 1 })
	p.signal(t, syscall.SIGKILL)
	if err := watch.Cancel(t.Context(), id, jobs.Expected{State: jobs.Running}); err != nil {
		t.Fatal(err)
	}
	start(t, watch) // a process that does not work sweeps as well
	if s, ok := watch.Wait(t.Context(), id, most); !ok || s != jobs.Cancelled {
		t.Errorf("the job is %s", s)
	}
}

func TestPausedProcessKeepsItsJobs(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	watch := start(t, idle(w, t))
	p := play(t, w, "late")
	id := add(t, watch, "demo")
	until(t, "it runs", func() bool { return p.runs() == 1 })
	p.signal(t, syscall.SIGSTOP)
	w.exec(t, `update processes set beat_at = beat_at - interval '1 minute' where id::text <> $1`, watch.ProcessID())
	// Several sweeps go by; its lock says that it is only paused.
	if _, ok := watch.Wait(t.Context(), id, 3*time.Second); ok {
		t.Fatal("the job of a paused process ended")
	}
	if j := job(t, watch, id); j.State != jobs.Running || len(j.Attempts) != 1 {
		t.Fatalf("the job of a paused process was taken over: %+v", j)
	}
	p.let(t)
	p.signal(t, syscall.SIGCONT)
	if s, ok := watch.Wait(t.Context(), id, most); !ok || s != jobs.Completed {
		t.Errorf("the job is %s", s)
	}
	if n := p.runs(); n != 1 {
		t.Errorf("it ran %d times", n)
	}
}

// A paused process whose connection was cut counts as dead. Awake again, it
// must not end the run that another process is in.
func TestLateFinishDoesNotEndTheSuccessorsRun(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"demo", "batched"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			watch := idle(w, t)
			p := play(t, w, "late")
			id := add(t, watch, kind)
			until(t, "it runs", func() bool { return p.runs() == 1 })
			p.signal(t, syscall.SIGSTOP)
			w.exec(t, `update processes set beat_at = beat_at - interval '1 minute'`)
			w.exec(t, `select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and application_name = 'gatehouse presence'`)
			running, let := make(chan bool, 1), make(chan bool)
			rt := start(t, w.open(t, crashConfig(func(context.Context, json.RawMessage) error {
				running <- true
				<-let
				return nil
			})))
			defer sync.OnceFunc(func() { close(let) })()
			select {
			case <-running:
			case <-time.After(most):
				t.Fatal("nobody took the job over")
			}
			p.signal(t, syscall.SIGCONT)
			// A real pause is longer than a heartbeat may be old, and the process knows on waking. This one learns it by its connection.
			until(t, "it has connected again", func() bool {
				var n int
				err := w.db.QueryRow(t.Context(), `select count(*) from pg_stat_activity where datname = current_database() and application_name = 'gatehouse presence'`).Scan(&n)
				if err != nil {
					t.Fatal(err)
				}
				return n == 2
			})
			p.let(t)
			// Its handler returns at once; its result would follow in 250 ms.
			if s, ok := rt.Wait(t.Context(), id, 3*time.Second); ok {
				t.Fatalf("the late finish of another process ended the run: %s", s)
			}
			if j := job(t, rt, id); j.State != jobs.Running || j.Attempts[0].Outcome != "crashed" {
				t.Fatalf("the job is %+v", j)
			}
			let <- true
			if s, ok := rt.Wait(t.Context(), id, most); !ok || s != jobs.Completed {
				t.Errorf("the job is %s", s)
			}
		})
	}
}

// Field case F12: a handler that ends its process is parked after its limit.
func TestProcessKillingJobIsDiscarded(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	watch := start(t, idle(w, t))
	id := add(t, watch, "demo")
	for n := 1; n <= 5; n++ { // three that cost nothing, then the two attempts
		p := play(t, w, "exit")
		until(t, fmt.Sprintf("process %d is ended by it", n), func() bool { return p.runs() == 1 })
		_ = p.cmd.Wait() // its code is 3
		w.exec(t, `update processes set beat_at = beat_at - interval '1 minute' where id::text <> $1`, watch.ProcessID())
		until(t, "it is taken over", func() bool { return job(t, watch, id).State != jobs.Running })
	}
	j := job(t, watch, id)
	if j.State != jobs.Discarded || len(j.Attempts) != 5 || !strings.Contains(j.LastError, "process ended") {
		t.Errorf("after five dead processes: %+v", j)
	}
}

// A process that lost its proof of life claims nothing until it has it again.
func TestWithoutItsLockAProcessClaimsNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	rt := start(t, w.open(t, crashConfig(func(context.Context, json.RawMessage) error { return nil })))
	if !rt.Alive() {
		t.Fatal("a started process is not alive")
	}
	// Somebody else takes the place of its connection and holds its lock.
	thief, err := pgx.Connect(t.Context(), w.url)
	if err != nil {
		t.Fatal(err)
	}
	defer thief.Close(context.Background())
	until(t, "the lock is taken away", func() bool {
		w.exec(t, `select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and application_name = 'gatehouse presence'`)
		var got bool
		if err := thief.QueryRow(t.Context(), `select pg_try_advisory_lock(lock_key) from processes`).Scan(&got); err != nil {
			t.Fatal(err)
		}
		return got
	})
	until(t, "it knows", func() bool { return !rt.Alive() })
	// One claim may have been on its way when the lock went. It is over once its job has ended, and none follows it.
	id := add(t, rt, "demo")
	if _, ok := rt.Wait(t.Context(), id, time.Second); ok {
		id = add(t, rt, "demo")
	}
	if _, ok := rt.Wait(t.Context(), id, time.Second); ok {
		t.Error("a process without its lock worked")
	}
	if _, err := thief.Exec(t.Context(), `select pg_advisory_unlock_all()`); err != nil {
		t.Fatal(err)
	}
	if s, ok := rt.Wait(t.Context(), id, most); !ok || s != jobs.Completed {
		t.Errorf("with its lock again: %s", s)
	}
}
