package events_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/gatehouse-hq/gatehouse/internal/infra/events"
	"github.com/gatehouse-hq/gatehouse/internal/infra/pg"
)

func TestRecordRefusesWhatCannotBeKept(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	recorder := events.NewRecorder(types(), events.NewBell())
	if _, err := recorder.Record(t.Context(), owner, "thing.made", "s", nil); !errors.Is(err, events.ErrNoTransaction) {
		t.Errorf("without a transaction: got %v, want ErrNoTransaction", err)
	}
	tests := map[string]struct {
		typ, subject string
		data         any
		want         error
	}{
		"undeclared type":         {"note.teleported", "s", nil, events.ErrUndeclaredType},
		"array":                   {"thing.made", "s", []int{1}, events.ErrBadEvent},
		"text":                    {"thing.made", "s", "x", events.ErrBadEvent},
		"null":                    {"thing.made", "s", json.RawMessage("null"), events.ErrBadEvent},
		"no JSON":                 {"thing.made", "s", func() {}, events.ErrBadEvent},
		"NUL in data":             {"thing.made", "s", map[string]string{"a": "b\x00c"}, events.ErrBadEvent},
		"NUL behind backslashes":  {"thing.made", "s", map[string]string{"a": "\\\\\x00"}, events.ErrBadEvent},
		"too much data":           {"thing.made", "s", map[string]string{"a": strings.Repeat("x", events.MaxData)}, events.ErrBadEvent},
		"NUL in subject":          {"thing.made", "a\x00b", nil, events.ErrBadEvent},
		"broken text in subject":  {"thing.made", "a\xff", nil, events.ErrBadEvent},
		"no data":                 {"thing.made", "s", nil, nil},
		"a backslash, u and 0000": {"thing.made", "s", map[string]string{"a": `\u0000`}, nil},
		// An index entry holds 2,704 bytes; the save of a long title must not fail for that (field case F03).
		"a long subject": {"thing.made", strings.Repeat("筆記", 2000), map[string]string{"a": "b"}, nil},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			err := pg.InTx(t.Context(), h.db, func(tx pg.Tx) error {
				_, err := recorder.With(tx).Record(t.Context(), owner, test.typ, test.subject, test.data)
				return err
			})
			if !errors.Is(err, test.want) {
				t.Errorf("got %v, want %v", err, test.want)
			}
		})
	}
	if n := ask[int](h, `select count(*) from events`); n != 3 {
		t.Errorf("%d events were kept, want the 3 good ones", n)
	}
}

func TestRecordIsPartOfItsTransaction(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	cfg := h.config(each())
	b, _ := h.start(cfg)
	id := h.record(cfg.Bell, "thing.made", "kept")
	undo := errors.New("undo")
	err := pg.InTx(t.Context(), h.db, func(tx pg.Tx) error {
		if _, err := events.NewRecorder(types(), cfg.Bell).With(tx).Record(t.Context(), owner, "thing.made", "undone", nil); err != nil {
			return err
		}
		return undo
	})
	if !errors.Is(err, undo) {
		t.Fatal(err)
	}
	if !b.AwaitFanout(t.Context(), []string{id}, 30*time.Second) {
		t.Fatal("the event is not relayed")
	}
	if n := ask[int](h, `select count(*) from events`); n != 1 {
		t.Errorf("%d events exist, want the one that was committed", n)
	}
}

// The cause is stored whether an event is recorded or born in a trigger, and
// by a recorder bound to a transaction that InTx did not begin.
func TestCauseIsStored(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.exec(`create table things (name text);
create function things_emit() returns trigger language plpgsql set search_path = '' as $$
begin
  insert into public.events (owner_id, type, subject) values ('` + owner + `', 'thing.made', new.name);
  return null;
end $$;
create trigger things_made after insert on things for each row execute function things_emit()`)
	cause := pg.Cause{Request: `r'1\`, Actor: "owner", Job: 7, Event: owner}
	ctx := pg.WithCause(t.Context(), cause)
	recorder := events.NewRecorder(types(), events.NewBell())

	err := pg.InTx(ctx, h.db, func(tx pg.Tx) error {
		if _, err := tx.Exec(ctx, `insert into things values ('trigger')`); err != nil {
			return err
		}
		_, err := recorder.With(tx).Record(ctx, owner, "thing.made", "recorder", nil)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	ptx, err := h.db.Begin(ctx)
	if err != nil {
		t.Fatal(err)
	}
	tx, done := pg.Bind(ptx)
	if _, err := recorder.With(tx).Record(ctx, owner, "thing.made", "bound", nil); err != nil {
		t.Fatal(err)
	}
	if err := ptx.Commit(ctx); err != nil {
		t.Fatal(err)
	}
	done()
	h.exec(`insert into things values ('nobody')`)

	b := h.bus(h.config())
	for subject, want := range map[string]pg.Cause{"trigger": cause, "recorder": cause, "bound": cause, "nobody": {}} {
		page, err := b.List(context.Background(), events.Filter{Subject: subject})
		if err != nil || len(page.Events) != 1 {
			t.Fatalf("%s: %d events, error %v", subject, len(page.Events), err)
		}
		if got := page.Events[0].Cause; got != want {
			t.Errorf("%s: cause is %+v, want %+v", subject, got, want)
		}
	}
}
