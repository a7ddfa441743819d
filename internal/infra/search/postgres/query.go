package postgres

import (
	"strings"
)

// Bounds of what is asked: longer is cut, not refused.
const (
	maxQueryRunes = 200
	maxQueryWords = 12
)

// question is a query in the engine's words.
type question struct {
	tsquery string   // proposes candidates
	words   []string // every one must be in the folded text
	whole   string   // folded, words joined by single spaces: for exact titles
}

// ask reads what a person typed; ok is false when it holds nothing to look for.
func ask(text string) (q question, ok bool) {
	f := fold(text)
	all := runs(f.runes[:min(len(f.runes), maxQueryRunes)])
	all = all[:min(len(all), maxQueryWords)]
	if len(all) == 0 {
		return question{}, false
	}
	var terms []string
	for _, r := range all {
		word := r.text
		if !r.cjk {
			word = word[:min(len(word), maxWord)]
		}
		q.words = append(q.words, string(word))
		terms = append(terms, proposal(run{word, r.cjk}))
	}
	q.tsquery = strings.Join(terms, " & ")
	q.whole = strings.TrimSpace(f.String())
	return q, true
}

// proposal is the tsquery of one word: as it is, as a beginning, or with all
// its three-letter parts; of CJK, all its pairs.
func proposal(r run) string {
	if r.cjk {
		if len(r.text) == 1 {
			return quote(string(r.text))
		}
		var pairs []string
		for i := 0; i+2 <= len(r.text); i++ {
			pairs = append(pairs, quote(string(r.text[i:i+2])))
		}
		return "(" + strings.Join(pairs, " & ") + ")"
	}
	begins := quote(string(r.text)) + ":*"
	if len(r.text) < 3 {
		return begins
	}
	var parts []string
	for i := 0; i+3 <= len(r.text); i++ {
		parts = append(parts, quote("~"+string(r.text[i:i+3])))
	}
	return "(" + begins + " | (" + strings.Join(parts, " & ") + "))"
}

// like is the pattern that finds word anywhere.
func like(word string) string {
	return "%" + strings.NewReplacer(`\`, `\\`, `%`, `\%`, `_`, `\_`).Replace(word) + "%"
}
