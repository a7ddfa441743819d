package corpus_test

import (
	"testing"

	"github.com/gatehouse-hq/gatehouse/internal/domain/corpus"
	"github.com/gatehouse-hq/gatehouse/internal/infra/pg"
)

// Each way of changing a note, and exactly the events it leaves.
func TestEventsOfNotes(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	ctx := t.Context()
	garden := h.create(corpus.NewNote{Title: "Garden"})
	h.recorded("created wiki://garden")
	pump := h.create(corpus.NewNote{Title: "Pump", ParentID: garden.ID, Published: true})
	h.recorded("created wiki://garden/pump")

	h.update(corpus.Change{ID: pump.ID, Body: new("text")})
	h.recorded("updated wiki://garden/pump")
	h.update(corpus.Change{ID: pump.ID, Body: new("text"), Title: new("Pump")})
	h.recorded() // the same again is no change
	if err := h.notes.Viewed(ctx, pump.ID); err != nil {
		t.Fatal(err)
	}
	h.recorded()

	h.update(corpus.Change{ID: garden.ID, Title: new("Yard")})
	h.recorded("updated wiki://yard", "updated wiki://yard/pump")
	if _, err := h.notes.Unpublish(ctx, []string{pump.ID}); err != nil {
		t.Fatal(err)
	}
	h.recorded("updated wiki://yard/pump")
	if _, err := h.notes.Publish(ctx, []string{pump.ID}); err != nil {
		t.Fatal(err)
	}
	h.recorded("updated wiki://yard/pump")
	if _, err := h.notes.Move(ctx, pump.ID, "", nil, 0); err != nil {
		t.Fatal(err)
	}
	h.recorded("updated wiki://pump")

	raw := h.create(corpus.NewNote{Genre: corpus.Raw, Title: "Idea"})
	h.recorded("created raw://" + raw.ID)
	if _, err := h.notes.Promote(ctx, raw.ID, garden.ID, raw.Version); err != nil {
		t.Fatal(err)
	}
	h.recorded("updated wiki://yard/idea")

	batch, err := h.notes.Delete(ctx, []string{garden.ID})
	if err != nil {
		t.Fatal(err)
	}
	h.recorded("deleted wiki://yard", "deleted wiki://yard/idea")
	if _, err := h.notes.Restore(ctx, batch.ID); err != nil {
		t.Fatal(err)
	}
	h.recorded("created wiki://yard", "created wiki://yard/idea")
	if _, err := h.notes.Delete(ctx, []string{garden.ID}); err != nil {
		t.Fatal(err)
	}
	h.forget()
	h.exec(`update public.notes set deleted_at = clock_timestamp() - interval '91 days' where deleted_at is not null`)
	if err := h.notes.Purge(ctx); err != nil {
		t.Fatal(err)
	}
	h.recorded() // purging is silent
	var left int
	if err := h.db.QueryRow(ctx, `select count(*) from public.notes`).Scan(&left); err != nil || left != 1 {
		t.Errorf("%d notes are left after the purge, want the one that was never deleted (%v)", left, err)
	}
}

func TestEventsOfWritings(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	ctx := t.Context()
	n := h.create(corpus.NewNote{Genre: corpus.Writing, Title: "First frost"})
	h.recorded("created writing://first-frost")
	if _, err := h.notes.Publish(ctx, []string{n.ID}); err != nil {
		t.Fatal(err)
	}
	h.recorded("updated writing://first-frost", "writing.published writing://first-frost")
	if _, err := h.notes.Publish(ctx, []string{n.ID}); err != nil {
		t.Fatal(err)
	}
	h.recorded() // once is enough
	first := h.get(n.ID).PublishedAt
	// Renamed and taken back at once: nothing may tell the new title.
	h.update(corpus.Change{ID: n.ID, Title: new("Salary talk"), Published: new(false)})
	h.recorded("updated writing://first-frost", "writing.unpublished writing://first-frost")
	h.update(corpus.Change{ID: n.ID, Title: new("Second frost"), Published: new(true)})
	h.recorded("updated writing://second-frost", "writing.published writing://second-frost")
	if again := h.get(n.ID).PublishedAt; !again.Equal(*first) {
		t.Errorf("the date of first publication moved from %v to %v", first, again)
	}
	batch, err := h.notes.Delete(ctx, []string{n.ID})
	if err != nil {
		t.Fatal(err)
	}
	h.recorded("deleted writing://second-frost", "writing.unpublished writing://second-frost")
	if _, err := h.notes.Restore(ctx, batch.ID); err != nil {
		t.Fatal(err)
	}
	h.recorded("created writing://second-frost", "writing.published writing://second-frost")
	h.create(corpus.NewNote{Genre: corpus.Writing, Title: "Out at once", Published: true})
	h.recorded("created writing://out-at-once", "writing.published writing://out-at-once")
}

func TestDataOfNoteChanged(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	top := h.create(corpus.NewNote{Title: "Top"})
	n := h.create(corpus.NewNote{Title: "Below", ParentID: top.ID, Published: true})
	h.forget()
	h.update(corpus.Change{ID: n.ID, Published: new(false), Title: new("Secret")})
	es := h.pending()
	if len(es) != 1 {
		t.Fatalf("%d events, want 1", len(es))
	}
	got := fields(t, es[0])
	if *got.ParentID != top.ID {
		t.Errorf("parent_id %v", got.ParentID)
	}
	got.ParentID = nil
	want := changedFields{Op: "updated", NoteID: n.ID, Genre: "wiki", Published: false, WasPublished: true, PathChanged: true}
	if got != want || es[0].Subject != "wiki://top/below" {
		t.Errorf("got %+v of %s, want %+v of the last published address", got, es[0].Subject, want)
	}
}

// Field case F06, all four, by SQL that knows nothing of use cases.
func TestTriggersSeeWhatHappens(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	ctx := t.Context()
	top := h.create(corpus.NewNote{Title: "Top"})
	mid := h.create(corpus.NewNote{Title: "Mid", ParentID: top.ID})
	h.create(corpus.NewNote{Title: "Leaf", ParentID: mid.ID})
	h.forget()
	if _, err := h.db.Exec(ctx, `truncate public.notes cascade`); pg.State(err) != "0A000" {
		t.Errorf("TRUNCATE: got %v, want a refusal", err)
	}
	h.exec(`update public.notes set viewed_at = clock_timestamp(), source_hash = 'x'`)
	h.exec(`update public.notes set title = title, body = body, tags = tags, path = path`)
	h.recorded()
	h.exec(`update public.notes set body = 'by hand'`)
	h.recorded("updated wiki://top", "updated wiki://top/mid", "updated wiki://top/mid/leaf")
	h.exec(`delete from public.notes where id = $1`, top.ID)
	h.recorded("deleted wiki://top", "deleted wiki://top/mid", "deleted wiki://top/mid/leaf")
}

func TestQuietTriggersForRestores(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	err := pg.InTx(t.Context(), h.db, func(tx pg.Tx) error {
		_, err := tx.Exec(t.Context(), `set local gatehouse.quiet_triggers = 'on'`)
		if err != nil {
			return err
		}
		_, err = tx.Exec(t.Context(), `insert into public.notes (owner_id, genre, segment, path, title, version) select id, 'wiki', 'a', 'far/away/a', 'A', 7 from public.owners`)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	h.recorded()
	var path string
	var version int
	if err := h.db.QueryRow(t.Context(), `select path, version from public.notes`).Scan(&path, &version); err != nil || path != "far/away/a" || version != 7 {
		t.Errorf("restored as %s version %d (%v): the row must stay as it was", path, version, err)
	}
}
