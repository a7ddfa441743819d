package markdown

import (
	"regexp"
	"strings"
	"unicode"

	"github.com/yuin/goldmark/ast"
)

var calloutPattern = regexp.MustCompile(`^\s*\[!([^\]\n|]+)(?:\|[^\]\n]*)?\]([+-]?)[ \t]*`)

// calloutSort maps a type as written to the one of thirteen that is styled; unknown types look like a note, as in Obsidian.
func calloutSort(written string) string {
	switch written {
	case "abstract", "summary", "tldr":
		return "abstract"
	case "info", "todo", "bug", "example":
		return written
	case "tip", "hint", "important":
		return "tip"
	case "success", "check", "done":
		return "success"
	case "question", "help", "faq":
		return "question"
	case "warning", "caution", "attention":
		return "warning"
	case "failure", "fail", "missing":
		return "failure"
	case "danger", "error":
		return "danger"
	case "quote", "cite":
		return "quote"
	}
	return "note"
}

// makeCallouts turns quotes that begin with [!type] into callouts.
func makeCallouts(doc ast.Node, src []byte) {
	for _, n := range collect(doc, ast.KindBlockquote) {
		p, ok := n.FirstChild().(*ast.Paragraph)
		if !ok || p.Lines().Len() == 0 {
			continue
		}
		line := p.Lines().At(0)
		m := calloutPattern.FindSubmatchIndex(line.Value(src))
		if m == nil {
			continue
		}
		value := line.Value(src)
		written := strings.TrimSpace(string(value[m[2]:m[3]]))
		c := &callout{blockNode: block(kindCallout), sort: calloutSort(strings.ToLower(written))}
		if m[4] < m[5] {
			c.fold = value[m[4]]
		}
		title := &calloutTitle{blockNode: block(kindCalloutTitle), words: sentence(written)}
		takeTitle(p, title, line.Start-line.Padding+m[1])
		c.AppendChild(c, title)
		if !p.HasChildren() {
			n.RemoveChild(n, p)
		}
		moveChildren(n, c)
		n.Parent().ReplaceChild(n.Parent(), n, c)
	}
}

// takeTitle drops the [!type] that ends at offset end and moves the rest of the first line into the title.
func takeTitle(p *ast.Paragraph, title *calloutTitle, end int) {
	for c := p.FirstChild(); c != nil; {
		next := c.NextSibling()
		stop := false
		if t, ok := c.(*ast.Text); ok {
			stop = t.SoftLineBreak() || t.HardLineBreak()
			if t.Segment.Start < end {
				t.Segment.Start = min(end, t.Segment.Stop)
			}
			t.SetSoftLineBreak(false)
			t.SetHardLineBreak(false)
			if t.Segment.IsEmpty() {
				p.RemoveChild(p, c)
			} else {
				title.AppendChild(title, c)
			}
		} else if c.Pos() >= 0 && c.Pos() < end {
			p.RemoveChild(p, c) // [!note] happened to be a link reference
		} else {
			title.AppendChild(title, c)
		}
		if stop {
			return
		}
		c = next
	}
}

// sentence writes a type such as "tip" or "my-type" as a title.
func sentence(s string) string {
	s = strings.ReplaceAll(s, "-", " ")
	for i, r := range s {
		if i == 0 {
			return string(unicode.ToUpper(r)) + s[len(string(r)):]
		}
	}
	return s
}

// collect lists the nodes of one kind in document order, so that the tree may be changed while they are visited.
func collect(doc ast.Node, kinds ...ast.NodeKind) []ast.Node {
	var found []ast.Node
	_ = ast.Walk(doc, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if entering {
			for _, k := range kinds {
				if n.Kind() == k {
					found = append(found, n)
				}
			}
		}
		return ast.WalkContinue, nil
	})
	return found
}

func moveChildren(from, to ast.Node) {
	for c := from.FirstChild(); c != nil; {
		next := c.NextSibling()
		to.AppendChild(to, c)
		c = next
	}
}
