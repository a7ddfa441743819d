package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/gatehouse-hq/gatehouse/e2e/blackbox"
)

func percentile(ds []time.Duration, p float64) time.Duration {
	slices.Sort(ds)
	return ds[min(int(float64(len(ds))*p), len(ds)-1)]
}

// starts measures from the process's start to ready, on an existing database.
func (b *bench) starts(ctx context.Context) (err error) {
	if err := b.start(ctx); err != nil {
		return err
	}
	if b.owner, err = blackbox.SetUp(ctx, b.server); err != nil {
		return err
	}
	var took []time.Duration
	for range 5 {
		b.server.Signal(syscall.SIGTERM)
		began := time.Now()
		if err := b.start(ctx); err != nil {
			return err
		}
		took = append(took, time.Since(began))
	}
	b.add("start to ready, existing database", "≤ 1 s", "%d ms", percentile(took, 0.5).Milliseconds())
	return nil
}

func (b *bench) start(ctx context.Context) error {
	if err := b.server.Start(); err != nil {
		return err
	}
	return b.server.Ready(ctx)
}

// rss is the resident memory of the server, MB.
func (b *bench) rss() (float64, error) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", b.server.PID()))
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(status)) {
		if kb, ok := strings.CutPrefix(line, "VmRSS:"); ok {
			n, err := strconv.ParseFloat(strings.Fields(kb)[0], 64)
			return n / 1024, err
		}
	}
	return 0, errors.New("no VmRSS")
}

func (b *bench) memoryIdle(context.Context) error {
	mb, err := b.rss()
	b.add("memory of the server, idle", "≤ 60 MB", "%.0f MB", mb)
	return err
}

// savedToFound is the time of corpus.create whose receipt says indexed.
func (b *bench) savedToFound(ctx context.Context) error {
	const n = 300
	var took []time.Duration
	late := 0
	for i := range n {
		var receipt struct {
			Indexed bool `json:"indexed"`
		}
		began := time.Now()
		err := b.owner.Call(ctx, b.server, "corpus.create", map[string]any{"genre": "wiki",
			"title": fmt.Sprintf("Measured %d", i), "body": "plum " + strings.Repeat("words go here ", 100), "published": true}, &receipt)
		if err != nil {
			return err
		}
		took = append(took, time.Since(began))
		if !receipt.Indexed {
			late++
		}
	}
	b.add("note saved → found in search (receipt true)", "p50 ≤ 50 ms, p99 ≤ 300 ms", "p50 %.1f ms, p99 %.1f ms, %d of %d without receipt",
		ms(percentile(took, 0.5)), ms(percentile(took, 0.99)), late, n)
	return nil
}

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// fannedOut reads from the rows how long events of idle times waited.
func (b *bench) fannedOut(ctx context.Context) error {
	var p50, p99 float64
	err := b.pool.QueryRow(ctx, `
		select percentile_cont(0.5) within group (order by t), percentile_cont(0.99) within group (order by t)
		from (select extract(epoch from fanned_out_at - occurred_at) * 1000 as t from events where type = 'corpus.note.changed') waits`).Scan(&p50, &p99)
	b.add("event written → fanned out, one writer", "", "p50 %.1f ms, p99 %.1f ms", p50, p99)
	return err
}

// importMany imports 2,000 notes and waits until search has every one.
func (b *bench) importMany(ctx context.Context) error {
	const n = 2000
	dir := filepath.Join(b.dir, "vault")
	for i := range n {
		folder := filepath.Join(dir, fmt.Sprintf("Folder %d", i%40))
		if err := os.MkdirAll(folder, 0o755); err != nil {
			return err
		}
		body := fmt.Sprintf("---\npublish: true\n---\nSee [[Imported %d]] and [[Imported %d]]. %s", (i*7)%n, (i*13)%n, strings.Repeat("some words here ", 60))
		if err := os.WriteFile(filepath.Join(folder, fmt.Sprintf("Imported %d.md", i)), []byte(body), 0o600); err != nil {
			return err
		}
	}
	var jobsBefore int
	if err := b.pool.QueryRow(ctx, `select count(*) from river.river_job where kind = 'corpus.index'`).Scan(&jobsBefore); err != nil {
		return err
	}
	began := time.Now()
	if out, err := b.server.Command("import", dir).CombinedOutput(); err != nil {
		return fmt.Errorf("import: %w: %s", err, out)
	}
	stored := time.Since(began)
	var found, jobs, discarded int
	err := blackbox.Eventually(ctx, 5*time.Minute, func() error {
		if err := b.pool.QueryRow(ctx, `select count(*) from search_documents d join notes n using (id)
			where n.title like 'Imported %' and d.version = n.version`).Scan(&found); err != nil {
			return err
		}
		if found < n {
			return fmt.Errorf("%d of %d notes are searchable", found, n)
		}
		return nil
	})
	if err != nil {
		return err
	}
	took := time.Since(began)
	if err := b.pool.QueryRow(ctx, `select count(*), count(*) filter (where state = 'discarded') from river.river_job where kind = 'corpus.index'`).
		Scan(&jobs, &discarded); err != nil {
		return err
	}
	b.add("import of 2,000 linked notes: all searchable", "≤ 20 s; ≤ 2,050 index jobs; none discarded", "%.1f s (stored after %.1f s); %d jobs; %d discarded",
		took.Seconds(), stored.Seconds(), jobs-jobsBefore, discarded)
	mb, err := b.rss()
	b.add("memory of the server after the import", "≤ 150 MB", "%.0f MB", mb)
	return err
}

// writers compares commits of 50 writers without events, with events, and
// with events whose relay is woken, while the server relays.
func (b *bench) writers(ctx context.Context) error {
	if _, err := b.pool.Exec(ctx, `create table bench_rows (id bigint generated always as identity, body text)`); err != nil {
		return err
	}
	var owner string
	if err := b.pool.QueryRow(ctx, `select id::text from owners`).Scan(&owner); err != nil {
		return err
	}
	const row = `insert into bench_rows (body) values ('words'); `
	plain := "begin; " + row + "commit"
	event := "begin; " + row + `insert into events (owner_id, type, subject) values ('` + owner + `', 'owner.login', 'owner://bench'); commit`
	rate := map[string][]float64{}
	for range 3 { // taken in turn: the machine's noise meets all alike
		for name, sql := range map[string]string{"without": plain, "events": event, "woken": event} {
			r, err := b.commits(ctx, sql, name == "woken")
			if err != nil {
				return err
			}
			rate[name] = append(rate[name], r)
		}
	}
	median := func(name string) float64 { slices.Sort(rate[name]); return rate[name][1] }
	b.add("50 writers: commits with events and wake-up vs events alone · vs without events", "≥ 95 % · ≥ 65 %", "%.0f %% · %.0f %% (%.0f, %.0f, %.0f/s)",
		100*median("woken")/median("events"), 100*median("woken")/median("without"), median("woken"), median("events"), median("without"))
	return nil
}

func (b *bench) commits(ctx context.Context, sql string, wake bool) (float64, error) {
	ctx, cancel := context.WithTimeout(ctx, 3*time.Second)
	defer cancel()
	cfg := b.pool.Config()
	var done atomic.Int64
	var all sync.WaitGroup
	var failed atomic.Pointer[error]
	conns, err := connections(ctx, cfg.ConnConfig, 51)
	if err != nil {
		return 0, err
	}
	began := time.Now()
	for _, c := range conns[:50] {
		all.Go(func() {
			for ctx.Err() == nil {
				if _, err := c.PgConn().Exec(ctx, sql).ReadAll(); err != nil {
					if ctx.Err() == nil {
						failed.Store(&err)
					}
					return
				}
				done.Add(1)
			}
		})
	}
	if wake { // what each process does: one NOTIFY per 50 ms, from a connection of its own
		all.Go(func() {
			for ctx.Err() == nil {
				_, _ = conns[50].Exec(ctx, `select pg_notify('gatehouse_events', '')`)
				select {
				case <-ctx.Done():
				case <-time.After(50 * time.Millisecond):
				}
			}
		})
	}
	all.Wait()
	took := time.Since(began)
	for _, c := range conns {
		_ = c.Close(context.WithoutCancel(ctx))
	}
	if e := failed.Load(); e != nil {
		return 0, *e
	}
	return float64(done.Load()) / took.Seconds(), nil
}
