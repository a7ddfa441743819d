package public

import (
	"net/http"
	"net/url"
	"strings"
	"unicode"

	"github.com/gatehouse-hq/gatehouse/internal/domain/corpus"
	"github.com/gatehouse-hq/gatehouse/internal/infra/search"
	"github.com/gatehouse-hq/gatehouse/internal/web/edge"
	"github.com/gatehouse-hq/gatehouse/internal/web/ui"
)

const (
	searchPage  = 20
	searchLimit = 200 // characters of a question
)

// searchView is one page of results.
type searchView struct {
	query   string
	entries []ui.Entry
	total   int
	pager   ui.Pager
}

func (s *Site) search(w http.ResponseWriter, r *http.Request) error {
	view := searchView{query: question(r, "q", searchLimit)}
	if view.query != "" {
		page := pageNumber(r)
		found, err := s.notes.Search(r.Context(), corpus.SearchQuery{
			Text: view.query, PublicOnly: true, Offset: (page - 1) * searchPage, Limit: searchPage,
		})
		if err != nil {
			return err
		}
		view.total = found.Total
		view.pager = pages("/search?q="+url.QueryEscape(view.query)+"&page=", page, page*searchPage < found.Total)
		for _, hit := range found.Hits {
			view.entries = append(view.entries, entryOf(hit))
		}
	}
	return edge.RenderPublic(w, r, searchResults(view))
}

func entryOf(hit corpus.SearchHit) ui.Entry {
	e := ui.Entry{Link: ui.Link{Label: hit.Title, Href: hit.Address + jump(hit.Excerpt)}, Meta: entryMeta(hit.Note)}
	if len(hit.Excerpt) > 0 {
		e.Excerpt = ui.Excerpt(alternating(hit.Excerpt))
	}
	return e
}

// alternating turns pieces into unmarked, marked, unmarked … as ui.Excerpt takes them.
func alternating(pieces []search.Piece) []string {
	var out []string
	for _, p := range pieces {
		if (len(out)%2 == 1) != p.Match {
			out = append(out, p.Text)
		} else if len(out) == 0 {
			out = append(out, "", p.Text)
		} else {
			out[len(out)-1] += p.Text
		}
	}
	return out
}

// jump leads to the first match in the page, by a text fragment: browsers that know none open the page at its top.
// A fragment matches whole words, so a match inside a word is widened to it.
func jump(pieces []search.Piece) string {
	for i, p := range pieces {
		if !p.Match {
			continue
		}
		text := p.Text
		if i > 0 {
			before := pieces[i-1].Text
			text = before[len(strings.TrimRightFunc(before, inWord)):] + text
		}
		if i+1 < len(pieces) {
			after := pieces[i+1].Text
			text += after[:len(after)-len(strings.TrimLeftFunc(after, inWord))]
		}
		if text = strings.TrimSpace(text); text == "" || strings.Contains(text, "\n") {
			return ""
		}
		// A hyphen, a comma and an ampersand mean something in a fragment directive and must be encoded.
		return "#:~:text=" + strings.NewReplacer("+", "%20", "-", "%2D").Replace(url.QueryEscape(text))
	}
	return ""
}

// inWord reports whether words of r's script are told apart by spaces and r is part of one.
func inWord(r rune) bool {
	return (unicode.IsLetter(r) || unicode.IsNumber(r) || unicode.IsMark(r)) &&
		!unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar)
}
