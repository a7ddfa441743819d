package markdown_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/gatehouse-hq/gatehouse/internal/domain/corpus/markdown"
)

// vaultOf answers from memory: notes by name, files by name; whatever is not in it is missing or private, which are the same.
type vaultOf struct {
	notes map[string]string // name → body
	files map[string]string // name → MIME
}

func (v vaultOf) Note(_ context.Context, target, _ string) (markdown.Note, bool, error) {
	_, ok := v.notes[target]
	return markdown.Note{ID: target, Title: target, Href: "/wiki/" + markdown.Slug(target)}, ok, nil
}

func (v vaultOf) File(_ context.Context, target, _ string) (markdown.File, bool, error) {
	mime, ok := v.files[target]
	return markdown.File{ID: target, Name: target, Href: "/file/" + target, MIME: mime}, ok, nil
}

func (v vaultOf) Body(_ context.Context, id string) (string, bool, error) {
	body, ok := v.notes[id]
	return body, ok, nil
}

func (v vaultOf) Tag(name string) string { return "/tag/" + markdown.Slug(name) }

func garden() vaultOf {
	return vaultOf{
		notes: map[string]string{
			"Pump":  "# Pump\n\nIntro.\n\n## Care\n\nOil it. ^oil\n\n- one ^li\n- two\n\n## Other\n\nRest[^1].\n\n[^1]: A footnote.\n",
			"Loop":  "before ![[Loop]] after",
			"Ping":  "ping ![[Pong]]",
			"Pong":  "pong ![[Ping]]",
			"Quote": "> [!tip] T\n> inside\n^block\n",
		},
		files: map[string]string{"photo.png": "image/png", "talk.mp3": "audio/mpeg", "plan.pdf": "application/pdf"},
	}
}

func render(t *testing.T, src string) markdown.Page {
	t.Helper()
	page, err := markdown.New().Render(t.Context(), src, markdown.Options{From: "self", Title: "Self", Resolver: garden()})
	if err != nil {
		t.Fatal(err)
	}
	return page
}

func TestSyntax(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, src, want string }{
		{"wikilink", "see [[Pump]]", `<p>see <a href="/wiki/pump">Pump</a></p>`},
		{"alias", "[[Pump|the pump]]", `<a href="/wiki/pump">the pump</a>`},
		{"heading link", "[[Pump#Care]]", `<a href="/wiki/pump#care">Pump › Care</a>`},
		{"block link", "[[Pump#^oil]]", `<a href="/wiki/pump#%5Eoil">Pump</a>`},
		{"link in table", "| a | b |\n|--|:-:|\n| [[Pump\\|p]] | x |", `<td><a href="/wiki/pump">p</a></td>`},
		{"link in table, bar not escaped", "| a | b |\n|--|--|\n| [[Pump|p]] and [[Salary|s]] | `[[a` |", `<td><a href="/wiki/pump">p</a> and <span class="missing">s</span></td>`},
		{"table frame and alignment", "| a | b |\n|--|:-:|\n| 1 | 2 |", `<div class="table" role="group" tabindex="0" aria-label="Table"><table>`},
		{"alignment by class", "| a | b |\n|--|:-:|\n| 1 | 2 |", `<th scope="col" class="align-center">b</th>`},
		{"empty header cells", "|  |  |\n|--|--|\n| 1 | 2 |", "<tr>\n<td></td>"},
		{"local heading", "## A b\n[[#A b]] [[#gone]]", `<a href="#a-b">A b</a> <span>gone</span>`},
		{"markdown link", "[x](Pump.md#Care)", `<a href="/wiki/pump#care">x</a>`},
		{"missing keeps alias", "[[Salary talk|the talk]]", `<span class="missing">the talk</span>`},
		{"missing is neutral", "[[Salary talk]]", `<span class="missing">missing or private note</span>`},
		{"missing markdown link", "[the talk](Salary.md)", `<span>the talk</span>`},
		{"image", "![[photo.png|300]]", `<img src="/file/photo.png" alt="photo" loading="lazy" width="300"`},
		{"image size", "![[photo.png|300x20]]", `height="20"`},
		{"markdown image", "![A view|50](photo.png)", `alt="A view" loading="lazy" width="50"`},
		{"audio is a link", "![[talk.mp3]]", `<a href="/file/talk.mp3" class="file">talk.mp3</a>`},
		{"missing image", "![[salary.png]]", "missing or private file"},
		{"remote image", "![Engelbart|100](https://e.example/x.jpg)", `<a href="https://e.example/x.jpg" class="external remote" rel="noopener noreferrer">Engelbart</a>`},
		{"remote image without words", "![](https://e.example/x.jpg)", `>Content at e.example</a>`},
		{"image in link", "[![alt](https://i.example/a.png)](https://t.example)", `<a href="https://t.example" class="external" rel="noopener noreferrer">alt</a>`},
		{"iframe", `<iframe src="https://v.example/1"></iframe>`, `<a href="https://v.example/1" class="external remote" rel="noopener noreferrer">Content at v.example</a>`},
		{"callout", "> [!tip] A *title*\n> body", "<div class=\"callout callout-tip\" role=\"note\">\n<p class=\"callout-title\">A <em>title</em></p>\n<p>body</p>"},
		{"callout without title", "> [!faq]\n> body", `<p class="callout-title">Faq</p>`},
		{"callout closed", "> [!my-own]- T\n> body", "<details class=\"callout callout-note\">\n<summary class=\"callout-title\">T</summary>"},
		{"callout open", "> [!bug]+ T\n> body", `<details class="callout callout-bug" open="">`},
		{"nested callout", "> [!note] A\n> > [!todo] B\n> > c", `<div class="callout callout-todo" role="note">`},
		{"highlight", "a ==b== c", `<mark>b</mark>`},
		{"highlight beside chinese signs", "这是==“重点”==文字", `<mark>“重点”</mark>`},
		{"strikethrough", "~~x~~", `<del>x</del>`},
		{"emphasis beside chinese signs", "打开**[[Pump]]**。**设置（甲）**直接", `打开<strong><a href="/wiki/pump">Pump</a></strong>。<strong>设置（甲）</strong>直接`},
		{"single tilde", "H~2~O", `<p>H~2~O</p>`},
		{"task", "- [x] did\n- [ ] will\n- [?] eh", `<li><input type="checkbox" disabled="" checked="" aria-label="done"> did</li>`},
		{"open task", "- [ ] will", `<input type="checkbox" disabled="" aria-label="to do"> will`},
		{"tag", "a #garden/tools b #1984", `<a class="tag" href="/tag/garden-tools">#garden/tools</a> b #1984`},
		{"inline maths", "so $e^{x}_1$ is", `<code class="math">e^{x}_1</code>`},
		{"prices", "from $5 to $6", `<p>from $5 to $6</p>`},
		{"maths block", "$$\na_b\n$$\nnext", "<pre class=\"math display\" tabindex=\"0\"><code>a_b</code></pre>\n<p>next</p>"},
		{"open maths", "$$ a [[Salary]]", "missing or private note"},
		{"block id", "text here ^abc", `<p id="^abc">text here</p>`},
		{"block id under a list", "- a\n- b\n\n^abc", `<ul id="^abc">`},
		{"block id on an item", "- a ^abc\n- b", `<li id="^abc">a</li>`},
		{"block id under a table", "| a |\n|--|\n| b |\n^abc", `<table id="^abc">`},
		{"line break", "one\ntwo", "one<br>\ntwo"},
		{"footnote", "x[^a]\n\n[^a]: why", `<li id="fn:1">`},
		{"inline footnote", "x^[why *so*] y", `why <em>so</em>`},
		{"code", "```go\nfunc main() {}\n```", `<pre class="chroma" tabindex="0"><code class="language-go"><span class="kd">func</span>`},
		{"mermaid", "```mermaid\ngraph TD\n```", "<code class=\"language-mermaid\">graph TD\n</code>"},
		{"title repeated", "# Self\ntext", "<p>text</p>"},
		{"h1 is shifted", "# Other", `<h2 id="other">Other</h2>`},
		{"no gaps", "### a\n##### b", `<h3 id="b">b</h3>`},
		{"empty headings are none", "# \n## a\n#### b", `<h3 id="b">b</h3>`},
		{"raw headings do not move the outline", "## a\n\n<h1>x</h1>\n<h5>y</h5>\n\n## b", `<h2 id="b">b</h2>`},
		{"unique ids", "## a\n## a", `<h2 id="a-1">a</h2>`},
		{"harmless html", "press <kbd>Ctrl</kbd><sup>1</sup>", `<kbd>Ctrl</kbd><sup>1</sup>`},
		{"raw end tags stay in their block", "<div>\n\n> a </div>in", "<p>a in</p>\n</blockquote>"},
		{"bare address", "see https://a.example/x.", `<a href="https://a.example/x" class="external" rel="noopener noreferrer">https://a.example/x</a>.`},
		{"embed", "![[Pump]]", "<p class=\"embed-title\"><a href=\"/wiki/pump\">Pump</a></p>"},
		{"embed of a section", "![[Pump#Care]]", "Oil it."},
		{"embed of a block", "![[Pump#^oil]]", "<p>Oil it.</p>\n</div>"},
		{"embed of an item", "![[Pump#^li]]", "<ul>\n<li>one</li>\n</ul>\n</div>"},
		{"embed of a callout", "![[Quote#^block]]", "callout-tip"},
		{"embed footnotes keep apart", "x[^1]\n\n![[Pump]]\n\n[^1]: mine", `<li id="e1-fn:1">`},
		{"loop", "![[Loop]]", "This note embeds itself here."},
		{"loop of two", "![[Ping]]", "This note embeds itself here."},
		{"embed of own part", "![[#^x]]\n\nmine ^x", "<p>mine</p>\n</div>"},
		{"embed amid words", "a ![[Pump#^oil]] b", "<p>a </p>\n<div class=\"embed\">"},
		{"embed that is missing", "![[Salary]]", `<p><span class="missing">missing or private note</span></p>`},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if got := render(t, c.src).HTML; !strings.Contains(got, c.want) {
				t.Errorf("render(%q)\n got %s\nwant %s", c.src, got, c.want)
			}
		})
	}
}

func TestDerivatives(t *testing.T) {
	t.Parallel()
	v := garden()
	v.notes["Tagged"] = "#theirs and their words\n\n## Their heading\n"
	src := "# Self\n\n## First [[Pump|*pump*]]\n\nPlain **words** with #mine, #Mine and `code`[^1].\n\n### Second\n\n![[Tagged]]\n\n![[photo.png]]\n\n" +
		"| a | b |\n|--|--|\n| c | d |\n\n- [ ] task\n\n[^1]: note text\n"
	page, err := markdown.New().Render(t.Context(), src, markdown.Options{Title: "Self", Resolver: v})
	if err != nil {
		t.Fatal(err)
	}
	if want := []markdown.Heading{{Level: 2, ID: "first-pump", Text: "First *pump*"}, {Level: 3, ID: "second", Text: "Second"}}; !slices.Equal(page.TOC, want) {
		t.Errorf("contents %+v", page.TOC)
	}
	if want := "First *pump*\nPlain words with #mine, #Mine and code.\nSecond\na\nb\nc\nd\ntask\nnote text"; page.Text != want {
		t.Errorf("text %q", page.Text)
	}
	if want := "Plain words with #mine, #Mine and code. task note text"; page.Excerpt != want {
		t.Errorf("excerpt %q", page.Excerpt)
	}
	if !slices.Equal(page.Tags, []string{"mine"}) || len(page.Files) != 1 || page.Files[0].ID != "photo.png" {
		t.Errorf("tags %q, files %+v", page.Tags, page.Files)
	}
	plain, err := markdown.New().Plain(t.Context(), src, markdown.Options{Title: "Self", Resolver: v})
	if err != nil || plain != page.Text {
		t.Errorf("Plain differs from Text: %q, %v", plain, err)
	}
	again, err := markdown.New().Render(t.Context(), src, markdown.Options{Title: "Self", Resolver: v})
	if err != nil || again.HTML != page.HTML {
		t.Error("the same note renders differently")
	}
}

func TestExcerptEndsAtAWord(t *testing.T) {
	t.Parallel()
	for _, src := range []string{strings.Repeat("words, ", 100), strings.Repeat("链接笔记，", 100)} {
		got := []rune(render(t, src).Excerpt)
		if len(got) > 200 || len(got) < 150 || got[len(got)-1] != '…' || got[len(got)-2] == ',' || got[len(got)-2] == '，' {
			t.Errorf("%q", string(got))
		}
	}
}

func TestReservedIDs(t *testing.T) {
	t.Parallel()
	page, err := markdown.New().Render(t.Context(), "## Main", markdown.Options{ReservedIDs: []string{"main"}})
	if err != nil || !strings.Contains(page.HTML, `id="main-1"`) {
		t.Error(page.HTML, err)
	}
}

// The style sheet offered for code must name only classes, and colour what the highlighter marks.
func TestChromaCSS(t *testing.T) {
	t.Parallel()
	css := markdown.ChromaCSS()
	if strings.Contains(css, "style=") || !strings.Contains(css, ".kd") || len(css) > 1800 {
		t.Errorf("%d bytes: %s", len(css), css)
	}
}
