package markdown

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/microcosm-cc/bluemonday"
	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/renderer"
	"github.com/yuin/goldmark/renderer/html"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

// MaxSource is the largest note that is rendered, in bytes. The longest books are below it.
const MaxSource = 2 << 20

// ErrTooLarge is returned for a source above MaxSource.
var ErrTooLarge = errors.New("markdown: the note is larger than 2 MiB")

// Renderer holds the parser and the policy, which are built once. It is safe for concurrent use.
type Renderer struct {
	parser parser.Parser
	html   renderer.Renderer
	policy *bluemonday.Policy
}

// Options say for whom and as what a note is rendered.
type Options struct {
	From     string   // the note's ID, given to the Resolver and used to see embedding loops
	Title    string   // the page's h1; a first heading that repeats it is left out
	Resolver Resolver // nil: nothing resolves
	Words    Words
	// ShowMissing shows the target's name where a link does not resolve. For the owner's own eyes only: visitors must not read the
	// titles of private notes (field case F45).
	ShowMissing bool
	// ReservedIDs are ids of the page around the note, which headings must not take.
	ReservedIDs []string
}

// Heading is an entry of the table of contents.
type Heading struct {
	Level int    // 2 to 6, without gaps: the page's title is level 1
	ID    string // the fragment, unescaped
	Text  string
}

// Page is all that is derived from a note for one reader.
type Page struct {
	HTML    string
	TOC     []Heading
	Text    string // plain text, a line a block, without the bodies of embedded notes
	Excerpt string // the start of the text's paragraphs, at most 200 characters, for descriptions
	Tags    []string
	Files   []File // attachments that the page shows or links
}

// New builds a Renderer.
func New() *Renderer {
	p := parser.NewParser(
		parser.WithBlockParsers(blockParsers()...),
		parser.WithInlineParsers(inlineParsers()...),
		parser.WithParagraphTransformers(util.Prioritized(boundedParagraphs{parser.LinkReferenceParagraphTransformer}, 100)),
	)
	md := goldmark.New(
		goldmark.WithParser(p),
		goldmark.WithRendererOptions(html.WithHardWraps(), renderer.WithNodeRenderers(util.Prioritized(nodeRenderer{}, 100))),
		goldmark.WithExtensions(
			extension.Table,
			extension.Linkify,
			extension.NewFootnote(extension.WithFootnoteIDPrefixFunction(footnoteIDPrefix)),
		),
	)
	return &Renderer{parser: md.Parser(), html: md.Renderer(), policy: newPolicy()}
}

// Render derives a page from a note's body (without front matter). Errors are ErrTooLarge and those of the Resolver.
func (r *Renderer) Render(ctx context.Context, body string, opts Options) (Page, error) {
	return r.render(ctx, body, opts, false)
}

// Plain is Render's Text, without the work of HTML that nobody sees. Links follow the same rule as on the page.
func (r *Renderer) Plain(ctx context.Context, body string, opts Options) (string, error) {
	page, err := r.render(ctx, body, opts, true)
	return page.Text, err
}

func (r *Renderer) render(ctx context.Context, body string, opts Options, plain bool) (Page, error) {
	if len(body) > MaxSource {
		return Page{}, ErrTooLarge
	}
	p := &page{
		ctx: ctx, renderer: r, opts: opts, words: opts.Words.withDefaults(), plain: plain, own: body,
		notes: map[lookup]found[Note]{}, files: map[lookup]found[File]{}, seenTag: map[string]bool{},
	}
	doc, src := r.parse(body)
	dropTitle(doc, src.text, opts.Title)
	if err := p.resolve(doc, src.text, frame{from: opts.From, open: []string{opts.From + "#"}}); err != nil {
		return Page{}, fmt.Errorf("resolve links: %w", err)
	}
	var raw bytes.Buffer
	if err := r.html.Render(&raw, src.text, doc); err != nil {
		return Page{}, fmt.Errorf("render markdown: %w", err)
	}
	f := newFinisher(p.words, opts.ReservedIDs)
	f.run(&raw)
	page := Page{TOC: f.toc, Text: f.plainText(), Excerpt: f.excerpt(), Tags: p.tags, Files: p.used}
	if !plain {
		page.HTML = r.policy.Sanitize(f.html())
	}
	return page, nil
}

// parse reads a note into a tree without comments, with callouts and block ids in place.
func (r *Renderer) parse(body string) (*ast.Document, source) {
	src := withTableLinks(withFootnotes(withoutComments(newSource(normalised(body)))))
	doc := r.tree(src)
	for round := 0; ; round++ {
		at := leak(doc, src.text)
		if at < 0 {
			break
		}
		end := commentEnd(src.text, at)
		if round > maxLeaks {
			end = len(src.text)
		}
		src = src.splice([]edit{{start: at, end: end}})
		doc = r.tree(src)
	}
	makeCallouts(doc, src.text)
	setBlockIDs(doc, src.text)
	flatten(doc, 0)
	return doc, src
}

// maxLeaks is how often a comment that scan took for code is cut alone; after that the rest of the note goes. Each costs a parse.
const maxLeaks = 16

func (r *Renderer) tree(src source) *ast.Document {
	return r.parser.Parse(text.NewReader(src.text)).(*ast.Document)
}

// normalised makes line ends uniform and replaces what no browser or database takes.
func normalised(body string) []byte {
	body = strings.ToValidUTF8(body, "\uFFFD")
	if strings.ContainsAny(body, "\r\x00") {
		body = strings.NewReplacer("\r\n", "\n", "\r", "\n", "\x00", "\uFFFD").Replace(body)
	}
	return []byte(body)
}
