package postgres

import (
	"slices"
	"strings"

	"github.com/gatehouse-hq/gatehouse/internal/infra/search"
)

const (
	excerptRunes = 220     // about three lines
	excerptLead  = 60      // runes shown before the first match
	scanRunes    = 200_000 // of a body that are looked through
	maxMatches   = 2_000
)

// span is a match: runes [from, to) of the original, of words[word].
type span struct{ from, to, word int }

// matches finds every place where a word stands in text, in order.
func matches(text string, words []string) []span {
	f := fold(text)
	hay := f.runes[:min(len(f.runes), scanRunes)]
	var out []span
	for w, word := range words {
		needle := []rune(word)
		for i := 0; i+len(needle) <= len(hay) && len(out) < maxMatches; i++ {
			if hay[i] == needle[0] && slices.Equal(hay[i:i+len(needle)], needle) {
				out = append(out, span{f.at[i], f.at[i+len(needle)-1] + 1, w})
				i += len(needle) - 1
			}
		}
	}
	slices.SortFunc(out, func(a, b span) int {
		if a.from != b.from {
			return a.from - b.from
		}
		return b.to - a.to
	})
	return out
}

// marked cuts the whole text into pieces.
func marked(text string, words []string) []search.Piece {
	return pieces([]rune(text), matches(text, words), 0)
}

// excerpt is the stretch of text that shows most of the words, in pieces. With
// no match in the text it is its beginning.
func excerpt(text string, words []string) []search.Piece {
	found := matches(text, words)
	runes := []rune(text)
	start := bestWindow(found)
	if start > 0 {
		start = wordStart(runes, max(start-excerptLead, 0))
	}
	end := min(start+excerptRunes, len(runes))
	var inside []span
	for _, m := range found {
		if m.from >= start && m.to <= end {
			inside = append(inside, m)
		}
	}
	out := pieces(runes[start:end], inside, start)
	if start > 0 {
		out = append([]search.Piece{{Text: "… "}}, out...)
	}
	if end < len(runes) {
		out = append(out, search.Piece{Text: " …"})
	}
	for i := range out {
		out[i].Text = strings.Map(oneLine, out[i].Text)
	}
	return out
}

// bestWindow is where the window with the most different words begins.
func bestWindow(found []span) int {
	best, at := 0, 0
	for i, m := range found {
		seen := map[int]bool{}
		for _, n := range found[i:] {
			if n.to > m.from+excerptRunes-excerptLead {
				break
			}
			seen[n.word] = true
		}
		if len(seen) > best {
			best, at = len(seen), m.from
		}
	}
	return at
}

// wordStart moves forward to the beginning of a word, a little at most.
func wordStart(runes []rune, i int) int {
	if i == 0 {
		return 0
	}
	for j := i; j < min(i+20, len(runes)); j++ {
		if runes[j] == ' ' || runes[j] == '\n' {
			return j + 1
		}
	}
	return i
}

// pieces cuts runes at the matches; offset is where runes begin in the text
// that the matches count in. Overlapping matches become one.
func pieces(runes []rune, found []span, offset int) []search.Piece {
	out := []search.Piece{}
	done := 0
	for i := 0; i < len(found); i++ {
		from, to := found[i].from-offset, found[i].to-offset
		if to <= done {
			continue
		}
		from = max(from, done)
		for i+1 < len(found) && found[i+1].from-offset <= to {
			i++
			to = max(to, found[i].to-offset)
		}
		if from > done {
			out = append(out, search.Piece{Text: string(runes[done:from])})
		}
		out = append(out, search.Piece{Text: string(runes[from:to]), Match: true})
		done = to
	}
	if done < len(runes) {
		out = append(out, search.Piece{Text: string(runes[done:])})
	}
	return out
}

func oneLine(r rune) rune {
	if r == '\n' || r == '\t' || r == '\r' {
		return ' '
	}
	return r
}
