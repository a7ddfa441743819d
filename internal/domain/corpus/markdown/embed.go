package markdown

import (
	"bytes"
	"html"
	"slices"
	"strconv"
	"strings"

	"github.com/yuin/goldmark/ast"
)

// Bounds on embedding, for one page. They end what Obsidian would go on with, and say so in its place.
const (
	MaxEmbedDepth = 5
	MaxEmbeds     = 100
	MaxEmbedBytes = 1 << 20 // of embedded source
)

// embedNotes renders ![[Note]], ![[Note#Heading]] and ![[Note#^block]] where they stand in a paragraph or list item of their own or between
// words, which they split. Elsewhere (in a heading, a table) they stay links.
func (p *page) embedNotes(doc ast.Node, f frame) error {
	type pair struct{ link, block ast.Node }
	var pairs []pair
	for _, n := range collect(doc, kindWikiLink) {
		link := n.(*wikiLink)
		k := link.Parent().Kind()
		if !link.embed || NamesFile(link.target) || (k != ast.KindParagraph && k != ast.KindTextBlock) {
			continue
		}
		e, err := p.embedded(link, f)
		if err != nil {
			return err
		}
		if e != nil {
			pairs = append(pairs, pair{link, e})
		}
	}
	for i := len(pairs) - 1; i >= 0; i-- { // from behind, so that each split moves only what lies before the next
		splitAround(pairs[i].link, pairs[i].block)
	}
	return nil
}

// splitAround puts a block in place of an inline node, cutting its paragraph in two.
func splitAround(n, e ast.Node) {
	before := n.Parent()
	container := before.Parent()
	var after ast.Node = ast.NewParagraph()
	if before.Kind() == ast.KindTextBlock {
		after = ast.NewTextBlock()
	}
	if t, ok := n.PreviousSibling().(*ast.Text); ok {
		t.SetSoftLineBreak(false)
	}
	for c := n.NextSibling(); c != nil; {
		next := c.NextSibling()
		after.AppendChild(after, c)
		c = next
	}
	before.RemoveChild(before, n)
	container.InsertAfter(container, before, e)
	if hasWords(after) {
		container.InsertAfter(container, e, after)
	}
	if !hasWords(before) {
		if id, ok := before.AttributeString("id"); ok {
			e.SetAttributeString("id", id)
		}
		container.RemoveChild(container, before)
	}
}

// hasWords is false for a paragraph in which only an empty text is left, which carries the line break behind an embed.
func hasWords(n ast.Node) bool {
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		if t, ok := c.(*ast.Text); !ok || !t.Segment.IsEmpty() {
			return true
		}
	}
	return false
}

// embedded renders the note that a link embeds; nil leaves the link to be decided as a link that does not resolve.
func (p *page) embedded(link *wikiLink, f frame) (ast.Node, error) {
	note, body, ok, err := p.embedBody(link, f)
	if err != nil || !ok {
		return nil, err
	}
	e := &embed{blockNode: block(kindEmbed), href: withFragment(note.Href, link.fragment), title: note.Title}
	if link.alias != "" {
		e.title = link.alias
	}
	if p.plain {
		return e, nil
	}
	key := note.ID + "#" + fragmentID(link.fragment)
	if slices.Contains(f.open, key) {
		e.html = notice(p.words.Loop)
		return e, nil
	}
	p.embeds++
	p.bytes += len(body)
	if len(f.open) > MaxEmbedDepth || p.embeds > MaxEmbeds || p.bytes > MaxEmbedBytes {
		e.html = notice(p.words.TooMany)
		return e, nil
	}
	doc, src := p.renderer.parse(body)
	if link.fragment != "" && !pick(doc, src.text, link.fragment) {
		return nil, nil
	}
	doc.Meta()[footnotePrefix] = "e" + strconv.Itoa(p.embeds) + "-"
	inner := frame{from: note.ID, href: note.Href, open: append(slices.Clone(f.open), key)}
	if err := p.resolve(doc, src.text, inner); err != nil {
		return nil, err
	}
	var out bytes.Buffer
	if err := p.renderer.html.Render(&out, src.text, doc); err != nil {
		return nil, err
	}
	e.html = out.Bytes()
	return e, nil
}

func (p *page) embedBody(link *wikiLink, f frame) (note Note, body string, ok bool, err error) {
	if link.target == "" {
		note = Note{ID: f.from, Href: f.href}
	} else if note, ok, err = p.note(strings.TrimSuffix(link.target, ".md"), f); err != nil || !ok {
		return note, "", false, err
	}
	if link.target == "" && f.href == "" {
		return note, p.own, true, nil
	}
	if note.ID == "" || p.opts.Resolver == nil {
		return note, "", false, nil
	}
	body, ok, err = p.opts.Resolver.Body(p.ctx, note.ID)
	return note, body, ok, err
}

func notice(words string) []byte {
	return []byte(`<p class="notice">` + html.EscapeString(words) + `</p>`)
}

// footnotePrefix is the document's entry that keeps the footnote ids of embedded notes apart.
const footnotePrefix = "footnote-prefix"

func footnoteIDPrefix(n ast.Node) []byte {
	if doc := n.OwnerDocument(); doc != nil {
		if prefix, ok := doc.Meta()[footnotePrefix].(string); ok {
			return []byte(prefix)
		}
	}
	return nil
}
