package markdown

import (
	"github.com/yuin/goldmark/ast"
	east "github.com/yuin/goldmark/extension/ast"
)

// pick keeps of a note only the part that a fragment names: a heading with what belongs to it, or one block. It reports false, and the tree
// is of no use, when there is no such part.
func pick(doc ast.Node, src []byte, fragment string) bool {
	var part []ast.Node
	id := fragmentID(fragment)
	if id == "" {
		return false
	}
	if id[0] == '^' {
		if n := blockWithID(doc, id); n != nil {
			part = []ast.Node{n}
		}
	} else {
		part = headingPart(doc, src, id)
	}
	if part == nil {
		return false
	}
	var notes ast.Node
	if list := doc.LastChild(); list != nil && list.Kind() == east.KindFootnoteList {
		notes = list
	}
	doc.RemoveChildren(doc)
	used := map[int]bool{}
	for _, n := range part {
		if n.Parent() != nil {
			n.Parent().RemoveChild(n.Parent(), n)
		}
		doc.AppendChild(doc, n)
		for _, link := range collect(n, east.KindFootnoteLink) {
			used[link.(*east.FootnoteLink).Index] = true
		}
	}
	keepFootnotes(doc, notes, used)
	return true
}

// keepFootnotes puts back the footnotes that the part refers to.
func keepFootnotes(doc, notes ast.Node, used map[int]bool) {
	if notes == nil || len(used) == 0 {
		return
	}
	for _, n := range collect(notes, east.KindFootnote) {
		if !used[n.(*east.Footnote).Index] {
			notes.RemoveChild(notes, n)
		}
	}
	doc.AppendChild(doc, notes)
}

func blockWithID(doc ast.Node, id string) ast.Node {
	var found ast.Node
	_ = ast.Walk(doc, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if v, ok := n.AttributeString("id"); ok && entering {
			if b, ok := v.([]byte); ok && string(b) == id {
				found = n
				return ast.WalkStop, nil
			}
		}
		return ast.WalkContinue, nil
	})
	if item, ok := found.(*ast.ListItem); ok {
		list := item.Parent().(*ast.List)
		alone := ast.NewList(list.Marker)
		alone.IsTight, alone.Start = list.IsTight, list.Start
		alone.AppendChild(alone, item)
		return alone
	}
	return found
}

func headingPart(doc ast.Node, src []byte, id string) []ast.Node {
	var part []ast.Node
	level := 0
	for n := doc.FirstChild(); n != nil; n = n.NextSibling() {
		h, ok := n.(*ast.Heading)
		if level > 0 && (ok && h.Level <= level || n.Kind() == east.KindFootnoteList) {
			break
		}
		if level == 0 && ok && Slug(nodeText(h, src)) == id {
			level = h.Level
		}
		if level > 0 {
			part = append(part, n)
		}
	}
	return part
}
