package postgres_test

import (
	"testing"

	"github.com/gatehouse-hq/gatehouse/internal/infra/pg/pgtest"
	"github.com/gatehouse-hq/gatehouse/internal/infra/search"
	"github.com/gatehouse-hq/gatehouse/internal/infra/search/postgres"
	"github.com/gatehouse-hq/gatehouse/internal/infra/search/searchtest"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

func TestEngine(t *testing.T) {
	t.Parallel()
	searchtest.Run(t, func(t *testing.T) search.Engine { return postgres.New(pgtest.New(t)) })
}

func TestPartsOfWords(t *testing.T) {
	t.Parallel()
	e := postgres.New(pgtest.New(t))
	docs := []search.Document{
		{ID: searchtest.ID(1), Title: "Notebook", Body: "unlinkable", Version: 1},
		{ID: searchtest.ID(2), Title: "Async syndrome", Body: "syn and nc apart: syndicate, uncle", Version: 1},
		{ID: searchtest.ID(3), Title: "Other", Body: "syndicate, uncle, concise", Version: 1},
	}
	if err := e.Upsert(t.Context(), docs); err != nil {
		t.Fatal(err)
	}
	for text, id := range map[string]int{"book": 1, "link": 1, "sync": 2} {
		res, err := e.Search(t.Context(), search.Query{Text: text, Limit: 10})
		if err != nil || len(res.Hits) != 1 || res.Hits[0].ID != searchtest.ID(id) {
			t.Errorf("%s: %+v, %v; want document %d alone", text, res.Hits, err, id)
		}
	}
}

// A worker that read the note before a change must not win over one that read
// it after (field case F31).
func TestOlderVersionChangesNothing(t *testing.T) {
	t.Parallel()
	e := postgres.New(pgtest.New(t))
	newer := search.Document{ID: searchtest.ID(1), Title: "Note", Body: "fig", Version: 3}
	older := search.Document{ID: searchtest.ID(1), Title: "Note", Body: "plum", Version: 2}
	for _, d := range []search.Document{newer, older} {
		if err := e.Upsert(t.Context(), []search.Document{d}); err != nil {
			t.Fatal(err)
		}
	}
	res, err := e.Search(t.Context(), search.Query{Text: "fig", Limit: 10})
	if err != nil || len(res.Hits) != 1 {
		t.Fatalf("%+v, %v", res, err)
	}
}

// Of names that hold the word, the one it says most of comes first.
func TestShorterNamesFirst(t *testing.T) {
	t.Parallel()
	e := postgres.New(pgtest.New(t))
	docs := []search.Document{
		{ID: searchtest.ID(1), Title: "Sync settings and selective syncing", Body: "sync sync sync", Version: 1},
		{ID: searchtest.ID(2), Title: "Obsidian Sync", Version: 1},
		{ID: searchtest.ID(3), Title: "Notes that are not about it", Body: "sync", Version: 1},
	}
	if err := e.Upsert(t.Context(), docs); err != nil {
		t.Fatal(err)
	}
	res, err := e.Search(t.Context(), search.Query{Text: "sync", Limit: 10})
	if err != nil || len(res.Hits) != 3 || res.Hits[0].ID != searchtest.ID(2) || res.Hits[2].ID != searchtest.ID(3) {
		t.Fatalf("%+v, %v", res.Hits, err)
	}
}
