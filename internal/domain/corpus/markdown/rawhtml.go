package markdown

import (
	"bytes"
	"html"
	"regexp"
	"strconv"
	"strings"

	"github.com/yuin/goldmark/ast"
	nethtml "golang.org/x/net/html"
)

// Raw HTML is rewritten token by token: only what is listed here comes through, addresses are decided by the Resolver as everywhere, and
// every tag is marked as the author's by a prefix of its name, so that finish can see that it closes nothing of ours.
const userMark = "u-"

// hiddenElement stands for an element whose content must not be shown, such as script; finish drops it with all it holds.
const hiddenElement = "x-hidden"

// rawElements maps the elements an author may write to the ones they become.
func rawElement(name string) string {
	switch name {
	case "abbr", "b", "bdi", "bdo", "blockquote", "br", "caption", "cite", "code", "col", "colgroup", "dd", "del", "details", "dfn", "div", "dl",
		"dt", "em", "figcaption", "figure", "h1", "h2", "h3", "h4", "h5", "h6", "hr", "i", "ins", "kbd", "li", "mark", "ol", "p", "pre", "q",
		"rp", "rt", "ruby", "s", "samp", "small", "span", "strong", "sub", "summary", "sup", "table", "tbody", "td", "tfoot", "th", "thead",
		"time", "tr", "u", "ul", "var", "wbr":
		return name
	case "center", "section", "article", "aside", "header", "footer", "main", "nav", "address":
		return "div" // landmarks of ours are not the author's to set
	case "font", "big":
		return "span"
	case "strike":
		return "s"
	case "tt":
		return "code"
	}
	return ""
}

func isHidden(name string) bool {
	switch name {
	case "script", "style", "svg", "math", "template", "noscript", "head", "title", "select", "canvas":
		return true
	}
	return false
}

// loaders are the elements that fetch from an address; they become links to it, or a picture of our own.
func loaderAddress(name string) string {
	switch name {
	case "img", "iframe", "video", "audio", "source", "embed", "track", "frame":
		return "src"
	case "object":
		return "data"
	}
	return ""
}

// filtered rewrites raw HTML.
func (p *page) filtered(raw []byte, f frame) (ast.Node, error) {
	var out bytes.Buffer
	z := nethtml.NewTokenizer(bytes.NewReader(raw))
	hidden := 0
	for {
		kind := z.Next()
		if kind == nethtml.ErrorToken {
			break
		}
		t := z.Token()
		switch kind {
		case nethtml.TextToken:
			if hidden == 0 {
				out.WriteString(html.EscapeString(t.Data))
			}
		case nethtml.EndTagToken:
			if isHidden(t.Data) {
				hidden = max(hidden-1, 0)
				out.WriteString("</" + userMark + hiddenElement + ">")
			} else if name := rawElement(t.Data); name != "" || t.Data == "a" {
				out.WriteString("</" + userMark + orName(name, "a") + ">")
			}
		case nethtml.StartTagToken, nethtml.SelfClosingTagToken:
			if isHidden(t.Data) {
				if kind == nethtml.StartTagToken {
					hidden++
					out.WriteString("<" + userMark + hiddenElement + ">")
				}
				continue
			}
			if err := p.rawTag(&out, z, t, f); err != nil {
				return nil, err
			}
		}
	}
	return &markup{inlineNode: inline(kindMarkup), html: out.String()}, nil
}

func orName(name, other string) string {
	if name == "" {
		return other
	}
	return name
}

func (p *page) rawTag(out *bytes.Buffer, z *nethtml.Tokenizer, t nethtml.Token, f frame) error {
	if attr := loaderAddress(t.Data); attr != "" {
		if t.Data == "iframe" {
			z.NextIsNotRawText()
		}
		n, err := p.loader(t, attr, f)
		if err != nil || n == nil {
			return err
		}
		writeInline(out, n)
		return nil
	}
	if t.Data == "a" {
		n, err := p.decideLink(value(t, "href"), f)
		if a, ok := n.(*anchor); ok && err == nil && value(t, "href") != "" {
			out.WriteString("<" + userMark + `a href="` + html.EscapeString(a.href) + `"`)
			if a.class != "" {
				out.WriteString(` class="` + a.class + `"`)
			}
			out.WriteString(">")
		}
		return err
	}
	name := rawElement(t.Data)
	if name == "" {
		return nil
	}
	out.WriteString("<" + userMark + name)
	for _, a := range t.Attr {
		if v, ok := rawAttribute(name, a.Key, a.Val); ok {
			out.WriteString(" " + a.Key + `="` + html.EscapeString(v) + `"`)
		}
	}
	out.WriteString(">")
	return nil
}

// loader decides an element that would fetch something; nil when it names no address (a video with source elements inside).
func (p *page) loader(t nethtml.Token, attr string, f frame) (ast.Node, error) {
	dest := strings.TrimSpace(value(t, attr))
	words := strings.TrimSpace(orName(value(t, "alt"), value(t, "title")))
	if dest == "" {
		return nil, nil
	}
	if t.Data != "img" {
		if isInternal(dest) {
			target, _ := splitInternal(dest)
			file, ok, err := p.file(target, f)
			if err != nil || !ok {
				return p.missing(words, baseName(target), p.words.MissingFile), err
			}
			return fileNode(file, words, "", false), nil
		}
		return p.remote(dest, words), nil
	}
	n, err := p.decideImage(dest, words, value(t, "title"), f)
	if pic, ok := n.(*picture); ok {
		pic.width, _ = strconv.Atoi(value(t, "width"))
		pic.height, _ = strconv.Atoi(value(t, "height"))
	}
	return n, err
}

func value(t nethtml.Token, key string) string {
	for _, a := range t.Attr {
		if a.Key == key {
			return a.Val
		}
	}
	return ""
}

var (
	numberPattern = regexp.MustCompile(`^\d{1,4}$`)
	timePattern   = regexp.MustCompile(`^[0-9TZ:.+ -]{1,40}$`)
)

// rawAttribute tells which attributes come through. class, style, id, lang and every on… stay behind.
func rawAttribute(element, key, val string) (string, bool) {
	switch key {
	case "title":
		return val, element == "abbr" || element == "dfn" || element == "span"
	case "dir":
		return val, val == "ltr" || val == "rtl" || val == "auto"
	case "open":
		return "", element == "details"
	case "reversed":
		return "", element == "ol"
	case "start":
		return val, element == "ol" && numberPattern.MatchString(val)
	case "value":
		return val, element == "li" && numberPattern.MatchString(val)
	case "colspan", "rowspan":
		return val, (element == "td" || element == "th") && numberPattern.MatchString(val)
	case "datetime":
		return val, element == "time" && timePattern.MatchString(val)
	case "align":
		return val, val == "left" || val == "right" || val == "center"
	}
	return "", false
}
