package public

import (
	"net/http"
	"net/url"
	"strings"
	"unicode"

	"github.com/gatehouse-hq/gatehouse/internal/domain/corpus"
	"github.com/gatehouse-hq/gatehouse/internal/web/edge"
	"github.com/gatehouse-hq/gatehouse/internal/web/ui"
)

const (
	searchPage  = 20
	searchLimit = 200 // characters of a question
	searchPages = 100 // nobody reads further, and what stands there is hardly what was asked for
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
		page := min(pageNumber(r), searchPages)
		found, err := s.notes.Search(r.Context(), corpus.SearchQuery{
			Text: view.query, PublicOnly: true, Offset: (page - 1) * searchPage, Limit: searchPage,
		})
		if err != nil {
			return err
		}
		view.total = found.Total
		view.pager = pages("/search?q="+url.QueryEscape(view.query)+"&page=", page, page < searchPages && page*searchPage < found.Total)
		for _, hit := range found.Hits {
			view.entries = append(view.entries, entryOf(hit))
		}
	}
	return edge.RenderPublic(w, r, searchResults(view))
}

// piece is a run of text that did or did not match the question.
type piece struct {
	text  string
	match bool
}

func entryOf(hit corpus.SearchHit) ui.Entry {
	var title strings.Builder
	for _, p := range hit.Title {
		title.WriteString(p.Text)
	}
	var excerpt []piece
	for _, p := range hit.Excerpt {
		excerpt = append(excerpt, piece{p.Text, p.Match})
	}
	e := ui.Entry{Link: ui.Link{Label: title.String(), Href: hit.Address + jump(excerpt)}, Meta: entryMeta(hit.Note)}
	if len(excerpt) > 0 {
		e.Excerpt = ui.Excerpt(alternating(excerpt))
	}
	return e
}

// alternating turns pieces into unmarked, marked, unmarked … as ui.Excerpt takes them.
func alternating(pieces []piece) []string {
	out := []string{""}
	for _, p := range pieces {
		if marked := len(out)%2 == 0; marked != p.match {
			out = append(out, "")
		}
		out[len(out)-1] += p.text
	}
	return out
}

// jump leads to the first match in the page, by a text fragment: browsers that know none open the page at its top.
// A fragment matches whole words, so a match inside a word is widened to it.
func jump(pieces []piece) string {
	for i, p := range pieces {
		if !p.match {
			continue
		}
		text := p.text
		if i > 0 {
			before := pieces[i-1].text
			text = before[len(strings.TrimRightFunc(before, inWord)):] + text
		}
		if i+1 < len(pieces) {
			after := pieces[i+1].text
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
