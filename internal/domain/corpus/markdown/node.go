package markdown

import (
	"github.com/yuin/goldmark/ast"
)

// The nodes below are what Obsidian adds to CommonMark, and the forms that links take once the Resolver has spoken. After resolving, no
// ast.Link, ast.Image, ast.AutoLink, raw HTML or wikiLink is left in a tree: what is rendered was decided, and what was not decided fails.
var (
	kindWikiLink     = ast.NewNodeKind("WikiLink")
	kindTag          = ast.NewNodeKind("Tag")
	kindMath         = ast.NewNodeKind("Math")
	kindMathBlock    = ast.NewNodeKind("MathBlock")
	kindTask         = ast.NewNodeKind("Task")
	kindSpan         = ast.NewNodeKind("Span")
	kindCallout      = ast.NewNodeKind("Callout")
	kindCalloutTitle = ast.NewNodeKind("CalloutTitle")
	kindAnchor       = ast.NewNodeKind("Anchor")
	kindPicture      = ast.NewNodeKind("Picture")
	kindMarkup       = ast.NewNodeKind("Markup")
	kindEmbed        = ast.NewNodeKind("Embed")
)

type inlineNode struct {
	ast.BaseInline
	kind ast.NodeKind
}

func (n *inlineNode) Kind() ast.NodeKind     { return n.kind }
func (n *inlineNode) Dump(src []byte, l int) { ast.DumpHelper(n, src, l, nil, nil) }

type blockNode struct {
	ast.BaseBlock
	kind ast.NodeKind
}

func (n *blockNode) Kind() ast.NodeKind     { return n.kind }
func (n *blockNode) Dump(src []byte, l int) { ast.DumpHelper(n, src, l, nil, nil) }

// wikiLink is [[target#fragment|alias]], with a ! before it an embed.
type wikiLink struct {
	inlineNode
	target, fragment, alias string
	embed                   bool
	at                      int
}

// tag is #name, without the #.
type tag struct {
	inlineNode
	name, href string
}

// math is $…$ or, display, $$…$$ within a line.
type math struct {
	inlineNode
	formula []byte
	display bool
}

// mathBlock is $$…$$ over whole lines.
type mathBlock struct{ blockNode }

// IsRaw keeps formulas from being read as Markdown.
func (*mathBlock) IsRaw() bool { return true }

// task is the box of a task list's item.
type task struct {
	inlineNode
	done  bool
	label string
}

// span is an inline element without attributes, holding children: del, mark, or span for words that lost their link.
type span struct {
	inlineNode
	element string
}

// callout is a quote whose first line is [!type].
type callout struct {
	blockNode
	sort string
	fold byte // 0, '+' open, '-' closed
}

type calloutTitle struct {
	blockNode
	words string // shown when the author gave no title
}

// anchor is a link that resolved. Its words are its children, or else words.
type anchor struct {
	inlineNode
	href, words, class string
}

// picture is an image of our own.
type picture struct {
	inlineNode
	src, alt, title string
	width, height   int
}

// markup is ready HTML: filtered raw HTML, or a notice of ours.
type markup struct {
	inlineNode
	html string
}

// embed is another note's rendered body, or a part of it.
type embed struct {
	blockNode
	href, title string
	html        []byte
}

func inline(kind ast.NodeKind) inlineNode { return inlineNode{kind: kind} }
func block(kind ast.NodeKind) blockNode   { return blockNode{kind: kind} }
