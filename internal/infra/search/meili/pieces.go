package meili

import (
	"strings"

	"github.com/gatehouse-hq/gatehouse/internal/infra/search"
)

const (
	excerptRunes = 260 // the server counts words, and a word has no end in some texts
	excerptLead  = 60
)

// pieces cuts a text at its marks.
func pieces(text, before, after string) []search.Piece {
	out := []search.Piece{}
	add := func(text string, match bool) {
		if text != "" {
			out = append(out, search.Piece{Text: text, Match: match})
		}
	}
	for text != "" {
		plain, rest, _ := strings.Cut(text, before)
		matched, next, _ := strings.Cut(rest, after)
		add(plain, false)
		add(matched, true)
		text = next
	}
	return out
}

// excerpt bounds pieces around the first match and puts them on one line.
func excerpt(all []search.Piece) []search.Piece {
	first, total := -1, 0
	for _, p := range all {
		if p.Match && first < 0 {
			first = total
		}
		total += len([]rune(p.Text))
	}
	from := 0
	if first > excerptRunes-excerptLead {
		from = first - excerptLead
	}
	out := []search.Piece{}
	if from > 0 {
		out = append(out, search.Piece{Text: "… "})
	}
	at := 0
	for _, p := range all {
		r := []rune(p.Text)
		lo, hi := min(max(from-at, 0), len(r)), min(max(from+excerptRunes-at, 0), len(r))
		if at += len(r); lo < hi {
			out = append(out, search.Piece{Text: strings.Map(oneLine, string(r[lo:hi])), Match: p.Match})
		}
	}
	if from+excerptRunes < total {
		out = append(out, search.Piece{Text: " …"})
	}
	return out
}

func oneLine(r rune) rune {
	if r == '\n' || r == '\t' || r == '\r' {
		return ' '
	}
	return r
}
