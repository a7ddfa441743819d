package markdown

import (
	"bytes"
	"strings"

	"github.com/yuin/goldmark/ast"
	nethtml "golang.org/x/net/html"
)

// Ref is a link from a note to another note or to an attachment, as written.
type Ref struct {
	Target   string // without fragment; what Resolver.Note or Resolver.File is asked for
	Fragment string // heading or ^block; "" for none
	Alias    string // the author's words for it; "" for none
	Embed    bool   // shown in place, not only linked
	File     bool   // an attachment by its extension
	Line     int    // of the body, from 1
}

// Links lists the links within the vault, in order: wikilinks, Markdown links and images, and those in raw HTML. Links to other hosts and
// within the note itself are not among them; nor are those in comments or code.
func (r *Renderer) Links(body string) ([]Ref, error) {
	if len(body) > MaxSource {
		return nil, ErrTooLarge
	}
	doc, src := r.parse(body)
	refs := []Ref{}
	add := func(n ast.Node, ref Ref) {
		ref.Target = strings.TrimSuffix(ref.Target, ".md")
		ref.File = NamesFile(ref.Target) || (ref.File && ref.Embed)
		ref.Line = src.line(position(n))
		if ref.Target != "" {
			refs = append(refs, ref)
		}
	}
	for _, n := range collect(doc, kindWikiLink, ast.KindLink, ast.KindImage, ast.KindRawHTML, ast.KindHTMLBlock) {
		switch n := n.(type) {
		case *wikiLink:
			add(n, Ref{Target: n.target, Fragment: n.fragment, Alias: n.alias, Embed: n.embed})
		case *ast.Link:
			addInternal(add, n, string(n.Destination), Ref{Alias: nodeText(n, src.text)})
		case *ast.Image:
			addInternal(add, n, string(n.Destination), Ref{Alias: nodeText(n, src.text), Embed: true, File: true})
		case *ast.RawHTML:
			addRaw(add, n, n.Segments.Value(src.text))
		case *ast.HTMLBlock:
			addRaw(add, n, n.Lines().Value(src.text))
		}
	}
	return refs, nil
}

func addInternal(add func(ast.Node, Ref), n ast.Node, dest string, ref Ref) {
	if isInternal(dest) {
		ref.Target, ref.Fragment = splitInternal(dest)
		add(n, ref)
	}
}

func addRaw(add func(ast.Node, Ref), n ast.Node, raw []byte) {
	z := nethtml.NewTokenizer(bytes.NewReader(raw))
	for {
		switch z.Next() {
		case nethtml.ErrorToken:
			return
		case nethtml.StartTagToken, nethtml.SelfClosingTagToken:
			t := z.Token()
			if t.Data == "a" {
				addInternal(add, n, value(t, "href"), Ref{})
			} else if attr := loaderAddress(t.Data); attr != "" {
				addInternal(add, n, value(t, attr), Ref{Embed: true, File: true, Alias: value(t, "alt")})
			}
		}
	}
}

// position finds where a node stands in the source; inline nodes know it themselves, blocks by their first line.
func position(n ast.Node) int {
	switch n := n.(type) {
	case *wikiLink:
		return n.at
	case *ast.HTMLBlock:
		if n.Lines().Len() > 0 {
			return n.Lines().At(0).Start
		}
	}
	return max(n.Pos(), 0)
}
