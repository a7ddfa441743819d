package faults

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/gatehouse-hq/gatehouse/e2e/blackbox"
	"github.com/gatehouse-hq/gatehouse/internal/infra/pg/pgtest"
)

var (
	seed      = flag.Uint64("seed", 0, "seed of the random schedules; 0 takes the time")
	schedules = flag.Int("schedules", 1, "random schedules of a scenario that has them, side by side; with a seed it is one")
	notes     = flag.Int("notes", 1500, "writes of the load")
)

// eachSchedule runs a random scenario so many times, each with a seed that it prints and an installation of its own. Most of
// their time goes by in waiting, so they run side by side. A seed that is given is run once.
func eachSchedule(t *testing.T, times int, with string, run func(t *testing.T, seed uint64)) {
	t.Parallel()
	if *seed != 0 {
		times = 1
	}
	for i := range times {
		t.Run(fmt.Sprintf("schedule %d", i+1), func(t *testing.T) {
			t.Parallel()
			own := *seed
			if own == 0 {
				own = uint64(time.Now().UnixNano()) + uint64(i)
			}
			name, _, _ := strings.Cut(t.Name(), "/")
			t.Logf("replay with: -run %s -seed %d%s", name, own, with)
			run(t, own)
		})
	}
}

// Two processes on one database, each killed at random while notes are
// written: in the end every committed note is in the index in its last state,
// every event was fanned out exactly once, and nothing is stuck.
func TestKilledProcessesLoseNothing(t *testing.T) {
	eachSchedule(t, *schedules, "", killedProcesses)
}

func killedProcesses(t *testing.T, seed uint64) {
	random := rand.New(rand.NewPCG(seed, 1))
	dbURL := pgtest.URL(t)
	pool := open(t, dbURL)
	servers := []*blackbox.Server{start(t, dbURL), start(t, dbURL)}
	o, err := blackbox.SetUp(t.Context(), servers[0])
	if err != nil {
		t.Fatal(err)
	}

	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var written atomic.Int64
	var load sync.WaitGroup
	for w := range 4 {
		r := rand.New(rand.NewPCG(seed, uint64(w)+2))
		load.Go(func() { writeNotes(ctx, o, servers, r, &written, w) })
	}
	kills := 0
	for written.Load() < int64(*notes) {
		victim := servers[random.IntN(len(servers))]
		before := written.Load()
		target := before + 20 + int64(random.IntN(120))
		for written.Load() < min(target, int64(*notes)) {
			select {
			case <-t.Context().Done():
				t.Fatal("the load did not get on")
			case <-time.After(time.Duration(1+random.IntN(30)) * time.Millisecond):
			}
		}
		victim.Signal(syscall.SIGKILL)
		kills++
		again(t, victim)
	}
	stop()
	load.Wait()
	t.Logf("%d writes answered, %d kills", written.Load(), kills)
	settledSpine(t, pool)
	compareLedgers(t, pool)
}

// writeNotes creates, changes, publishes and deletes until ctx ends. A call
// that a kill cut off may or may not have happened: the database knows.
func writeNotes(ctx context.Context, o *blackbox.Owner, servers []*blackbox.Server, r *rand.Rand, written *atomic.Int64, w int) {
	var mine []string
	for n := 0; ctx.Err() == nil; n++ {
		s := servers[r.IntN(len(servers))]
		var err error
		switch what := r.IntN(10); {
		case what < 5 || len(mine) == 0:
			var made struct {
				NoteID string `json:"note_id"`
			}
			err = o.Call(ctx, s, "corpus.create", map[string]any{"genre": "wiki", "title": fmt.Sprintf("Note %d of %d", n, w),
				"body": fmt.Sprintf("plum%d", r.IntN(1000)), "published": r.IntN(2) == 0}, &made)
			if err == nil {
				mine = append(mine, made.NoteID)
			}
		case what < 9:
			err = o.Call(ctx, s, "corpus.update", map[string]any{"id": mine[r.IntN(len(mine))], "body": fmt.Sprintf("pear%d", r.IntN(1000))}, nil)
		default:
			i := r.IntN(len(mine))
			if err = o.Call(ctx, s, "corpus.delete", map[string]any{"ids": []string{mine[i]}}, nil); err == nil {
				mine = append(mine[:i], mine[i+1:]...)
			}
		}
		if err == nil {
			written.Add(1)
			continue
		}
		select { // the server may be down for a moment
		case <-ctx.Done():
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// settled waits until nothing is waiting or running: a minute at most.
func settledSpine(t *testing.T, pool *pgxpool.Pool) {
	t.Helper()
	err := blackbox.Eventually(t.Context(), 60*time.Second, func() error {
		var events, jobs int
		err := pool.QueryRow(t.Context(), `
			select (select count(*) from events where fanned_out_at is null),
				(select count(*) from river.river_job where kind <> 'periodic' and finalized_at is null)`).Scan(&events, &jobs)
		if err == nil && events+jobs > 0 {
			err = fmt.Errorf("%d events and %d tasks are open", events, jobs)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// compareLedgers asks the database what may not be.
func compareLedgers(t *testing.T, pool *pgxpool.Pool) {
	t.Helper()
	for what, query := range map[string]string{
		"notes missing from the index or there in an older state": `
			select count(*) from notes n left join search_documents d on d.id = n.id and d.version = n.version and d.body like '%' || n.body || '%' and d.published = n.published
			where n.deleted_at is null and not n.folder and d.id is null`,
		"documents of notes that are gone": `
			select count(*) from search_documents d left join notes n on n.id = d.id and n.deleted_at is null where n.id is null`,
		"events set aside":      `select count(*) from events where poisoned_at is not null`,
		"events without a task": `select count(*) from events where type = 'corpus.note.changed' and not coalesce(fanout ? 'corpus.index', false)`,
		"tasks that no event stands behind: fanned out twice": `
			select count(*) from river.river_job j where kind = 'corpus.index'
			and not exists (select 1 from events e where (e.fanout ->> 'corpus.index')::bigint = j.id)`,
		"discarded tasks": `select count(*) from river.river_job where state = 'discarded'`,
	} {
		var n int
		if err := pool.QueryRow(t.Context(), query).Scan(&n); err != nil {
			t.Fatal(errors.Join(fmt.Errorf("asking for %s", what), err))
		}
		if n != 0 {
			t.Errorf("%d %s", n, what)
		}
	}
	var notes, events int
	if err := pool.QueryRow(t.Context(), `select (select count(*) from notes), (select count(*) from events)`).Scan(&notes, &events); err != nil {
		t.Fatal(err)
	}
	if notes < 100 || events < notes {
		t.Errorf("the load was too small to prove anything: %d notes, %d events", notes, events)
	}
}
