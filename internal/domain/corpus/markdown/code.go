package markdown

import (
	"html"
	"regexp"
	"strings"
	"time"

	"github.com/alecthomas/chroma/v2"
	"github.com/alecthomas/chroma/v2/lexers"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/util"
)

// Bounds on highlighting one block. Lexers are regular expressions that can backtrack; a block beyond the bounds is shown plain.
const (
	maxHighlight     = 64 << 10 // bytes
	maxHighlightTime = 250 * time.Millisecond
)

var languagePattern = regexp.MustCompile(`^[a-z0-9+#._-]{1,40}$`)

func (nodeRenderer) code(w util.BufWriter, src []byte, node ast.Node, entering bool) (ast.WalkStatus, error) {
	if !entering {
		return ast.WalkContinue, nil
	}
	text := string(node.Lines().Value(src))
	language := ""
	if n, ok := node.(*ast.FencedCodeBlock); ok {
		language = strings.ToLower(string(n.Language(src)))
	}
	if !languagePattern.MatchString(language) {
		language = ""
	}
	_, _ = w.WriteString(`<pre class="chroma"` + idOf(node) + `><code`)
	if language != "" {
		_, _ = w.WriteString(` class="language-` + language + `"`)
	}
	_, _ = w.WriteString(">")
	if marked, ok := highlighted(text, language); ok {
		_, _ = w.WriteString(marked)
	} else {
		_, _ = w.WriteString(html.EscapeString(text))
	}
	_, _ = w.WriteString("</code></pre>\n")
	return ast.WalkContinue, nil
}

// highlighted marks the tokens of code with chroma's short class names; see ChromaCSS.
func highlighted(text, language string) (string, bool) {
	if language == "" || len(text) > maxHighlight {
		return "", false
	}
	lexer := lexers.Get(language)
	if lexer == nil {
		return "", false
	}
	next, err := chroma.Coalesce(lexer).Tokenise(nil, text)
	if err != nil {
		return "", false
	}
	var b strings.Builder
	deadline := time.Now().Add(maxHighlightTime)
	for t := next(); t != chroma.EOF; t = next() {
		if time.Now().After(deadline) {
			return "", false
		}
		class := chroma.StandardTypes[t.Type]
		if class == "" {
			b.WriteString(html.EscapeString(t.Value))
			continue
		}
		b.WriteString(`<span class="` + class + `">` + html.EscapeString(t.Value) + `</span>`)
	}
	return b.String(), true
}

// ChromaCSS styles highlighted code, for the author of the style sheet: few rules over seven custom properties, so that each theme sets
// only colours. On --code-paper, each needs 4.5:1 contrast.
func ChromaCSS() string {
	return `:root{--code-key:#8b1a5b;--code-name:#1f5a99;--code-text:#2f6b2f;--code-number:#8a4b00;--code-note:#5f6368;--code-add:#1e6b34;--code-drop:#a12622}
@media (prefers-color-scheme:dark){:root{--code-key:#f29ac4;--code-name:#8ec1f5;--code-text:#9ad69a;--code-number:#f0b878;--code-note:#a6abb2;--code-add:#8fdca2;--code-drop:#ff9d96}}
.chroma :is(.k,.kc,.kd,.kn,.kp,.kr,.kt,.ow,.nt){color:var(--code-key)}
.chroma :is(.na,.nb,.nc,.nd,.ne,.nf,.fm,.nl,.nn,.nv,.vc,.vg,.vi){color:var(--code-name)}
.chroma :is(.s,.sa,.sb,.sc,.dl,.sd,.s2,.se,.sh,.si,.sx,.sr,.s1,.ss,.ld){color:var(--code-text)}
.chroma :is(.m,.mb,.mf,.mh,.mi,.il,.mo){color:var(--code-number)}
.chroma :is(.c,.ch,.cm,.c1,.cs,.cp,.cpf){color:var(--code-note);font-style:italic}
.chroma .gi{color:var(--code-add)}
.chroma :is(.gd,.gr,.err){color:var(--code-drop)}
.chroma :is(.gh,.gu,.gs){font-weight:600}
.chroma .ge{font-style:italic}
`
}
