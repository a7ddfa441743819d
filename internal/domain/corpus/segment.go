package corpus

import (
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// SegmentLimit is the longest segment of an address, in code points.
const SegmentLimit = 80

// untitled is the segment of a title that holds no letter or digit.
const untitled = "untitled"

// Segment is one step of a note's address, made from its title: lower case
// (simple case mapping, the one that needs no language and no context), runs of
// what is neither letter, mark nor number of any script become one hyphen, at
// most SegmentLimit code points. A mark counts only behind a letter or number:
// an emoji's selector is no text. The result is NFC.
//
// Its twin is note_segment in schema.sql, which has these tables of Unicode
// written out, because PostgreSQL's own depend on the collation and version.
func Segment(title string) string {
	s := norm.NFC.String(strings.Map(dropSelector, title))
	s = norm.NFC.String(strings.Map(unicode.ToLower, s))
	out := make([]rune, 0, len(s))
	for _, r := range s {
		switch {
		case unicode.IsLetter(r) || unicode.IsNumber(r):
			out = append(out, r)
		case isMark(r) && len(out) > 0 && out[len(out)-1] != '-':
			out = append(out, r)
		case len(out) > 0 && out[len(out)-1] != '-':
			out = append(out, '-')
		}
	}
	if len(out) > SegmentLimit {
		out = out[:SegmentLimit]
	}
	if s = strings.TrimRight(string(out), "-"); s == "" {
		return untitled
	}
	return s
}

func isMark(r rune) bool { return unicode.In(r, unicode.Mn, unicode.Mc) && !isSelector(r) }

// isSelector tells what may stand inside a word without being part of its
// text: soft hyphens and variation selectors.
func isSelector(r rune) bool { return r == 0x00ad || unicode.Is(unicode.Variation_Selector, r) }

func dropSelector(r rune) rune {
	if isSelector(r) {
		return -1
	}
	return r
}
