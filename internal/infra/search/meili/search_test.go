package meili_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/gatehouse-hq/gatehouse/internal/infra/search"
	"github.com/gatehouse-hq/gatehouse/internal/infra/search/searchtest"
)

// The server's query language is not ours: what a person types is words.
func TestQueryIsWords(t *testing.T) {
	t.Parallel()
	e := engineOf(t, start(t))
	put(t, e, note(1, 1, "a plum beside a pear"), note(2, 1, "fig"))
	for text, want := range map[string]int{
		`"pear plum"`: 1, // no phrase
		`pear -plum`:  1, // no exclusion
		`-plum`:       1,
		`plu`:         1,
		`plu `:        1, // the space does not end the word
		"pear\x00plu": 1,
		`pear fig`:    0,
		`-`:           0,
		`""`:          0, // not everything
		`🙂`:           0,
	} {
		res, err := e.Search(t.Context(), search.Query{Text: text, Limit: 10})
		if err != nil || res.Total != want || len(res.Hits) != want {
			t.Errorf("%q: %d of %d, %v; want %d", text, len(res.Hits), res.Total, err, want)
		}
	}
}

// What a note says is never taken for a mark or for markup.
func TestMarksAreOurs(t *testing.T) {
	t.Parallel()
	e := engineOf(t, start(t))
	body := "before <em>plum</em> \ue000x\ue001 <script>\nafter"
	put(t, e, note(1, 1, body))
	res, err := e.Search(t.Context(), search.Query{Text: "plum", Limit: 1})
	if err != nil || len(res.Hits) != 1 {
		t.Fatalf("%+v, %v", res, err)
	}
	want := fmt.Sprint([]search.Piece{{Text: "before <em>"}, {Text: "plum", Match: true}, {Text: "</em> \ue000x\ue001 <script> after"}})
	if got := fmt.Sprint(res.Hits[0].Excerpt); got != want {
		t.Errorf("excerpt %s, want %s", got, want)
	}
}

// The server counts words, but a text may be one endless word.
func TestExcerptIsBounded(t *testing.T) {
	t.Parallel()
	e := engineOf(t, start(t))
	put(t, e, note(1, 1, strings.Repeat("y", 10_000)+" plum "+strings.Repeat("z", 10_000)), note(2, 1, strings.Repeat("汉字", 10_000)))
	for _, text := range []string{"plum", "note", "汉字"} {
		res, err := e.Search(t.Context(), search.Query{Text: text, Limit: 1})
		if err != nil || len(res.Hits) != 1 {
			t.Fatalf("%s: %+v, %v", text, res, err)
		}
		length, marked := 0, false
		for _, p := range res.Hits[0].Excerpt {
			length, marked = length+len([]rune(p.Text)), marked || p.Match
		}
		if length > 270 || text != "note" && !marked {
			t.Errorf("%s: %d runes, marked %v", text, length, marked)
		}
	}
}

func TestOffsetWithinAPage(t *testing.T) {
	t.Parallel()
	e := engineOf(t, start(t))
	var docs []search.Document
	for n := range 10 {
		docs = append(docs, note(n, 1, "plum"))
	}
	put(t, e, docs...)
	for offset, want := range map[int]int{0: 4, 3: 4, 4: 4, 7: 3, 8: 2, 9: 1, 10: 0, 50: 0} {
		res, err := e.Search(t.Context(), search.Query{Text: "plum", Offset: offset, Limit: 4})
		if err != nil || res.Total != 10 || len(res.Hits) != want {
			t.Errorf("from %d: %d hits of %d, %v; want %d", offset, len(res.Hits), res.Total, err, want)
		}
		if want > 0 && res.Hits[0].ID != searchtest.ID(offset) {
			t.Errorf("from %d: begins with %s", offset, res.Hits[0].ID)
		}
	}
}

// Each gives everything, however much, and its caller may remove meanwhile.
func TestEachOfMany(t *testing.T) {
	t.Parallel()
	server := start(t)
	e := engineOf(t, server)
	const many = 12_000 // more than is asked for at once
	docs := make([]map[string]any, many)
	for n := range docs {
		docs[n] = map[string]any{"id": searchtest.ID(n), "version": 1}
	}
	byHand(t, server, "POST", "/indexes/"+index+"/documents", docs)
	seen := map[string]bool{}
	err := e.Each(t.Context(), func(hs []search.Held) error {
		ids := make([]string, len(hs))
		for i, h := range hs {
			seen[h.ID], ids[i] = true, h.ID
		}
		if len(seen) > 1000 {
			return nil
		}
		return e.Remove(t.Context(), ids)
	})
	if err != nil || len(seen) != many {
		t.Errorf("saw %d of %d, %v", len(seen), many, err)
	}
}
