package corpus_test

import (
	"strings"
	"testing"

	"github.com/gatehouse-hq/gatehouse/internal/domain/corpus"
	"github.com/gatehouse-hq/gatehouse/internal/domain/corpus/subscriber"
	"github.com/gatehouse-hq/gatehouse/internal/infra/search"
)

// Field case F11: the last of three quick edits is the one that is found.
func TestOnlyTheLastEditIsFound(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	n := h.create(corpus.NewNote{Title: "Fruit", Body: "plum", Published: true})
	h.index()
	same(t, "plum", h.found("plum", true), []string{"Fruit"})
	h.update(corpus.Change{ID: n.ID, Body: new("pear")})
	// fig is saved while the job for pear writes.
	h.engine.set(false, func([]search.Document) {
		h.engine.set(false, nil)
		h.update(corpus.Change{ID: n.ID, Body: new("fig")})
	})
	h.index()
	same(t, "plum", h.found("plum", true), nil)
	same(t, "pear", h.found("pear", true), nil)
	same(t, "fig", h.found("fig", true), []string{"Fruit"})
}

// Field case F31: the late retry of an old event does not bring an old state back.
func TestLateRetryOfAnOldEvent(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	n := h.create(corpus.NewNote{Title: "Fruit", Body: "plum", Published: true})
	v1 := h.pending()
	h.engine.set(true, nil)
	if err := subscriber.New(h.notes).Index(t.Context(), v1[0]); err == nil {
		t.Fatal("the engine is down and the job says done")
	}
	h.engine.set(false, nil)
	if _, err := h.notes.Unpublish(t.Context(), []string{n.ID}); err != nil {
		t.Fatal(err)
	}
	h.index()
	if err := subscriber.New(h.notes).Index(t.Context(), v1[0]); err != nil {
		t.Fatal(err)
	}
	same(t, "public", h.found("plum", true), nil)
	if res, err := h.engine.Search(t.Context(), search.Query{Text: "plum", PublishedOnly: true, Limit: 10}); err != nil || len(res.Hits) != 0 {
		t.Errorf("the index itself shows the note as public: %v, %v", res.Hits, err)
	}
	// The same with a deletion before the update's retry.
	if _, err := h.notes.Delete(t.Context(), []string{n.ID}); err != nil {
		t.Fatal(err)
	}
	h.index()
	if err := subscriber.New(h.notes).Index(t.Context(), v1[0]); err != nil {
		t.Fatal(err)
	}
	same(t, "deleted", h.found("plum", false), nil)
}

// Two workers on two states of one note: whoever writes last has looked last.
func TestWorkersThatOvertakeEachOther(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	n := h.create(corpus.NewNote{Title: "Fruit", Body: "plum", Published: true})
	h.forget()
	// The first worker has read v1; before it writes, v2 is deleted and indexed.
	h.engine.set(false, func([]search.Document) {
		h.engine.set(false, nil)
		if _, err := h.notes.Delete(t.Context(), []string{n.ID}); err != nil {
			t.Error(err)
		}
		if err := h.notes.Index(t.Context(), []string{n.ID}); err != nil {
			t.Error(err)
		}
	})
	if err := h.notes.Index(t.Context(), []string{n.ID}); err != nil {
		t.Fatal(err)
	}
	held := 0
	if err := h.engine.Each(t.Context(), func(hs []search.Held) error { held += len(hs); return nil }); err != nil {
		t.Fatal(err)
	}
	if held != 0 {
		t.Errorf("the index holds %d documents of a deleted note", held)
	}
}

// Field cases F30 and F45: the index is late, and still nothing private shows.
func TestSearchBelievesTheDatabase(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	talk := h.create(corpus.NewNote{Title: "Salary talk", Body: "numbers", Published: true})
	h.create(corpus.NewNote{Title: "Notes", Body: "seen [[Salary talk]] and [[Salary talk|the talk]]", Published: true})
	h.index()
	same(t, "while public", h.found("salary", true), []string{"Salary talk", "Notes"})
	if _, err := h.notes.Unpublish(t.Context(), []string{talk.ID}); err != nil {
		t.Fatal(err)
	}
	// No index job has run.
	same(t, "by its name", h.found("salary", true), nil)
	same(t, "by its text", h.found("numbers", true), nil)
	res, err := h.notes.Search(t.Context(), corpus.SearchQuery{Text: "seen", PublicOnly: true})
	if err != nil || len(res.Hits) != 1 || res.Total != 1 {
		t.Fatalf("%+v, %v", res, err)
	}
	if text := joined(res.Hits[0].Excerpt); strings.Contains(text, "Salary") || !strings.Contains(text, "the talk") {
		t.Errorf("excerpt %q: want the author's words and not the private title", text)
	}
	same(t, "owner", h.found("salary", false), []string{"Salary talk"})
	// The same with the engine refusing to be brought up to date: less is found, nothing is told.
	if _, err := h.notes.Publish(t.Context(), []string{talk.ID}); err != nil {
		t.Fatal(err)
	}
	h.index()
	if _, err := h.notes.Unpublish(t.Context(), []string{talk.ID}); err != nil {
		t.Fatal(err)
	}
	h.engine.set(true, nil)
	same(t, "engine down for writing", h.found("salary", true), nil)
	same(t, "engine down for writing", h.found("seen", true), nil)
}

func joined(pieces []search.Piece) string {
	var b strings.Builder
	for _, p := range pieces {
		b.WriteString(p.Text)
	}
	return b.String()
}

// What links to a note is brought up to date with it.
func TestLinkersFollow(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.create(corpus.NewNote{Title: "Diary", Body: "bought a [[Pump]]", Published: true})
	h.index()
	same(t, "a link to nothing", h.found("pump", true), nil)
	pump := h.create(corpus.NewNote{Title: "Pump", Published: true})
	h.index()
	same(t, "after it came", h.found("pump", true), []string{"Pump", "Diary"})
	if _, err := h.notes.Delete(t.Context(), []string{pump.ID}); err != nil {
		t.Fatal(err)
	}
	h.index()
	same(t, "after it went", h.found("pump", true), nil)
	same(t, "otherwise", h.found("bought", true), []string{"Diary"})
}

func TestReindexRemovesStrangersAndOldStates(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	ctx := t.Context()
	n := h.create(corpus.NewNote{Title: "Fruit", Body: "plum"})
	// A stranger, and a document from a time that the database has gone back from.
	err := h.engine.Upsert(ctx, []search.Document{{ID: nobody, Genre: "wiki", Title: "Ghost", Version: 1}, {ID: n.ID, Genre: "wiki", Title: "Future", Body: "fig", Version: 99}})
	if err != nil {
		t.Fatal(err)
	}
	indexed, removed, err := h.notes.Reindex(ctx, nil)
	if err != nil || indexed != 1 || removed != 2 {
		t.Errorf("indexed %d, removed %d, %v; want 1 and 2", indexed, removed, err)
	}
	same(t, "plum", h.found("plum", false), []string{"Fruit"})
	same(t, "fig", h.found("fig", false), nil)
	same(t, "ghost", h.found("ghost", false), nil)
}
