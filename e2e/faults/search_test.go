package faults

import (
	"fmt"
	"testing"
	"time"

	"github.com/gatehouse-hq/gatehouse/e2e/blackbox"
	"github.com/gatehouse-hq/gatehouse/mock-stack/meili"
	"github.com/gatehouse-hq/gatehouse/mock-stack/sink"
)

// withMeili is a world whose search engine is the fake one.
func withMeili(t *testing.T, hooks int) (*world, *meili.Running) {
	t.Helper()
	engine, err := meili.Start("127.0.0.1:0", "")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(engine.Close)
	return newWorld(t, setup{servers: 1, hooks: hooks, env: []string{"GATEHOUSE_MEILI_URL=" + engine.URL()}}), engine
}

// The search engine is away, fails after it accepted, forgets tasks, and is
// wiped: writes and deliveries go on, and in the end everything is found.
func TestSearchEngineInTrouble(t *testing.T) {
	t.Parallel()
	w, engine := withMeili(t, 1)
	w.load(2, 6)
	for _, how := range []meili.Outage{meili.OutageRefuse, meili.Outage503} {
		w.more(10)
		w.must(engine.SetOutage(how))
		w.more(4) // writes do not wait for search
		w.must(engine.SetOutage(meili.OutageNone))
	}
	engine.SetTaskFaults(meili.TaskFaults{Fail: 3, Delay: 5 * time.Millisecond})
	w.more(10)
	engine.SetTaskFaults(meili.TaskFaults{Vanish: 2, Delay: 5 * time.Millisecond})
	w.more(10)
	w.finish()

	engine.Wipe()
	// Young notes do not count as missing: their own tasks may be on the way.
	_, err := w.pool.Exec(t.Context(), `update notes set updated_at = updated_at - interval '1 hour', deleted_at = deleted_at - interval '1 hour'`)
	w.must(err)
	w.call("tasks.run_periodic", map[string]any{"name": "corpus.verify"})
	w.must(blackbox.Eventually(t.Context(), 60*time.Second, func() error {
		for _, e := range w.book.entries {
			if !e.published || e.deleted || e.doubt {
				continue
			}
			if found, err := w.finds(e.word); err != nil || !found {
				return fmt.Errorf("%s is not found after the engine was wiped: %v", e.word, err)
			}
		}
		return nil
	}))
}

// A peer that accepts and never answers: each call ends at its own deadline,
// and other queues finish meanwhile (field case F07).
func TestPeersThatNeverAnswer(t *testing.T) {
	t.Parallel()
	w, engine := withMeili(t, 2)
	w.must(engine.SetOutage(meili.OutageHang))
	hangs, works := w.hooks[0], w.hooks[1]
	w.sink.SetPlan(hangs, sink.Plan{Steps: []sink.Step{{Delay: sink.Duration(time.Hour)}}})
	const notes = 12 // more than the index has workers
	for n := range notes {
		w.published(fmt.Sprintf("Hanging %d", n))
	}
	w.must(blackbox.Eventually(t.Context(), 20*time.Second, func() error {
		if got := w.sink.Count(works).Requests; got != notes {
			return fmt.Errorf("the receiver that works has %d of %d", got, notes)
		}
		return nil
	}))
	// Deadlines: 5 s for a call to the engine, 10 s for a delivery. Both kinds may take longer.
	w.must(blackbox.Eventually(t.Context(), 40*time.Second, func() error {
		return w.none("kinds have no attempt that ended at its deadline", `
			select 2 - count(distinct kind) from river.river_job where kind in ('corpus.index', 'webhook.deliver') and errors is not null`)
	}))
	w.must(w.none("attempts took their kind's whole time", `
		select count(*) from river.river_job j, jsonb_array_elements(j.metadata -> 'ledger') a
		where (kind = 'corpus.index' and (a ->> 'took')::bigint > 28e6) or (kind = 'webhook.deliver' and (a ->> 'took')::bigint > 14e6)`))
	w.must(engine.SetOutage(meili.OutageNone))
}

// Receivers that are slow, refuse, drip or never end hold up nobody but
// themselves.
func TestReceiversOfEveryKind(t *testing.T) {
	t.Parallel()
	w := newWorld(t, setup{servers: 1, hooks: 6})
	plans := []sink.Step{
		{Status: 200, Delay: sink.Duration(300 * time.Millisecond)},
		{Status: 503, RetryAfter: "1", Count: 2},
		{Status: 200, Body: "drip", Drip: sink.Duration(50 * time.Millisecond), Count: 1},
		{Status: 200, Endless: true, Count: 1},
		{Drop: true, Count: 1},
	}
	for n, step := range plans {
		steps := []sink.Step{step}
		if step.Count > 0 {
			steps = append(steps, sink.Step{Status: 200})
		}
		w.sink.SetPlan(w.hooks[n], sink.Plan{Steps: steps})
	}
	w.load(2, 7)
	w.more(25)
	healthy := w.hooks[5]
	before := w.sink.Count(healthy).Requests
	w.more(10)
	w.must(blackbox.Eventually(t.Context(), 10*time.Second, func() error {
		if w.sink.Count(healthy).Requests <= before {
			return fmt.Errorf("the healthy receiver got nothing new")
		}
		return nil
	}))
	w.finish()
}
