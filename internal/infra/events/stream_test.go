package events_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/gatehouse-hq/gatehouse/internal/infra/events"
)

func (h *house) stream() *events.Bus {
	h.t.Helper()
	h.exec(`
insert into events (owner_id, type, subject, fanned_out_at, fanout, poisoned_at, data)
select $1::uuid, case when i % 10 = 0 then 'secret.kept' when i % 10 = 1 then 'note.teleported' else 'thing.made' end, 'thing/' || i % 7,
  case when i % 10 > 2 or i % 10 = 0 then clock_timestamp() end, case when i % 10 > 2 then '{"each": 5}'::jsonb end,
  case when i % 10 = 1 then clock_timestamp() end, case when i % 10 = 1 then '[1]' else '{"n": 1}' end::jsonb
from generate_series(1, 100) i`, owner)
	cfg := h.config(each())
	cfg.NoRelay = true
	return h.bus(cfg)
}

func TestListFilters(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	b := h.stream()
	tests := map[string]struct {
		filter events.Filter
		want   int
	}{
		"everything":                      {events.Filter{Limit: 100}, 100},
		"default page":                    {events.Filter{}, 50},
		"a type":                          {events.Filter{Types: []string{"secret.kept"}}, 10},
		"a glob":                          {events.Filter{Types: []string{"thing.*"}, Limit: 100}, 80},
		"two globs that overlap":          {events.Filter{Types: []string{"thing.*", "thing.made"}, Limit: 100}, 80},
		"all types, undeclared too":       {events.Filter{Types: []string{"**"}, Limit: 100}, 100},
		"an undeclared type":              {events.Filter{Types: []string{"note.teleported"}}, 10},
		"an undeclared type by a glob":    {events.Filter{Types: []string{"note.*"}}, 10},
		"a type nobody knows":             {events.Filter{Types: []string{"x.y"}}, 0},
		"waiting":                         {events.Filter{State: events.Waiting}, 10},
		"delivered":                       {events.Filter{State: events.Delivered, Limit: 100}, 80},
		"poisoned":                        {events.Filter{State: events.Poisoned}, 10},
		"poisoned of another type":        {events.Filter{State: events.Poisoned, Types: []string{"thing.*"}}, 0},
		"a subject":                       {events.Filter{Subject: "thing/1"}, 15},
		"a subject with a NUL, none such": {events.Filter{Subject: "thing/1\x00x"}, 0},
		"newer than all but five":         {events.Filter{AfterSeq: 95}, 5},
		"those that are shown":            {events.Filter{Seqs: []int64{1, 50, 100, 1000}}, 3},
	}
	for name, test := range tests {
		page, err := b.List(t.Context(), test.filter)
		if err != nil || len(page.Events) != test.want {
			t.Errorf("%s: %d events, error %v; want %d", name, len(page.Events), err, test.want)
		}
		for _, e := range page.Events {
			if test.filter.State != "" && e.State != test.filter.State {
				t.Errorf("%s: an event is %s", name, e.State)
			}
		}
	}
	for name, f := range map[string]events.Filter{
		"cursor": {Cursor: "x'"}, "negative cursor": {Cursor: "-1"}, "state": {State: "gone"}, "glob": {Types: []string{"["}}, "limit": {Limit: 101},
	} {
		if _, err := b.List(t.Context(), f); !errors.Is(err, events.ErrBadFilter) {
			t.Errorf("bad %s: got %v, want ErrBadFilter", name, err)
		}
	}
}

func TestListPagesShowEachEventOnce(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	b := h.stream()
	for name, f := range map[string]events.Filter{"all": {Limit: 7}, "by type": {Limit: 7, Types: []string{"**"}}} {
		var seqs []int64
		for {
			page, err := b.List(t.Context(), f)
			if err != nil {
				t.Fatal(err)
			}
			for _, e := range page.Events {
				seqs = append(seqs, e.Seq)
			}
			if len(seqs) == 14 {
				h.insert(1) // new ones do not shift the pages behind
			}
			if f.Cursor = page.Next; f.Cursor == "" {
				break
			}
		}
		slices.Reverse(seqs)
		if len(seqs) < 100 || !slices.IsSorted(seqs) || len(slices.Compact(seqs)) != len(seqs) {
			t.Errorf("%s: pages show %d events, want each once, newest first: %v", name, len(seqs), seqs)
		}
		h.exec(`delete from events where seq > 100`)
	}
}

func TestGetShowsFanout(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	b := h.stream()
	page, err := b.List(t.Context(), events.Filter{State: events.Delivered, Types: []string{"thing.made"}, Limit: 1})
	if err != nil {
		t.Fatal(err)
	}
	e, err := b.Get(t.Context(), page.Events[0].ID)
	if err != nil || e.Fanout["each"] != 5 || e.FannedOutAt == nil || e.OwnerID != owner {
		t.Errorf("got %+v, error %v", e, err)
	}
	for _, id := range []string{"", "x", owner} {
		if _, err := b.Get(t.Context(), id); !errors.Is(err, events.ErrNotFound) {
			t.Errorf("get %q: %v, want ErrNotFound", id, err)
		}
	}
	// A row that cannot be decoded is shown, because that is how it gets mended.
	bad, err := b.List(t.Context(), events.Filter{State: events.Poisoned, Limit: 1})
	if err != nil || string(bad.Events[0].Data) != "[1]" {
		t.Errorf("a poisoned row shows data %s, error %v", bad.Events[0].Data, err)
	}
}

func TestBacklogIsBounded(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	b := h.bus(h.config(each()))
	s, err := b.Backlog(t.Context())
	if err != nil || s.Waiting.N != 0 || s.Oldest != 0 || s.Alarming() {
		t.Errorf("empty: %+v, error %v", s, err)
	}
	h.insert(10_005)
	h.exec(`update events set occurred_at = occurred_at - interval '6 minutes' where seq = 1`)
	h.exec(`update events set attempts = 2 where seq = 1`) // tried in vain, and waiting as before
	s, err = b.Backlog(t.Context())
	if err != nil || s.Waiting.N != 10_000 || !s.Waiting.AtLeast || s.Oldest.Minutes() < 6 || s.Bytes == 0 || s.Faults != 2 || !s.Alarming() {
		t.Errorf("10,005 waiting: %+v, error %v", s, err)
	}
}
