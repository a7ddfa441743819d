package markdown

import (
	"bytes"
	"sort"
)

// source is note text after cuts and replacements, able to tell the line a byte came from in what the author wrote.
type source struct {
	text  []byte
	marks []mark
	lines []int // offsets of the line feeds of the original
}

// mark says: from offset at on (until the next mark) the text equals the original from offset orig on.
type mark struct{ at, orig int }

// edit replaces text[start:end] by with.
type edit struct {
	start, end int
	with       []byte
}

func newSource(text []byte) source {
	s := source{text: text, marks: []mark{{0, 0}}}
	for i, c := range text {
		if c == '\n' {
			s.lines = append(s.lines, i)
		}
	}
	return s
}

// origin maps an offset of the text to one of the original.
func (s source) origin(at int) int {
	i := sort.Search(len(s.marks), func(i int) bool { return s.marks[i].at > at }) - 1
	if i < 0 {
		return 0
	}
	return s.marks[i].orig + at - s.marks[i].at
}

// line gives the line of the original, counted from 1.
func (s source) line(at int) int {
	orig := s.origin(at)
	return sort.SearchInts(s.lines, orig) + 1
}

// splice applies edits, which must be sorted and must not overlap.
func (s source) splice(edits []edit) source {
	if len(edits) == 0 {
		return s
	}
	var out bytes.Buffer
	next := source{lines: s.lines}
	m := 0
	keep := func(from, to int) {
		next.marks = append(next.marks, mark{out.Len(), s.origin(from)})
		for m < len(s.marks) && s.marks[m].at <= from {
			m++
		}
		for ; m < len(s.marks) && s.marks[m].at < to; m++ {
			next.marks = append(next.marks, mark{out.Len() + s.marks[m].at - from, s.marks[m].orig})
		}
		out.Write(s.text[from:to])
	}
	pos := 0
	for _, e := range edits {
		keep(pos, e.start)
		out.Write(e.with)
		pos = e.end
	}
	keep(pos, len(s.text))
	next.text = out.Bytes()
	return next
}
