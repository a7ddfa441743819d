package river

import (
	"strings"
	"unicode/utf8"
)

// Bounds of what one attempt may leave in the row, in bytes.
const (
	maxError  = 4 << 10
	maxTrace  = 16 << 10
	maxReport = 16 << 10
)

// clean makes s storable: no NUL, valid UTF-8, at most limit bytes. A NUL in
// one error text would stop the library's completer for every job (measured;
// field case F12).
func clean(s string, limit int) string {
	if len(s) > 4*limit {
		s = s[:4*limit] // bound the work before looking at each rune
	}
	s = strings.ToValidUTF8(s, "\uFFFD")
	s = strings.ReplaceAll(s, "\x00", "\uFFFD")
	if len(s) <= limit {
		return s
	}
	const mark = "…"
	cut := limit - len(mark)
	for cut > 0 && !utf8.RuneStart(s[cut]) {
		cut--
	}
	return s[:cut] + mark
}

// firstLine is what lists show of an error.
func firstLine(s string) string {
	s, _, _ = strings.Cut(strings.TrimSpace(s), "\n")
	return clean(s, 300)
}
