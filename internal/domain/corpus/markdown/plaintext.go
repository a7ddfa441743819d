package markdown

import (
	"strings"
	"unicode/utf8"
)

// maxExcerpt is the length of Page.Excerpt, in characters.
const maxExcerpt = 200

// textBuilder collects the words a page shows, a line a block.
type textBuilder struct {
	all     strings.Builder
	prose   strings.Builder // of paragraphs alone
	mute    int             // inside what is shown but is not the note's own words
	written int             // characters shown so far, mute or not
	images  int
	within  int // open paragraphs and list items
	apart   int // open headings, code, tables
}

func (t *textBuilder) add(s string) {
	if strings.TrimSpace(s) != "" {
		t.written += len(s)
	}
	if t.mute > 0 {
		return
	}
	t.all.WriteString(s)
	if t.within > 0 && t.apart == 0 {
		t.prose.WriteString(s)
	}
}

func isBlock(name string) bool {
	switch name {
	case "p", "div", "li", "ul", "ol", "dl", "dt", "dd", "pre", "blockquote", "table", "tr", "td", "th", "h2", "h3", "h4", "h5", "h6", "details",
		"summary", "figure", "figcaption", "caption", "br", "hr":
		return true
	}
	return false
}

func (t *textBuilder) open(name string) { t.boundary(name, 1) }

func (t *textBuilder) close(name string) { t.boundary(name, -1) }

func (t *textBuilder) boundary(name string, by int) {
	switch {
	case name == "p" || name == "li":
		t.within += by
	case name == "pre" || name == "table" || isHeading(name):
		t.apart += by
	}
	if isBlock(name) && t.mute == 0 {
		t.all.WriteByte('\n')
		t.prose.WriteByte('\n')
	}
}

func (f *finisher) plainText() string {
	var b strings.Builder
	for line := range strings.Lines(f.text.all.String()) {
		if words := strings.Join(strings.Fields(line), " "); words != "" {
			if b.Len() > 0 {
				b.WriteByte('\n')
			}
			b.WriteString(words)
		}
	}
	return b.String()
}

// excerpt is the beginning of the note's prose, ended at a word.
func (f *finisher) excerpt() string {
	s := strings.Join(strings.Fields(f.text.prose.String()), " ")
	if s == "" {
		s = strings.Join(strings.Fields(f.text.all.String()), " ")
	}
	if utf8.RuneCountInString(s) <= maxExcerpt {
		return s
	}
	runes := []rune(s)[:maxExcerpt-1]
	cut := string(runes)
	if i := strings.LastIndexByte(cut, ' '); i > len(cut)/2 {
		cut = cut[:i]
	}
	return strings.TrimRight(cut, " ,;:.、，。；：") + "…"
}
