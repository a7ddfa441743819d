package postgres

import (
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// folded is a text in the form that is compared: lower case, without accents,
// of one width. at maps each folded rune back to the rune of the original.
type folded struct {
	runes []rune
	at    []int
}

func fold(text string) folded {
	f := folded{runes: make([]rune, 0, len(text)), at: make([]int, 0, len(text))}
	i := 0
	for _, r := range text {
		f.add(r, i)
		i++
	}
	return f
}

func (f *folded) add(r rune, at int) {
	if r < 0x80 {
		switch {
		case 'A' <= r && r <= 'Z':
			r += 'a' - 'A'
		case r == 0: // PostgreSQL has no text with NUL (field case F12)
			r = ' '
		}
		f.runes, f.at = append(f.runes, r), append(f.at, at)
		return
	}
	// Hangul syllables and CJK signs stay whole: decomposed they would be other text.
	if cjk(r) {
		f.runes, f.at = append(f.runes, r), append(f.at, at)
		return
	}
	for _, d := range norm.NFKD.String(string(r)) {
		if unicode.Is(unicode.Mn, d) {
			continue
		}
		f.runes, f.at = append(f.runes, unicode.ToLower(d)), append(f.at, at)
	}
}

func (f folded) String() string { return string(f.runes) }

// cjk are the scripts that are written without spaces between words.
func cjk(r rune) bool {
	return r >= 0x1100 && (unicode.Is(unicode.Han, r) || unicode.Is(unicode.Hiragana, r) ||
		unicode.Is(unicode.Katakana, r) || unicode.Is(unicode.Hangul, r))
}

func wordRune(r rune) bool {
	return unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.Is(unicode.Mc, r) || r == '_'
}

// run is a stretch of folded text that is one word, or one piece of CJK.
type run struct {
	text []rune
	cjk  bool
}

// runs cuts folded text into words and CJK stretches.
func runs(text []rune) []run {
	var out []run
	start, inCJK := -1, false
	flush := func(end int) {
		if start >= 0 {
			out = append(out, run{text[start:end], inCJK})
		}
		start = -1
	}
	for i, r := range text {
		c := cjk(r)
		switch {
		case !c && !wordRune(r):
			flush(i)
		case start >= 0 && c != inCJK:
			flush(i)
			start, inCJK = i, c
		case start < 0:
			start, inCJK = i, c
		}
	}
	flush(len(text))
	return out
}
