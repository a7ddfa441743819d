package river_test

import (
	"context"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/gatehouse-hq/gatehouse/internal/infra/jobs"
	"github.com/gatehouse-hq/gatehouse/internal/infra/jobs/jobstest"
	"github.com/gatehouse-hq/gatehouse/internal/infra/jobs/river"
	"github.com/gatehouse-hq/gatehouse/internal/infra/pg"
	"github.com/gatehouse-hq/gatehouse/internal/infra/pg/pgtest"
)

func TestContract(t *testing.T) {
	if n := len(jobstest.Cases()); n < 30 {
		t.Fatalf("the contract has only %d cases", n)
	}
	jobstest.Run(t, func(t testing.TB) jobstest.World {
		w := newWorld(t)
		return jobstest.World{DB: w.db, Open: func(t testing.TB, s jobstest.Setup) jobs.Runtime { return w.open(t, config(s)) }}
	})
}

func config(s jobstest.Setup) river.Config {
	cfg := river.Config{
		Kinds: s.Kinds, Periodics: s.Periodics, Queues: s.Queues, Work: !s.Idle, Grace: s.Grace,
		Role: "all", Version: "test", Turn: 50 * time.Millisecond,
	}
	if cfg.Queues == nil {
		cfg.Queues = []jobs.Queue{{Name: "index", Workers: 4, Cooldown: 5 * time.Millisecond}, {Name: "maintenance", Workers: 1, Cooldown: 5 * time.Millisecond}}
	}
	if cfg.Grace == 0 {
		cfg.Grace = 2 * time.Second
	}
	return cfg
}

// world is a database of the test's own and what its processes share.
type world struct {
	url string
	db  *pg.DB
}

func newWorld(t testing.TB) *world {
	t.Helper()
	w := &world{url: pgtest.URL(t)}
	w.db = w.pool(t)
	return w
}

func (w *world) pool(t testing.TB) *pg.DB {
	t.Helper()
	db, err := pg.Open(t.Context(), w.url, pg.Options{MaxConns: 24})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Close)
	return db
}

// open makes a process with a pool and a listener of its own.
func (w *world) open(t testing.TB, cfg river.Config) *river.Runtime {
	t.Helper()
	log := slog.New(slog.DiscardHandler)
	listener := pg.NewListener(w.url, log)
	ctx, cancel := context.WithCancel(context.Background())
	var listening sync.WaitGroup
	db := w.pool(t)
	rt, err := river.New(db, w.url, listener, log, cfg)
	if err != nil {
		cancel()
		t.Fatal(err)
	}
	listening.Go(func() { listener.Run(ctx) })
	t.Cleanup(func() {
		stop, end := context.WithTimeout(context.Background(), 10*time.Second)
		defer end()
		if err := rt.Stop(stop); err != nil {
			t.Errorf("stop: %v", err)
		}
		cancel()
		listening.Wait()
	})
	return rt
}
