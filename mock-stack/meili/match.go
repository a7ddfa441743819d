package meili

import (
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// word is one searchable piece of a text: a run of letters and digits, folded, or a run of a script without spaces.
type word struct {
	folded     string
	start, end int // bytes in the original text
	dense      bool
}

// isDense tells scripts written without spaces between words.
func isDense(r rune) bool {
	return unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul, unicode.Thai)
}

// words splits a text as the engine's tokenizer does, as far as a fake needs: case and diacritics do not count.
func words(text string) []word {
	var found []word
	start, dense := -1, false
	flush := func(end int) {
		if start >= 0 {
			found = append(found, word{fold(text[start:end]), start, end, dense})
			start = -1
		}
	}
	for i, r := range text {
		inWord := unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r)
		if !inWord || (start >= 0 && isDense(r) != dense && !unicode.IsMark(r)) {
			flush(i)
		}
		if inWord && start < 0 {
			start, dense = i, isDense(r)
		}
	}
	flush(len(text))
	return found
}

func fold(text string) string {
	var out strings.Builder
	for _, r := range norm.NFKD.String(text) {
		if !unicode.Is(unicode.Mn, r) {
			out.WriteRune(unicode.ToLower(r))
		}
	}
	return out.String()
}

// term is one word of a query. Only the last may match as a prefix, and only if nothing follows it.
type term struct {
	word
	prefix bool
	phrase []string // set for a quoted phrase, which matches as it stands
}

func queryTerms(query string) []term {
	var terms []term
	for i, part := range strings.Split(query, `"`) {
		pieces := words(part)
		if i%2 == 1 && len(pieces) > 0 {
			phrase := term{word: pieces[0]}
			for _, piece := range pieces {
				phrase.phrase = append(phrase.phrase, piece.folded)
			}
			terms = append(terms, phrase)
			continue
		}
		for _, piece := range pieces {
			terms = append(terms, term{word: piece})
		}
	}
	if n := len(terms); n > 0 && terms[n-1].phrase == nil && !strings.HasSuffix(query, `"`) && strings.TrimRight(query, " ") == query {
		terms[n-1].prefix = true
	}
	return terms
}

// span is a matched stretch of a text, in bytes.
type span struct{ start, end int }

// find returns where a term occurs in a text and how many typos the best occurrence needed; no spans if nowhere.
func (t term) find(text string, in []word, typos bool) (spans []span, fewest int) {
	if t.phrase != nil {
		return t.findPhrase(in), 0
	}
	fewest = 3
	for _, have := range in {
		if t.dense {
			if at := strings.Index(text[have.start:have.end], t.folded); at >= 0 && have.dense {
				spans, fewest = append(spans, span{have.start + at, have.start + at + len(t.folded)}), 0
			}
			continue
		}
		distance := t.distance(have.folded, typos)
		if distance > 2 {
			continue
		}
		spans, fewest = append(spans, span{have.start, have.end}), min(fewest, distance)
	}
	return spans, fewest
}

func (t term) findPhrase(in []word) []span {
	var spans []span
	for i := 0; i+len(t.phrase) <= len(in); i++ {
		matched := true
		for j, want := range t.phrase {
			matched = matched && in[i+j].folded == want
		}
		if matched {
			spans = append(spans, span{in[i].start, in[i+len(t.phrase)-1].end})
		}
	}
	return spans
}

// distance counts the typos between a query word and a word, 3 if they are more than allowed: one from five letters
// on, two from nine.
func (t term) distance(have string, typos bool) int {
	if have == t.folded || (t.prefix && strings.HasPrefix(have, t.folded)) {
		return 0
	}
	want, got := []rune(t.folded), []rune(have)
	allowed := 0
	if typos && len(want) >= 5 {
		allowed = 1
	}
	if typos && len(want) >= 9 {
		allowed = 2
	}
	if t.prefix && len(got) > len(want) {
		got = got[:len(want)]
	}
	if allowed == 0 || len(got)-len(want) > allowed || len(want)-len(got) > allowed {
		return 3
	}
	if d := levenshtein(want, got); d <= allowed {
		return d
	}
	return 3
}

func levenshtein(a, b []rune) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := 1; i <= len(a); i++ {
		diagonal := row[0]
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := diagonal
			if a[i-1] != b[j-1] {
				cost++
			}
			diagonal = row[j]
			row[j] = min(cost, row[j]+1, row[j-1]+1)
		}
	}
	return row[len(b)]
}
