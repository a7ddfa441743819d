package postgres

import (
	"slices"
	"strconv"
	"strings"

	"github.com/gatehouse-hq/gatehouse/internal/infra/search"
)

// Bounds of PostgreSQL's tsvector, and of what is worth indexing.
const (
	maxPosition  = 16_383
	maxPositions = 64     // of one lexeme; PostgreSQL keeps 256
	maxWord      = 40     // runes of a word that are indexed
	maxBody      = 40_000 // runs of one text that are indexed
	// maxBytes of lexemes and positions: a tsvector holds less than 1 MiB, and
	// a note too rich in words must still be found by its first ones.
	maxBytes = 700_000
)

// vector collects the lexemes of a document, with weights A (title) to D (body).
type vector struct {
	positions map[string][]string
	parts     map[string]bool // three-letter parts: no positions, they only propose
	next      int
	bytes     int
}

// vectorOf builds the text form of a document's tsvector.
func vectorOf(d search.Document) string {
	v := vector{positions: map[string][]string{}, parts: map[string]bool{}, next: 1}
	v.add(d.Title, "A")
	for _, a := range d.Aliases {
		v.add(a, "A")
	}
	for _, t := range d.Tags {
		v.add(t, "B")
	}
	v.add(d.Body, "")
	return v.String()
}

func (v *vector) add(text, weight string) {
	for i, r := range runs(fold(text).runes) {
		if i == maxBody {
			break
		}
		if r.cjk {
			v.addCJK(r.text, weight)
			continue
		}
		word := r.text[:min(len(r.text), maxWord)]
		v.put(string(word), weight)
		v.next++
		if len(word) > 3 {
			for i := 0; i+3 <= len(word) && v.bytes < maxBytes; i++ {
				v.part("~" + string(word[i:i+3]))
			}
		}
	}
	v.next++ // texts do not touch
}

func (v *vector) addCJK(text []rune, weight string) {
	for i := range text {
		v.put(string(text[i]), weight)
		if i+1 < len(text) {
			v.put(string(text[i:i+2]), weight)
		}
		v.next++
	}
}

func (v *vector) put(lexeme, weight string) {
	p, known := v.positions[lexeme]
	if len(p) >= maxPositions || v.bytes >= maxBytes {
		return
	}
	if !known {
		v.bytes += len(lexeme) + lexemeBytes
	}
	v.bytes += positionBytes
	v.positions[lexeme] = append(p, strconv.Itoa(min(v.next, maxPosition))+weight)
}

func (v *vector) part(lexeme string) {
	if !v.parts[lexeme] {
		v.bytes += len(lexeme) + lexemeBytes
		v.parts[lexeme] = true
	}
}

// What a lexeme and a position take in a tsvector besides the text.
const (
	lexemeBytes   = 8
	positionBytes = 2
)

func (v *vector) String() string {
	var b strings.Builder
	for lexeme, positions := range v.positions {
		b.WriteString(quote(lexeme))
		b.WriteByte(':')
		b.WriteString(strings.Join(slices.Compact(positions), ","))
		b.WriteByte(' ')
	}
	for part := range v.parts {
		b.WriteString(quote(part))
		b.WriteByte(' ')
	}
	return b.String()
}

// quote writes a lexeme for tsvector and tsquery input. Lexemes hold letters,
// digits, _ and ~ only; quoting them anyway costs nothing.
func quote(lexeme string) string {
	return "'" + strings.NewReplacer(`'`, `''`, `\`, `\\`).Replace(lexeme) + "'"
}
