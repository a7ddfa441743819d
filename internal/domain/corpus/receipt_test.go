package corpus_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/gatehouse-hq/gatehouse/internal/domain/corpus"
	"github.com/gatehouse-hq/gatehouse/internal/infra/events"
	"github.com/gatehouse-hq/gatehouse/internal/infra/jobs"
	"github.com/gatehouse-hq/gatehouse/internal/infra/pg"
)

// desk stands for bus and queue: what it answers is set by each test.
type desk struct {
	fanned  bool
	state   jobs.State
	final   bool
	entered chan struct{} // receives once per waiting request, if set
	release chan struct{}
	asked   []string // events waited for
}

func (d *desk) EventsOfTx(ctx context.Context, q pg.Querier, txid uint64) ([]events.Event, error) {
	rows, err := q.Query(ctx, `select id::text, type, data from public.events where txid = $1 order by seq`, txid)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var out []events.Event
	for rows.Next() {
		var e events.Event
		if err := rows.Scan(&e.ID, &e.Type, &e.Data); err != nil {
			return nil, err
		}
		out = append(out, e)
	}
	return out, rows.Err()
}

func (d *desk) AwaitFanout(ctx context.Context, ids []string, _ time.Duration) bool {
	if d.entered != nil {
		d.entered <- struct{}{}
		select {
		case <-d.release:
		case <-ctx.Done():
		}
		return false
	}
	d.asked = ids
	return d.fanned
}

func (d *desk) JobFor(context.Context, string, string) (jobs.ID, bool, error) {
	if !d.fanned {
		return 0, false, errors.New("not fanned out")
	}
	return 7, true, nil
}

func (d *desk) Wait(context.Context, jobs.ID, time.Duration) (jobs.State, bool) {
	return d.state, d.final
}

func TestReceiptPromisesOnlyWhatIsDone(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		desk desk
		want corpus.Receipt
	}{
		"indexed":        {desk{fanned: true, state: jobs.Completed, final: true}, corpus.Receipt{Changed: true, Indexed: true, IndexJobID: 7}},
		"not yet":        {desk{fanned: true}, corpus.Receipt{Changed: true, IndexJobID: 7}},
		"given up":       {desk{fanned: true, state: jobs.Discarded, final: true}, corpus.Receipt{Changed: true, IndexJobID: 7}},
		"not fanned out": {desk{}, corpus.Receipt{Changed: true}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHouse(t)
			h.notes.Connect(corpus.Queue{Fanout: &c.desk, Wait: &c.desk})
			got, err := h.notes.Create(t.Context(), corpus.NewNote{Genre: corpus.Wiki, Title: "Pump"})
			if err != nil {
				t.Fatal(err)
			}
			want := c.want
			want.NoteID, want.Version, want.Address = got.NoteID, 1, "/wiki/pump"
			if got != want || got.NoteID == "" {
				t.Errorf("got %+v, want %+v", got, want)
			}
		})
	}
}

func TestReceiptOfAnUpdate(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	top := h.create(corpus.NewNote{Title: "Top"})
	h.create(corpus.NewNote{Title: "Below", ParentID: top.ID})
	d := &desk{fanned: true, state: jobs.Completed, final: true}
	h.notes.Connect(corpus.Queue{Fanout: d, Wait: d})
	got, err := h.notes.Update(t.Context(), corpus.Change{ID: top.ID, Title: new("Summit")})
	if err != nil || !got.Indexed || got.Address != "/wiki/summit" {
		t.Errorf("got %+v, %v", got, err)
	}
	if len(d.asked) != 1 {
		t.Errorf("waited for %d events: those of notes below are nobody's receipt", len(d.asked))
	}
	got, err = h.notes.Update(t.Context(), corpus.Change{ID: top.ID, Title: new("Summit")})
	if err != nil || got.Changed || got.Indexed {
		t.Errorf("nothing changed, and the receipt says %+v, %v", got, err)
	}
}

// 64 requests wait; the 65th gets its receipt at once.
func TestReceiptsWhenAllWaitersAreTaken(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	d := &desk{entered: make(chan struct{}), release: make(chan struct{})}
	h.notes.Connect(corpus.Queue{Fanout: d, Wait: d})
	done := make(chan error, 64)
	for range 64 {
		go func() {
			_, err := h.notes.Create(t.Context(), corpus.NewNote{Genre: corpus.Raw, Title: "idea"})
			done <- err
		}()
	}
	for range 64 {
		<-d.entered
	}
	got, err := h.notes.Create(t.Context(), corpus.NewNote{Genre: corpus.Raw, Title: "the 65th"}) // would block for ever
	if err != nil || got.Indexed || got.NoteID == "" {
		t.Errorf("got %+v, %v", got, err)
	}
	close(d.release)
	for range 64 {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}
