package markdown

import (
	"bytes"
	"html"
	"io"
	"strconv"

	"github.com/yuin/goldmark/ast"
	east "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/renderer"
	"github.com/yuin/goldmark/util"
)

// nodeRenderer writes the nodes of this package, and those of goldmark that need a form of their own. It keeps no state.
type nodeRenderer struct{}

func (r nodeRenderer) RegisterFuncs(reg renderer.NodeRendererFuncRegisterer) {
	for _, k := range []ast.NodeKind{kindTag, kindMath, kindTask, kindPicture, kindMarkup} {
		reg.Register(k, leaf)
	}
	reg.Register(kindSpan, r.span)
	reg.Register(kindAnchor, r.anchor)
	reg.Register(kindMathBlock, r.mathBlock)
	reg.Register(kindCallout, r.callout)
	reg.Register(kindCalloutTitle, r.calloutTitle)
	reg.Register(kindEmbed, r.embed)
	reg.Register(ast.KindFencedCodeBlock, r.code)
	reg.Register(ast.KindCodeBlock, r.code)
	reg.Register(east.KindTableCell, r.tableCell)
}

func leaf(w util.BufWriter, _ []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	if entering {
		writeInline(w, n)
	}
	return ast.WalkSkipChildren, nil
}

// writeInline writes a node without children.
func writeInline(w io.Writer, n ast.Node) {
	var out bytes.Buffer
	switch n := n.(type) {
	case *tag:
		name := "#" + html.EscapeString(n.name)
		if n.href == "" {
			out.WriteString(`<span class="tag">` + name + `</span>`)
		} else {
			out.WriteString(`<a class="tag" href="` + html.EscapeString(n.href) + `">` + name + `</a>`)
		}
	case *math:
		class := "math"
		if n.display {
			class = "math display"
		}
		out.WriteString(`<code class="` + class + `">` + html.EscapeString(string(n.formula)) + `</code>`)
	case *task:
		out.WriteString(`<input type="checkbox" disabled=""`)
		if n.done {
			out.WriteString(` checked=""`)
		}
		out.WriteString(` aria-label="` + html.EscapeString(n.label) + `"> `)
	case *picture:
		out.WriteString(`<img src="` + html.EscapeString(n.src) + `" alt="` + html.EscapeString(n.alt) + `" loading="lazy"`)
		if n.title != "" {
			out.WriteString(` title="` + html.EscapeString(n.title) + `"`)
		}
		if n.width > 0 {
			out.WriteString(` width="` + strconv.Itoa(n.width) + `"`)
		}
		if n.height > 0 {
			out.WriteString(` height="` + strconv.Itoa(n.height) + `"`)
		}
		out.WriteString(">")
	case *markup:
		out.WriteString(n.html)
	case *anchor:
		out.WriteString(anchorStart(n) + html.EscapeString(n.words) + "</a>")
	}
	_, _ = w.Write(out.Bytes())
}

func anchorStart(n *anchor) string {
	s := `<a href="` + html.EscapeString(n.href) + `"`
	if n.class != "" {
		s += ` class="` + n.class + `"`
	}
	return s + ">"
}

func (nodeRenderer) anchor(w util.BufWriter, _ []byte, node ast.Node, entering bool) (ast.WalkStatus, error) {
	n := node.(*anchor)
	if entering {
		_, _ = w.WriteString(anchorStart(n))
		return ast.WalkContinue, nil
	}
	if !n.HasChildren() {
		_, _ = w.WriteString(html.EscapeString(n.words))
	}
	_, _ = w.WriteString("</a>")
	return ast.WalkContinue, nil
}

func (nodeRenderer) span(w util.BufWriter, _ []byte, node ast.Node, entering bool) (ast.WalkStatus, error) {
	slash := ""
	if !entering {
		slash = "/"
	}
	_, _ = w.WriteString("<" + slash + node.(*span).element + ">")
	return ast.WalkContinue, nil
}

func (nodeRenderer) mathBlock(w util.BufWriter, src []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	if entering {
		_, _ = w.WriteString(`<pre class="math display"` + idOf(n) + `><code>`)
		_, _ = w.WriteString(html.EscapeString(string(bytes.Trim(n.Lines().Value(src), "\n"))))
		_, _ = w.WriteString("</code></pre>\n")
	}
	return ast.WalkContinue, nil
}

func (nodeRenderer) callout(w util.BufWriter, _ []byte, node ast.Node, entering bool) (ast.WalkStatus, error) {
	n := node.(*callout)
	element, attrs := "div", ` role="note"`
	if n.fold != 0 {
		element, attrs = "details", ""
		if n.fold == '+' {
			attrs = ` open=""`
		}
	}
	if entering {
		_, _ = w.WriteString("<" + element + ` class="callout callout-` + n.sort + `"` + attrs + idOf(n) + ">\n")
	} else {
		_, _ = w.WriteString("</" + element + ">\n")
	}
	return ast.WalkContinue, nil
}

func (nodeRenderer) calloutTitle(w util.BufWriter, _ []byte, node ast.Node, entering bool) (ast.WalkStatus, error) {
	n := node.(*calloutTitle)
	element := "p"
	if c, ok := n.Parent().(*callout); ok && c.fold != 0 {
		element = "summary"
	}
	if entering {
		_, _ = w.WriteString("<" + element + ` class="callout-title">`)
		if !n.HasChildren() {
			_, _ = w.WriteString(html.EscapeString(n.words))
		}
	} else {
		_, _ = w.WriteString("</" + element + ">\n")
	}
	return ast.WalkContinue, nil
}

func (nodeRenderer) embed(w util.BufWriter, _ []byte, node ast.Node, entering bool) (ast.WalkStatus, error) {
	n := node.(*embed)
	if !entering {
		return ast.WalkContinue, nil
	}
	_, _ = w.WriteString(`<div class="embed"` + idOf(n) + ">\n")
	if n.title != "" && n.href != "" {
		_, _ = w.WriteString(`<p class="embed-title"><a href="` + html.EscapeString(n.href) + `">` + html.EscapeString(n.title) + "</a></p>\n")
	}
	_, _ = w.Write(n.html)
	_, _ = w.WriteString("</div>\n")
	return ast.WalkContinue, nil
}

// tableCell aligns by class, since the page's policy allows no style, and makes empty header cells plain ones, which screen readers skip.
func (nodeRenderer) tableCell(w util.BufWriter, _ []byte, node ast.Node, entering bool) (ast.WalkStatus, error) {
	n := node.(*east.TableCell)
	element := "td"
	if n.Parent().Kind() == east.KindTableHeader && n.HasChildren() {
		element = "th"
	}
	if !entering {
		_, _ = w.WriteString("</" + element + ">\n")
		return ast.WalkContinue, nil
	}
	_, _ = w.WriteString("<" + element)
	if element == "th" {
		_, _ = w.WriteString(` scope="col"`)
	}
	if n.Alignment != east.AlignNone {
		_, _ = w.WriteString(` class="align-` + n.Alignment.String() + `"`)
	}
	_, _ = w.WriteString(">")
	return ast.WalkContinue, nil
}

func idOf(n ast.Node) string {
	if v, ok := n.AttributeString("id"); ok {
		if id, ok := v.([]byte); ok {
			return ` id="` + html.EscapeString(string(id)) + `"`
		}
	}
	return ""
}
