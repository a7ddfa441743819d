package public_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/gatehouse-hq/gatehouse/internal/infra/search"
)

func TestSearchShowsWhereItFound(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	for title, excerpt := range map[string][]search.Piece{
		"Pump": {{Text: "the deep"}, {Text: "-water", Match: true}, {Text: "s pump, & more"}},
		"反向链接": {{Text: "关于"}, {Text: "链接", Match: true}, {Text: "的说明"}},
	} {
		r := s.create(t, wiki(title, "x"))
		s.engine.found = append(s.engine.found, search.Hit{ID: r.NoteID, Version: r.Version, Title: []search.Piece{{Text: title}}, Excerpt: excerpt})
	}
	body := s.page(t, "/search?q=water")
	contains(t, body, "2 pages found", "the deep<mark>-water</mark>s pump, &amp; more", `value="water"`,
		`href="/wiki/pump#:~:text=deep%2Dwaters"`, `#:~:text=%E9%93%BE%E6%8E%A5"`, `<meta name="robots" content="noindex"`)
}

func TestSearchPagesAndEmptyStates(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	contains(t, s.page(t, "/search?q=nothing%20%3Cb%3E"), "Nothing found for “nothing &lt;b&gt;”", "All notes")
	r := s.create(t, wiki("Pump", "x"))
	for range 45 {
		s.engine.found = append(s.engine.found, search.Hit{ID: r.NoteID, Version: r.Version, Title: []search.Piece{{Text: "Pump"}}})
	}
	contains(t, s.page(t, "/search?q=pump"), `rel="next" href="/search?q=pump&amp;page=2"`)
	second := s.page(t, "/search?q=pump&page=2")
	contains(t, second, `rel="prev"`, "Page 2", `page=3"`)
	lacks(t, s.page(t, "/search?q=pump&page=3"), `rel="next"`)
	for _, odd := range []string{"?q=%00", "?q=%ff", "?q=" + strings.Repeat("x", 5000), "?q=pump&page=-1", "?q=pump&page=99999999999", "?q=pump&page=x", "?q=%20"} {
		equal(t, http.StatusOK, s.get(t, "/search"+odd).Code, odd)
	}
}
