package markdown

import (
	"regexp"
	"strings"
	"unicode"

	"github.com/yuin/goldmark/ast"
	east "github.com/yuin/goldmark/extension/ast"
)

// Slug is the id of a heading: lower case, every run of what is neither letter, mark nor digit (of any script) becomes one hyphen. Links to
// headings go through it too, so that [[Note#A heading!]] and the heading meet.
func Slug(heading string) string {
	var b strings.Builder
	gap := false
	for _, r := range strings.ToLower(heading) {
		if unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r) {
			if gap && b.Len() > 0 {
				b.WriteByte('-')
			}
			gap = false
			b.WriteRune(r)
			continue
		}
		gap = true
	}
	return b.String()
}

// fragmentID gives the id that a link's fragment (A, A#B or ^block) points at.
func fragmentID(fragment string) string {
	if i := strings.LastIndexByte(fragment, '#'); i >= 0 {
		fragment = fragment[i+1:]
	}
	if strings.HasPrefix(fragment, "^") {
		return fragment
	}
	return Slug(fragment)
}

var blockIDPattern = regexp.MustCompile(`(?:^|[ \t])\^([A-Za-z0-9-]+)[ \t]*$`)

// setBlockIDs takes ^ids at the ends of blocks out of the text and makes them ids.
func setBlockIDs(doc ast.Node, src []byte) {
	for _, n := range collect(doc, ast.KindParagraph, ast.KindTextBlock, east.KindTableRow) {
		if row, ok := n.(*east.TableRow); ok {
			rowBlockID(row, src)
			continue
		}
		last, ok := n.LastChild().(*ast.Text)
		if !ok {
			continue
		}
		value := last.Segment.Value(src)
		m := blockIDPattern.FindSubmatchIndex(value)
		if m == nil {
			continue
		}
		id := "^" + string(value[m[2]:m[3]])
		before := last.PreviousSibling()
		ownLine := m[0] == 0 && (before == nil || endsLine(before))
		if m[0] == 0 {
			n.RemoveChild(n, last)
			if t, ok := before.(*ast.Text); ok {
				t.SetSoftLineBreak(false)
				t.SetHardLineBreak(false)
			}
		} else {
			last.Segment.Stop = last.Segment.Start + m[0] - last.Segment.Padding
		}
		target := idTarget(n, ownLine)
		if !n.HasChildren() {
			n.Parent().RemoveChild(n.Parent(), n)
		}
		if target != nil {
			if _, taken := target.AttributeString("id"); !taken {
				target.SetAttributeString("id", []byte(id))
			}
		}
	}
}

func endsLine(n ast.Node) bool {
	t, ok := n.(*ast.Text)
	return ok && (t.SoftLineBreak() || t.HardLineBreak())
}

// idTarget finds the block that an id at the end of n names: alone on its line it names what stands before it (a list, a table, the quote it
// lazily continues), in a list item the item, and else its own paragraph.
func idTarget(n ast.Node, ownLine bool) ast.Node {
	if !n.HasChildren() {
		return n.PreviousSibling()
	}
	if _, ok := n.Parent().(*ast.ListItem); ok {
		return n.Parent()
	}
	target := n
	if ownLine {
		for p := n; p.Parent() != nil && p.NextSibling() == nil; p = p.Parent() {
			if k := p.Parent().Kind(); k == kindCallout || k == ast.KindBlockquote {
				target = p.Parent()
			}
		}
	}
	return target
}

// rowBlockID handles an id directly under a table, which reads as the table's last row.
func rowBlockID(row *east.TableRow, src []byte) {
	if row.NextSibling() != nil || row.FirstChild() == nil {
		return
	}
	value := blockIDPattern.FindSubmatch([]byte(strings.TrimSpace(nodeText(row, src))))
	if value == nil || len(value[0]) != len(strings.TrimSpace(nodeText(row, src))) {
		return
	}
	table := row.Parent()
	table.RemoveChild(table, row)
	table.SetAttributeString("id", append([]byte("^"), value[1]...))
}

// nodeText is the text of a node as the author wrote it, for finding headings; it is never shown.
func nodeText(n ast.Node, src []byte) string {
	var b strings.Builder
	_ = ast.Walk(n, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		switch n := n.(type) {
		case *ast.Text:
			b.Write(n.Segment.Value(src))
			if n.SoftLineBreak() || n.HardLineBreak() {
				b.WriteByte(' ')
			}
		case *ast.String:
			b.Write(n.Value)
		case *wikiLink:
			b.WriteString(strings.TrimSpace(n.target + " " + n.fragment + " " + n.alias))
		case *tag:
			b.WriteString("#" + n.name)
		case *math:
			b.Write(n.formula)
		case *ast.AutoLink:
			b.Write(n.Label(src))
		}
		return ast.WalkContinue, nil
	})
	return b.String()
}

// flatten bounds how deep inline elements nest: *a **b *c … would else grow as deep as the text is long.
func flatten(n ast.Node, depth int) {
	for c := n.FirstChild(); c != nil; {
		next := c.NextSibling()
		if depth > 2*maxNesting && c.Type() == ast.TypeInline && c.HasChildren() {
			first := c.FirstChild()
			for g := c.FirstChild(); g != nil; {
				after := g.NextSibling()
				n.InsertBefore(n, c, g)
				g = after
			}
			n.RemoveChild(n, c)
			next = first
		} else {
			flatten(c, depth+1)
		}
		c = next
	}
}

// dropTitle removes a first heading that repeats the page's own.
func dropTitle(doc ast.Node, src []byte, title string) {
	h, ok := doc.FirstChild().(*ast.Heading)
	if ok && h.Level == 1 && title != "" && strings.EqualFold(strings.TrimSpace(nodeText(h, src)), strings.TrimSpace(title)) {
		doc.RemoveChild(doc, h)
	}
}
