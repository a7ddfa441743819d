package events_test

import (
	"testing"
	"time"
)

func TestFlowCountsByTime(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	b := h.stream()             // 100 events, 80 of them fanned out
	var before, after time.Time // with room: a row's id is drawn a moment before its time
	if err := h.db.QueryRow(t.Context(), `select min(occurred_at) - interval '1 second', max(greatest(occurred_at, fanned_out_at)) + interval '1 second' from events`).Scan(&before, &after); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		from, to         time.Time
		written, relayed int
	}{
		"the time":     {before, after, 100, 80},
		"earlier":      {before.Add(-time.Hour), before, 0, 0},
		"later":        {after, after.Add(time.Hour), 0, 0},
		"all about it": {before.Add(-time.Hour), after.Add(time.Hour), 100, 80},
	} {
		written, relayed, err := b.Flow(t.Context(), c.from, c.to)
		if err != nil || written != c.written || relayed != c.relayed {
			t.Errorf("%s: %d written, %d relayed, error %v; want %d and %d", name, written, relayed, err, c.written, c.relayed)
		}
	}
}
