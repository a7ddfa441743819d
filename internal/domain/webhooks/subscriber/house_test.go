package subscriber_test

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/gatehouse-hq/gatehouse/internal/domain"
	"github.com/gatehouse-hq/gatehouse/internal/domain/webhooks"
	"github.com/gatehouse-hq/gatehouse/internal/domain/webhooks/subscriber"
	"github.com/gatehouse-hq/gatehouse/internal/infra/egress"
	"github.com/gatehouse-hq/gatehouse/internal/infra/events"
	"github.com/gatehouse-hq/gatehouse/internal/infra/jobs"
	"github.com/gatehouse-hq/gatehouse/internal/infra/jobs/river"
	"github.com/gatehouse-hq/gatehouse/internal/infra/op"
	"github.com/gatehouse-hq/gatehouse/internal/infra/pg"
	"github.com/gatehouse-hq/gatehouse/internal/infra/pg/pgtest"
	"github.com/gatehouse-hq/gatehouse/internal/infra/seal"
	"github.com/gatehouse-hq/gatehouse/mock-stack/sink"
)

func TestMain(m *testing.M) { pgtest.Main(m, pgtest.NoLeaks) }

// house is a database, a receiver, and the processes at work on them.
type house struct {
	t    testing.TB
	url  string
	db   *pg.DB
	sink *sink.Sink
	hook string // address of the receiver, to which a hook's name is appended
	*process
}

// process is one server process, as far as webhooks go.
type process struct {
	db      *pg.DB
	domain  *webhooks.Domain
	bell    *events.Bell
	bus     *events.Bus
	runtime *river.Runtime
	stop    func()
}

// thingMade and noteChanged stand for the types of other domains.
func otherTypes() []events.Type {
	example := json.RawMessage(`{"id":"1"}`)
	return []events.Type{
		{Name: "thing.made", Title: "Made", Example: example, Exposure: events.Webhook},
		{Name: "secret.kept", Title: "Kept", Example: example},
		{Name: webhooks.NoteChangedType, Title: "Note changed", Example: example, Exposure: events.Webhook},
	}
}

func newHouse(t testing.TB) *house {
	t.Helper()
	h := &house{t: t, url: pgtest.URL(t), sink: sink.New()}
	server := httptest.NewServer(h.sink)
	h.hook = server.URL + "/hook/"
	h.process = h.start(nil)
	h.db = h.process.db
	t.Cleanup(server.Close)
	return h
}

// start starts another process; it ends with the test or by its stop. backoff replaces the schedule of deliveries.
func (h *house) start(backoff func(int) time.Duration) *process {
	h.t.Helper()
	return h.startWith(make([]byte, seal.KeyBytes), backoff)
}

// failingOnce makes an endpoint whose receiver refused its first event and answers well from then on; the retry is an hour
// away.
func (h *house) failingOnce() (id string, first []string) {
	h.t.Helper()
	h.process.stop()
	h.process = h.start(func(int) time.Duration { return time.Hour })
	h.db = h.process.db
	h.sink.SetPlan("a", sink.Plan{Record: sink.RecordIDs, Steps: []sink.Step{{Status: 500, Count: 1}}})
	id = h.endpoint("a").Endpoint.ID
	first = h.happen(1, "thing.made", `{}`)
	h.status(id, webhooks.Failing)
	return id, first
}

// startWith starts a process whose secrets are sealed under key.
func (h *house) startWith(key []byte, backoff func(int) time.Duration) *process {
	h.t.Helper()
	must := func(err error) {
		if err != nil {
			h.t.Helper()
			h.t.Fatal(err)
		}
	}
	db, err := pg.Open(context.Background(), h.url, pg.Options{MaxConns: 40})
	must(err)
	log := slog.New(slog.DiscardHandler)
	p := &process{db: db, bell: events.NewBell()}
	listener := pg.NewListener(h.url, log)
	allow, err := egress.ParseAllow("127.0.0.1")
	must(err)
	client := egress.New(egress.Options{Allow: allow})
	sealer, err := seal.New(key)
	must(err)
	types := append(webhooks.Types(), otherTypes()...)
	p.domain = webhooks.New(webhooks.Deps{DB: db, Recorder: events.NewRecorder(types, p.bell), Sealer: sealer, Addresses: client, Wire: subscriber.Wire{}})
	handlers := subscriber.New(p.domain, client, "test")
	module := p.domain.Module(handlers)
	quicken(module, backoff)
	p.bus, err = events.NewBus(events.Config{DB: db, Bell: p.bell, URL: h.url, Listener: listener, Log: log, Types: types, Subscriptions: module.Subscriptions})
	must(err)
	p.runtime, err = river.New(db, h.url, listener, log, river.Config{Kinds: append(module.Kinds, p.bus.Kinds()...), Periodics: module.Periodics, Queues: jobs.Queues(50), Work: true})
	must(err)
	p.domain.Connect(webhooks.Queue{Jobs: p.runtime, Inspect: p.runtime, Wait: p.runtime.Wait, Types: p.bus.Types(), Event: p.event})
	deaf := handlers.Connect(subscriber.Queue{Jobs: p.runtime, Listener: listener, Event: p.event})
	ctx, cancel := context.WithCancel(context.Background())
	var loops sync.WaitGroup
	loops.Go(func() { listener.Run(ctx) })
	must(p.runtime.Start(ctx))
	must(p.bus.Start(ctx, p.runtime))
	p.stop = sync.OnceFunc(func() {
		if err := p.bus.Stop(context.Background()); err != nil {
			h.t.Error(err)
		}
		if err := p.runtime.Stop(context.Background()); err != nil {
			h.t.Error(err)
		}
		deaf()
		cancel()
		loops.Wait()
		client.Close()
		db.Close()
	})
	h.t.Cleanup(p.stop)
	return p
}

func (p *process) event(ctx context.Context, id string) (events.Event, error) {
	e, err := p.bus.Get(ctx, id)
	return e.Event, err
}

// quicken shortens the schedule of deliveries, so that a test sees several attempts.
func quicken(m domain.Module, backoff func(int) time.Duration) {
	for i := range m.Kinds {
		if m.Kinds[i].Name == webhooks.DeliverKind {
			if backoff == nil {
				backoff = func(int) time.Duration { return 50 * time.Millisecond }
			}
			m.Kinds[i].Policy.Backoff = backoff
		}
	}
}

// endpoint creates an endpoint at the named hook.
func (h *house) endpoint(hook string, globs ...string) webhooks.Created {
	h.t.Helper()
	if len(globs) == 0 {
		globs = []string{"thing.made"}
	}
	c, err := h.domain.Create(h.t.Context(), webhooks.CreateIn{URL: h.hook + hook, EventTypes: globs})
	if err != nil {
		h.t.Fatal(err)
	}
	return c
}

// happen records n events of a type and returns their ids.
func (h *house) happen(n int, typ, data string) []string {
	h.t.Helper()
	ids := make([]string, n)
	err := pg.InTx(h.t.Context(), h.db, func(tx pg.Tx) error {
		for i := range ids {
			var owner string
			if err := tx.QueryRow(h.t.Context(), `select id::text from owners`).Scan(&owner); err != nil {
				return err
			}
			id, err := events.NewRecorder(otherTypes(), h.bell).With(tx).Record(h.t.Context(), owner, typ, "thing/1", json.RawMessage(data))
			if err != nil {
				return err
			}
			ids[i] = id
		}
		return nil
	})
	if err != nil {
		h.t.Fatal(err)
	}
	return ids
}

// hang is when a wait is given up. It is no promise of speed: on a machine with ten times as many runners as cores, serial
// deliveries take ten times as long (30 s instead of 5 for 200 of them, measured).
const hang = 3 * time.Minute

// arrives waits until the hook has seen n requests.
func (h *house) arrives(hook string, n int) []sink.Received {
	h.t.Helper()
	ctx, cancel := context.WithTimeout(h.t.Context(), hang)
	defer cancel()
	if err := h.sink.Wait(ctx, hook, n); err != nil {
		h.t.Fatalf("%d of %d requests at %s: %v\n%s", h.sink.Count(hook).Requests, n, hook, err, h.dump())
	}
	return h.sink.Received(hook)
}

func (h *house) dump() string {
	var s string
	_ = h.db.QueryRow(context.Background(), `select coalesce(string_agg(row_to_json(j)::text, E'\n'), '') from (select kind, state, attempt, args, errors, scheduled_at from river.river_job limit 20) j`).Scan(&s)
	var d string
	_ = h.db.QueryRow(context.Background(), `select coalesce(string_agg(row_to_json(j)::text, E'\n'), '') from (select * from webhook_deliveries limit 20) j`).Scan(&d)
	var e string
	_ = h.db.QueryRow(context.Background(), `select coalesce(string_agg(row_to_json(j)::text, E'\n'), '') from (select * from events limit 5) j`).Scan(&e)
	return s + "\n" + d + "\n" + e
}

// settles waits until a delivery is in that state.
func (h *house) settles(endpoint, event string, want webhooks.DeliveryState) {
	h.t.Helper()
	eventually(h.t, "delivery "+string(want), func() bool {
		var got string
		err := h.db.QueryRow(context.Background(), `select state from webhook_deliveries where endpoint_id = $1::uuid and event_id = $2::uuid`, endpoint, event).Scan(&got)
		return err == nil && got == string(want)
	})
}

func eventually(t testing.TB, what string, ok func() bool) {
	t.Helper()
	deadline := time.Now().Add(hang)
	for !ok() {
		if time.Now().After(deadline) {
			t.Fatalf("not within %s: %s", hang, what)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

func (h *house) attempts(endpoint, event string) []webhooks.Attempt {
	h.t.Helper()
	d, err := h.domain.Delivery(context.Background(), endpoint, event)
	if err != nil {
		h.t.Fatal(err)
	}
	return d.AttemptsMade
}

// field is the field that a single error is about.
func field(err error) string {
	var at *op.Error
	if errors.As(err, &at) {
		return at.Field()
	}
	return ""
}

// hasField reports whether one of several joined errors is about a field.
func hasField(err error, want string) bool {
	if many, ok := err.(interface{ Unwrap() []error }); ok {
		return slices.ContainsFunc(many.Unwrap(), func(e error) bool { return hasField(e, want) })
	}
	return field(err) == want
}
