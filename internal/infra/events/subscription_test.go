package events_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/gatehouse-hq/gatehouse/internal/infra/events"
	"github.com/gatehouse-hq/gatehouse/internal/infra/jobs"
	"github.com/gatehouse-hq/gatehouse/internal/infra/pg"
)

func TestCoalescingKeepsTheLatestOfEachSubject(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.exec(`insert into events (owner_id, type, subject) select $1::uuid, 'thing.made', 'thing/' || i % 3 from generate_series(1, 30) i`, owner)
	latest := events.Subscription{Name: "latest", Types: []string{"thing.*"}, Coalesce: true, Handle: ignore}
	h.start(h.config(latest, each()))
	eventually(t, "all is relayed", h.drained)
	if n := len(h.args("each")); n != 30 {
		t.Errorf("%d tasks for the subscription that does not coalesce, want 30", n)
	}
	if n := len(h.args("latest")); n != 3 {
		t.Errorf("%d tasks for 3 subjects", n)
	}
	wrong := ask[int](h, `select count(*) from events e join tasks t on t.id = (e.fanout ->> 'latest')::bigint
where t.args ->> 'event_id' <> (select id::text from events l where l.subject = e.subject order by seq desc limit 1)`)
	if wrong != 0 {
		t.Errorf("%d events point to a task that is not for the latest event of their subject", wrong)
	}
	if n := ask[int](h, `select count(*) from events where fanout ? 'latest' and fanout ? 'each'`); n != 30 {
		t.Errorf("%d events know their tasks, want 30", n)
	}
}

// Field case F11: a change soon after the first is no duplicate of it.
func TestEachPassMakesATaskOfItsOwn(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	latest := events.Subscription{Name: "latest", Types: []string{"thing.*"}, Coalesce: true, Handle: ignore}
	cfg := h.config(latest)
	b, _ := h.start(cfg)
	var ids []string
	for range 3 {
		id := h.record(cfg.Bell, "thing.made", "the same")
		if !b.AwaitFanout(t.Context(), []string{id}, long) {
			t.Fatal("not fanned out")
		}
		ids = append(ids, id)
	}
	var named []string
	for _, a := range h.args("latest") {
		named = append(named, a.Event)
	}
	if !slices.Equal(named, ids) {
		t.Errorf("tasks for %v, want one for each of %v", named, ids)
	}
}

func TestBatchingIsOneTaskAPassAndMergesNothing(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.exec(`insert into events (owner_id, type, subject) select $1::uuid, 'thing.made', 'same' from generate_series(1, 450) i`, owner)
	batch := events.Subscription{Name: "batch", Types: []string{"thing.made"}, HandleBatch: ignoreBatch}
	h.start(h.config(batch))
	eventually(t, "all is relayed", h.drained)
	sizes := []int{}
	seen := map[string]bool{}
	for _, a := range h.args("batch") {
		sizes = append(sizes, len(a.Events))
		for _, id := range a.Events {
			seen[id] = true
		}
	}
	if !slices.Equal(sizes, []int{200, 200, 50}) || len(seen) != 450 {
		t.Errorf("batches of %v with %d events, want 200, 200, 50 with 450", sizes, len(seen))
	}
}

func TestExposedSubscriptionNeverGetsInternalTypes(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	exposed := events.Subscription{Name: "out", Types: []string{"**"}, Exposed: true, Handle: ignore}
	cfg := h.config(exposed)
	h.start(cfg)
	h.record(cfg.Bell, "secret.kept", "s")
	h.record(cfg.Bell, "thing.made", "t")
	eventually(t, "all is relayed", h.drained)
	if got := h.args("out"); len(got) != 1 || got[0].Subject != "t" {
		t.Errorf("tasks %v, want one, for t", got)
	}
}

func handlerOf(t *testing.T, b *events.Bus, name string) jobs.Handler {
	t.Helper()
	for _, k := range b.Kinds() {
		if k.Name == name {
			return k.Handler
		}
	}
	t.Fatalf("no kind %s", name)
	return nil
}

func TestHandlerGetsItsEventAndCause(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	var got events.Event
	var cause pg.Cause
	s := events.Subscription{Name: "one", Types: []string{"thing.made"}, Handle: func(ctx context.Context, e events.Event) error {
		got, cause = e, pg.CauseFrom(ctx)
		return errors.New("busy")
	}}
	cfg := h.config(s)
	b := h.bus(cfg)
	var id string
	ctx := pg.WithCause(t.Context(), pg.Cause{Request: "r1", Actor: "owner"})
	err := pg.InTx(ctx, h.db, func(tx pg.Tx) (err error) {
		id, err = events.NewRecorder(types(), cfg.Bell).With(tx).Record(ctx, owner, "thing.made", "s", map[string]int{"n": 1})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	run := jobs.WithRun(t.Context(), jobs.Run{ID: 42, Kind: "one"}, nil)
	args, _ := json.Marshal(events.Args{Event: id})
	if err := handlerOf(t, b, "one")(run, args); err == nil || err.Error() != "busy" {
		t.Errorf("the handler's error came back as %v", err)
	}
	if got.ID != id || got.Subject != "s" || string(got.Data) != `{"n": 1}` || got.OwnerID != owner || got.Seq == 0 || got.OccurredAt.IsZero() {
		t.Errorf("the handler got %+v", got)
	}
	if want := (pg.Cause{Request: "r1", Actor: "owner", Job: 42, Event: id}); cause != want {
		t.Errorf("cause in the handler is %+v, want %+v", cause, want)
	}
}

func TestJobsThatCannotBeDoneAreDiscarded(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	called := false
	one := events.Subscription{Name: "one", Types: []string{"**"}, Handle: func(context.Context, events.Event) error { called = true; return nil }}
	b := h.bus(h.config(one))
	for name, args := range map[string]string{
		"pruned": `{"event_id": "` + owner + `"}`, "no id": `{}`, "no uuid": `{"event_id": "7; drop"}`,
		"no JSON": `{"event_id"`, "another shape": `[1]`,
	} {
		var discard *jobs.DiscardError
		if err := handlerOf(t, b, "one")(t.Context(), json.RawMessage(args)); !errors.As(err, &discard) || discard.Uncertain {
			t.Errorf("%s: got %v, want a discard", name, err)
		}
	}
	if called {
		t.Error("the handler was called without an event")
	}
}

// Batches are read in the order of writing, without those that are gone, half
// of them from what the process remembers.
func TestBatchHandlerGetsAllThatIsLeft(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	var got []string
	batch := events.Subscription{Name: "batch", Types: []string{"**"}, HandleBatch: func(_ context.Context, es []events.Event) error {
		for _, e := range es {
			got = append(got, e.Subject)
		}
		return nil
	}}
	cfg := h.config(batch)
	b, _ := h.start(cfg)
	h.insert(5)
	eventually(t, "five are relayed", h.drained)
	h.exec(`insert into events (owner_id, type, subject, fanned_out_at) values ($1::uuid, 'thing.made', 'elsewhere', clock_timestamp())`, owner)
	ids := ask[[]string](h, `select array_agg(id::text order by seq desc) from events`)
	args, _ := json.Marshal(events.Args{Events: append(ids, owner, ids[0])})
	if err := handlerOf(t, b, "batch")(t.Context(), args); err != nil {
		t.Fatal(err)
	}
	if want := []string{"thing/1", "thing/2", "thing/3", "thing/4", "thing/5", "elsewhere"}; !slices.Equal(got, want) {
		t.Errorf("the handler got %v, want %v", got, want)
	}
}

// One event of a batch fails: it becomes a task of its own in the transaction
// in which the rest commit.
func TestSplitOffMakesATaskOfItsOwn(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.exec(`create table done (subject text)`)
	batch := events.Subscription{Name: "batch", Types: []string{"**"}, HandleBatch: func(ctx context.Context, es []events.Event) error {
		return pg.InTx(ctx, h.db, func(tx pg.Tx) error {
			for _, e := range es {
				if e.Subject == "thing/2" {
					if len(es) == 1 {
						return errors.New("still bad")
					}
					if err := events.SplitOff(ctx, h.queue.With(tx), "batch", e); err != nil {
						return err
					}
					continue
				}
				if _, err := tx.Exec(ctx, `insert into done values ($1)`, e.Subject); err != nil {
					return err
				}
			}
			return nil
		})
	}}
	b, _ := h.start(h.config(batch))
	h.insert(3)
	eventually(t, "the batch is relayed", h.drained)
	task := func(n int) json.RawMessage {
		return json.RawMessage(ask[string](h, fmt.Sprintf(`select args::text from tasks order by id offset %d limit 1`, n)))
	}
	if err := handlerOf(t, b, "batch")(t.Context(), task(0)); err != nil {
		t.Fatal(err)
	}
	if got := ask[[]string](h, `select array_agg(subject order by subject) from done`); !slices.Equal(got, []string{"thing/1", "thing/3"}) {
		t.Errorf("done: %v", got)
	}
	if ask[int](h, `select count(*) from tasks`) != 2 || h.args("batch")[1].Subject != "thing/2" {
		t.Fatalf("tasks %v, want a second for thing/2", h.args("batch"))
	}
	if err := handlerOf(t, b, "batch")(t.Context(), task(1)); err == nil {
		t.Error("the failing event's own task does not fail")
	}
}
