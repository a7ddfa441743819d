package markdown

import (
	"bytes"
	"slices"
)

type regionKind int

const (
	commentRegion regionKind = iota
	codeRegion
)

// region is text[start:end], a comment or code.
type region struct {
	kind       regionKind
	start, end int
}

func sortRegions(r []region) {
	slices.SortFunc(r, func(a, b region) int { return a.start - b.start })
}

// scan finds the comments and the code of a note, in order. It reads line by line with just enough of CommonMark (quotes, lists, fences,
// indented code, code spans) to know whether a %% is code; leak checks the result against the real parser.
func scan(text []byte) []region {
	s := scanner{text: text, blank: true}
	for s.pos < len(text) {
		s.line()
	}
	return s.regions
}

type scanner struct {
	text    []byte
	pos     int
	regions []region
	fence   *fence
	lists   []int // content columns of the open list items
	blank   bool  // the line before was blank or indented code
}

// fence is an open fenced block and the container it stands in: leaving the container closes it.
type fence struct {
	char           byte
	length         int
	quotes, indent int
}

// prefix is what stands before a line's own content.
type prefix struct {
	quotes  int // > markers
	indent  int // column of the content behind the quotes, tabs to 4
	content int // offset of the content
	blank   bool
}

func (s *scanner) add(kind regionKind, start, end int) {
	s.regions = append(s.regions, region{kind, start, end})
}

func (s *scanner) lineEnd() int {
	if i := bytes.IndexByte(s.text[s.pos:], '\n'); i >= 0 {
		return s.pos + i + 1
	}
	return len(s.text)
}

func (s *scanner) line() {
	end := s.lineEnd()
	p := s.prefix(end, s.fence == nil)
	if f := s.fence; f != nil {
		if p.quotes >= f.quotes && (p.blank || p.indent >= f.indent) {
			s.add(codeRegion, s.pos, end)
			if n := run(s.text[p.content:end], f.char); n >= f.length && len(bytes.TrimSpace(s.text[p.content+n:end])) == 0 {
				s.fence = nil
			}
			s.pos, s.blank = end, true
			return
		}
		s.fence = nil
		p = s.prefix(end, true)
	}
	switch {
	case p.blank:
		s.pos, s.blank = end, true
	case s.opensFence(p, end):
		s.add(codeRegion, s.pos, end)
		s.pos, s.blank = end, true
	case p.indent >= 4 && p.quotes == 0 && s.blank && len(s.lists) == 0:
		s.add(codeRegion, s.pos, end)
		s.pos = end
	default:
		s.blank = false
		s.inline(p.content)
	}
}

// prefix reads quote markers, indentation and, when lists is true, list markers.
func (s *scanner) prefix(end int, lists bool) prefix {
	p := prefix{content: s.pos}
	first := true
	for p.content < end {
		switch c := s.text[p.content]; {
		case c == ' ':
			p.indent++
			p.content++
		case c == '\t':
			p.indent += 4 - p.indent%4
			p.content++
		case c == '>':
			p.quotes++
			p.indent = 0
			p.content++
			if p.content < end && s.text[p.content] == ' ' {
				p.content++
			}
		default:
			if c == '\n' {
				p.blank = true
				return p
			}
			width := 0
			if lists {
				width = listMarker(s.text[p.content:end])
			}
			if first && lists {
				s.leaveLists(p.indent, width > 0)
			}
			if width == 0 {
				return p
			}
			first = false
			p.indent += width
			p.content += width
			s.lists = append(s.lists, p.indent)
		}
	}
	p.blank = true
	return p
}

// leaveLists forgets the list items that a line at this column does not belong to; without a blank line before, text continues lazily.
func (s *scanner) leaveLists(indent int, item bool) {
	for len(s.lists) > 0 && (item || s.blank) && s.lists[len(s.lists)-1] > indent {
		s.lists = s.lists[:len(s.lists)-1]
	}
}

// listMarker gives the width of a list marker and its space, or 0.
func listMarker(line []byte) int {
	i := 0
	for i < len(line) && i < 9 && line[i] >= '0' && line[i] <= '9' {
		i++
	}
	switch {
	case i == 0 && len(line) > 1 && (line[0] == '-' || line[0] == '*' || line[0] == '+'):
	case i > 0 && i < len(line) && (line[i] == '.' || line[i] == ')'):
	default:
		return 0
	}
	i++
	if i < len(line) && (line[i] == ' ' || line[i] == '\t') {
		return i + 1
	}
	return 0
}

func (s *scanner) opensFence(p prefix, end int) bool {
	rest := s.text[p.content:end]
	char := rest[0]
	if char != '`' && char != '~' {
		return false
	}
	n := run(rest, char)
	if n < 3 || (char == '`' && bytes.IndexByte(rest[n:], '`') >= 0) {
		return false
	}
	f := &fence{char: char, length: n, quotes: p.quotes}
	for _, column := range s.lists {
		if column <= p.indent {
			f.indent = column
		}
	}
	s.fence = f
	return true
}

// inline reads from at to the end of the line on which the last comment or code span ends.
func (s *scanner) inline(at int) {
	missing := map[int]bool{} // lengths of backtick runs known to have no partner in this paragraph
	for at < len(s.text) {
		switch c := s.text[at]; {
		case c == '\n':
			s.pos = at + 1
			return
		case c == '\\' && at+1 < len(s.text) && s.text[at+1] != '%' && s.text[at+1] != '<' && s.text[at+1] != '\n':
			at += 2
		case c == '`':
			n := run(s.text[at:], '`')
			if end := s.spanEnd(at+n, n, missing); end > 0 {
				s.add(codeRegion, at, end)
				at = end
			} else {
				at += n
			}
		case c == '%' && bytes.HasPrefix(s.text[at:], percents), c == '<' && bytes.HasPrefix(s.text[at:], htmlOpen):
			end := commentEnd(s.text, at)
			s.add(commentRegion, at, end)
			at = end
			clear(missing)
		default:
			at++
		}
	}
	s.pos = at
}

// spanEnd finds the end of a code span: a run of exactly n backticks before the paragraph ends.
func (s *scanner) spanEnd(from, n int, missing map[int]bool) int {
	if missing[n] {
		return 0
	}
	for i := from; i < len(s.text); {
		switch s.text[i] {
		case '`':
			m := run(s.text[i:], '`')
			if m == n {
				return i + m
			}
			i += m
		case '\n':
			rest := s.text[i+1:]
			if j := bytes.IndexByte(rest, '\n'); j >= 0 {
				rest = rest[:j]
			}
			if len(bytes.Trim(rest, " \t>")) == 0 {
				missing[n] = true
				return 0
			}
			i++
		default:
			i++
		}
	}
	missing[n] = true
	return 0
}

// run counts how often c stands at the start of b.
func run(b []byte, c byte) int {
	n := 0
	for n < len(b) && b[n] == c {
		n++
	}
	return n
}
