package events_test

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/gatehouse-hq/gatehouse/internal/infra/events"
	"github.com/gatehouse-hq/gatehouse/internal/infra/jobs"
	"github.com/gatehouse-hq/gatehouse/internal/infra/pg"
	"github.com/gatehouse-hq/gatehouse/internal/infra/pg/pgtest"
)

func TestMain(m *testing.M) { pgtest.Main(m, pgtest.NoLeaks) }

const owner = "01900000-0000-7000-8000-000000000001"

// types are what the tests' own domain declares.
func types() []events.Type {
	example := json.RawMessage(`{"id": "1"}`)
	return []events.Type{
		{Name: "thing.made", Title: "Made", Example: example, Exposure: events.Webhook},
		{Name: "thing.moved", Title: "Moved", Example: example, Exposure: events.Webhook},
		{Name: "secret.kept", Title: "Kept", Example: example},
	}
}

func ignore(context.Context, events.Event) error        { return nil }
func ignoreBatch(context.Context, []events.Event) error { return nil }

// each wants every event as a job of its own.
func each() events.Subscription {
	return events.Subscription{Name: "each", Types: []string{"**"}, Handle: ignore}
}

// house is one database with the queue the tests relay into.
type house struct {
	t     testing.TB
	url   string
	db    *pg.DB
	queue *tableQueue
}

func newHouse(t testing.TB) *house {
	t.Helper()
	h := &house{t: t, url: pgtest.URL(t)}
	h.db = h.open()
	h.exec(`create table tasks (id bigint generated always as identity primary key, kind text not null, args jsonb not null, cause jsonb)`)
	h.queue = &tableQueue{db: h.db}
	return h
}

func (h *house) open() *pg.DB {
	h.t.Helper()
	db, err := pg.Open(h.t.Context(), h.url, pg.Options{MaxConns: 8, Application: h.t.Name()})
	if err != nil {
		h.t.Fatal(err)
	}
	h.t.Cleanup(db.Close)
	return db
}

func (h *house) exec(sql string, args ...any) {
	h.t.Helper()
	if _, err := h.db.Exec(context.Background(), sql, args...); err != nil {
		h.t.Fatalf("%s: %v", sql, err)
	}
}

func ask[T any](h *house, sql string, args ...any) T {
	h.t.Helper()
	var v T
	if err := h.db.QueryRow(context.Background(), sql, args...).Scan(&v); err != nil {
		h.t.Fatalf("%s: %v", sql, err)
	}
	return v
}

// eventually waits until ok holds; the deadline is for machines under load.
func eventually(t testing.TB, what string, ok func() bool) {
	t.Helper()
	deadline := time.Now().Add(30 * time.Second)
	for !ok() {
		if time.Now().After(deadline) {
			t.Fatalf("not within 30 s: %s", what)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// config is a process's bus without anything that wakes it but its own bell.
func (h *house) config(subs ...events.Subscription) events.Config {
	return events.Config{DB: h.db, Bell: events.NewBell(), Types: types(), Subscriptions: subs, Log: slog.New(slog.DiscardHandler),
		FaultPause: func(int) time.Duration { return time.Millisecond }}
}

// start starts a process's bus, which ends with the test or by the returned func.
func (h *house) start(cfg events.Config) (*events.Bus, func()) {
	h.t.Helper()
	b := h.bus(cfg)
	ctx, kill := context.WithCancel(context.Background())
	if err := b.Start(ctx, h.queue); err != nil {
		h.t.Fatal(err)
	}
	stop := sync.OnceFunc(func() {
		kill()
		if err := b.Stop(context.Background()); err != nil {
			h.t.Error(err)
		}
	})
	h.t.Cleanup(stop)
	return b, stop
}

func (h *house) bus(cfg events.Config) *events.Bus {
	h.t.Helper()
	b, err := events.NewBus(cfg)
	if err != nil {
		h.t.Fatal(err)
	}
	return b
}

// insert writes events as somebody at a psql prompt would: no bell, no NOTIFY.
func (h *house) insert(n int) {
	h.t.Helper()
	h.exec(`insert into events (owner_id, type, subject, data) select $1::uuid, 'thing.made', 'thing/' || i, '{}' from generate_series(1, $2::int) i`, owner, n)
}

// drained reports whether nothing waits.
func (h *house) drained() bool {
	return ask[int](h, `select count(*) from events where fanned_out_at is null and poisoned_at is null`) == 0
}

// record writes one event through a recorder and returns its id.
func (h *house) record(bell *events.Bell, typ, subject string) string {
	h.t.Helper()
	var id string
	err := pg.InTx(context.Background(), h.db, func(tx pg.Tx) (err error) {
		id, err = events.NewRecorder(types(), bell).With(tx).Record(context.Background(), owner, typ, subject, map[string]string{"id": subject})
		return err
	})
	if err != nil {
		h.t.Fatal(err)
	}
	return id
}

// tableQueue is a queue that keeps jobs in a table and never runs them, so
// that a test sees exactly what was committed.
type tableQueue struct {
	jobs.Jobs // what the relay does not use
	db        *pg.DB
	tx        *pg.Tx
	// fail, if set, stands before each statement; it may break the transaction.
	fail *func(tx pg.Tx, in []jobs.Insert) error
}

func (q *tableQueue) With(tx pg.Tx) jobs.Jobs {
	return &tableQueue{db: q.db, tx: &tx, fail: q.fail}
}

func (q *tableQueue) EnqueueMany(ctx context.Context, in []jobs.Insert) ([]jobs.Result, error) {
	if q.tx == nil {
		return nil, errors.New("the relay enqueues in its transaction")
	}
	if q.fail != nil {
		if err := (*q.fail)(*q.tx, in); err != nil {
			return nil, err
		}
	}
	var kinds, args, causes []string
	for _, i := range in {
		a, err := json.Marshal(i.Args)
		if err != nil {
			return nil, err
		}
		kinds, args, causes = append(kinds, i.Kind), append(args, string(a)), append(causes, i.Cause.JSON())
	}
	rows, err := q.tx.Query(ctx, `
insert into tasks (kind, args, cause) select kind, args::jsonb, nullif(cause, '')::jsonb
from unnest($1::text[], $2::text[], $3::text[]) with ordinality u (kind, args, cause, n) order by n returning id`, kinds, args, causes)
	if err != nil {
		return nil, err
	}
	ids, err := pgx.CollectRows(rows, pgx.RowTo[int64])
	if err != nil {
		return nil, err
	}
	out := make([]jobs.Result, len(ids))
	for i, id := range ids {
		out[i].ID = jobs.ID(id)
	}
	return out, nil
}

// args are the args of all tasks of a kind, oldest first.
func (h *house) args(kind string) []events.Args {
	h.t.Helper()
	rows, err := h.db.Query(context.Background(), `select args from tasks where kind = $1 order by id`, kind)
	if err != nil {
		h.t.Fatal(err)
	}
	list, err := pgx.CollectRows(rows, pgx.RowTo[events.Args])
	if err != nil {
		h.t.Fatal(err)
	}
	return list
}
