package markdown

import (
	"bytes"
	"strconv"

	"github.com/yuin/goldmark/ast"
)

var (
	percents  = []byte("%%")
	htmlOpen  = []byte("<!--")
	htmlClose = []byte("-->")
)

// commentEnd gives the end of the comment that opens at start. What opened it closes it, whatever stands between, fenced code
// included; a comment that is never closed reaches to the end of the note (field case F43).
func commentEnd(text []byte, start int) int {
	opener, closer := percents, percents
	if bytes.HasPrefix(text[start:], htmlOpen) {
		opener, closer = htmlOpen, htmlClose
	}
	inner := start + len(opener)
	if i := bytes.Index(text[inner:], closer); i >= 0 {
		return inner + i + len(closer)
	}
	return len(text)
}

func hasComment(text []byte) bool {
	return bytes.Contains(text, percents) || bytes.Contains(text, htmlOpen)
}

// withoutComments cuts the comments that scan finds.
func withoutComments(s source) source {
	if !hasComment(s.text) {
		return s
	}
	var edits []edit
	for _, r := range scan(s.text) {
		if r.kind == commentRegion {
			edits = append(edits, edit{start: r.start, end: r.end})
		}
	}
	return s.splice(edits)
}

// Bounds on inline footnotes: bytes in one, and how many; the footnote parser searches its definitions one by one.
const (
	maxInlineNote  = 4 << 10
	maxInlineNotes = 1000
)

// withFootnotes rewrites inline footnotes, ^[text], as a reference and a definition at the end, which the footnote parser knows.
func withFootnotes(s source) source {
	if !bytes.Contains(s.text, []byte("^[")) {
		return s
	}
	regions := scan(s.text)
	inCode := func(at int) (int, bool) {
		for len(regions) > 0 && regions[0].end <= at {
			regions = regions[1:]
		}
		if len(regions) > 0 && regions[0].start <= at {
			return regions[0].end, true
		}
		return 0, false
	}
	var edits []edit
	var definitions bytes.Buffer
	for i := 0; i+1 < len(s.text) && len(edits) < maxInlineNotes; i++ {
		if end, ok := inCode(i); ok {
			i = end - 1
			continue
		}
		if s.text[i] != '^' || s.text[i+1] != '[' || (i > 0 && (s.text[i-1] == '\\' || s.text[i-1] == '[')) {
			continue
		}
		end := closingBracket(s.text[:min(len(s.text), i+maxInlineNote)], i+2)
		if end < 0 || end == i+2 {
			continue
		}
		label := "[^inline note " + strconv.Itoa(len(edits)+1) + "]"
		edits = append(edits, edit{start: i, end: end + 1, with: []byte(label)})
		definitions.WriteString("\n\n" + label + ": ")
		definitions.Write(s.text[i+2 : end])
		i = end
	}
	if len(edits) == 0 {
		return s
	}
	definitions.WriteByte('\n')
	return s.splice(append(edits, edit{start: len(s.text), end: len(s.text), with: definitions.Bytes()}))
}

// closingBracket finds the ] that closes a bracket opened before from, on the same line; -1 if there is none.
func closingBracket(text []byte, from int) int {
	depth := 1
	for i := from; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case '\n':
			return -1
		case '[':
			depth++
		case ']':
			if depth--; depth == 0 {
				return i
			}
		}
	}
	return -1
}

// leak finds the first comment opener that the parser does not see as code. scan works on lines and may take for code what the
// parser, which knows all of CommonMark's containers, does not; the parser has the last word, and doubt hides.
func leak(doc ast.Node, text []byte) int {
	if !hasComment(text) {
		return -1
	}
	code := codeRegions(doc)
	for at := range text {
		if c := text[at]; (c != '%' || !bytes.HasPrefix(text[at:], percents)) && (c != '<' || !bytes.HasPrefix(text[at:], htmlOpen)) {
			continue
		}
		for len(code) > 0 && code[0].end <= at {
			code = code[1:]
		}
		if len(code) == 0 || code[0].start > at {
			return at
		}
	}
	return -1
}

// codeRegions lists the source ranges of code, in order.
func codeRegions(doc ast.Node) []region {
	var regions []region
	add := func(start, stop int) {
		regions = append(regions, region{kind: codeRegion, start: start, end: stop})
	}
	_ = ast.Walk(doc, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		switch n.Kind() {
		case ast.KindCodeBlock, ast.KindFencedCodeBlock:
			for i := range n.Lines().Len() {
				line := n.Lines().At(i)
				add(line.Start, line.Stop)
			}
		case ast.KindCodeSpan:
			for c := n.FirstChild(); c != nil; c = c.NextSibling() {
				if t, ok := c.(*ast.Text); ok {
					add(t.Segment.Start, t.Segment.Stop)
				}
			}
		}
		return ast.WalkContinue, nil
	})
	sortRegions(regions)
	return regions
}
