package events_test

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gatehouse-hq/gatehouse/internal/infra/events"
	"github.com/gatehouse-hq/gatehouse/internal/infra/pg"
)

// listener is a process's LISTEN connection, already listening.
func (h *house) listener() *pg.Listener {
	h.t.Helper()
	l := pg.NewListener(h.url, slog.New(slog.DiscardHandler))
	ctx, stop := context.WithCancel(context.Background())
	var wait sync.WaitGroup
	wait.Go(func() { l.Run(ctx) })
	h.t.Cleanup(func() { stop(); wait.Wait() })
	return l
}

// listen calls fn for each notification and returns once they arrive.
func (h *house) listen(fn func(payload string)) {
	h.t.Helper()
	ready := make(chan struct{})
	once := sync.OnceFunc(func() { close(ready) })
	h.listener().Subscribe(events.Channel, func(payload string) { once(); fn(payload) })
	select {
	case <-ready:
	case <-time.After(30 * time.Second):
		h.t.Fatal("the listener does not listen")
	}
}

const listening = `from pg_stat_activity where datname = current_database() and query ilike 'listen%' and pid <> pg_backend_pid()`

// Field case F02: the LISTEN connection is dropped and nothing is heard again.
func TestDroppedListenConnectionLosesNothing(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	cfg := h.config(each())
	cfg.Listener = h.listener()
	h.start(cfg)
	eventually(t, "the process listens", func() bool { return ask[int](h, `select count(*) `+listening) > 0 })

	h.exec(`select pg_terminate_backend(pid) ` + listening)
	web := h.config()
	web.NoRelay, web.URL = true, h.url
	h.start(web)
	h.record(web.Bell, "thing.made", "in the same second")
	eventually(t, "the event is relayed", func() bool { return len(h.args("each")) == 1 })
	eventually(t, "LISTEN is issued again", func() bool { return ask[int](h, `select count(*) `+listening) > 0 })
}

// A process that does not relay wakes those that do.
func TestOtherProcessesAreNotified(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	var heard atomic.Int64
	h.listen(func(payload string) {
		if payload != "" {
			heard.Add(1)
		}
	})
	cfg := h.config(each())
	cfg.NoRelay, cfg.URL = true, h.url
	b, _ := h.start(cfg)
	started := time.Now()
	for range 2000 {
		b.Poke()
		time.Sleep(100 * time.Microsecond)
	}
	elapsed := time.Since(started)
	eventually(t, "a notification arrives", func() bool { return heard.Load() > 0 })
	if most := int64(elapsed/(50*time.Millisecond)) + 2; heard.Load() > most {
		t.Errorf("%d notifications in %s, want at most one in 50 ms (%d)", heard.Load(), elapsed, most)
	}
}
