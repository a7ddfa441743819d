package river_test

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/gatehouse-hq/gatehouse/internal/infra/jobs"
	"github.com/gatehouse-hq/gatehouse/internal/infra/pg"
)

// A claim whose answer the network lost, and a result the library gave up
// writing, leave the same trace: a row that runs in a living process which does
// not run it. It runs again soon; one that does run is left alone.
func TestLostJobsRunAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	runs, hold := make(chan jobs.ID, 10), make(chan struct{})
	cfg := crashConfig(func(ctx context.Context, _ json.RawMessage) error {
		r, _ := jobs.Current(ctx)
		runs <- r.ID
		select {
		case <-hold:
		case <-ctx.Done():
		}
		return nil
	})
	rt := w.open(t, cfg)
	if err := rt.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	enqueue := func(at time.Time) (id jobs.ID) {
		t.Helper()
		err := pg.InTx(t.Context(), w.db, func(tx pg.Tx) (err error) {
			id, err = rt.With(tx).Enqueue(t.Context(), "demo", map[string]int{}, jobs.EnqueueOpts{RunAt: at})
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		return id
	}
	running := enqueue(time.Time{})
	if got := <-runs; got != running {
		t.Fatalf("job %d runs, want %d", got, running)
	}
	lost := enqueue(time.Now().Add(time.Hour))
	// Both were claimed by this process long ago, says the database.
	_, err := w.db.Exec(t.Context(), `update river.river_job set state = 'running', attempt = 1, attempted_at = clock_timestamp() - interval '2 minutes', attempted_by = array[$1]
		where id = any($2)`, rt.ProcessID(), []int64{int64(running), int64(lost)})
	if err != nil {
		t.Fatal(err)
	}
	if got := <-runs; got != lost {
		t.Errorf("job %d runs, want the lost %d", got, lost)
	}
	close(hold)
	for _, id := range []jobs.ID{running, lost} {
		if state, ok := rt.Wait(t.Context(), id, most); !ok || state != jobs.Completed {
			t.Errorf("job %d is %s", id, state)
		}
	}
	if len(runs) > 0 {
		t.Errorf("job %d ran once more", <-runs)
	}
	j, err := rt.Get(t.Context(), lost)
	if err != nil {
		t.Fatal(err)
	}
	if j.Attempt != 1 {
		t.Errorf("the lost attempt was counted: attempt %d", j.Attempt)
	}
}
