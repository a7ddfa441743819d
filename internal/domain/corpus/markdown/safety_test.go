package markdown_test

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	nethtml "golang.org/x/net/html"

	"github.com/gatehouse-hq/gatehouse/internal/domain/corpus/markdown"
)

// Field case F45: the name of a note that the reader may not see is in nothing derived from a note that links it.
func TestPrivateTargetsStayUnnamed(t *testing.T) {
	t.Parallel()
	src := strings.Join([]string{
		"[[Salary talk|the talk]] [[Salary talk]] ![[Salary talk]] ![[Salary talk#Raise]] ![[salary.png]] ![[salary.png|300]] [[salary.pdf]]",
		"## About [[Salary talk]]",
		"[the talk](Salary%20talk.md) ![the chart](salary.png) <a href=\"Salary talk.md\">the talk</a> <img src=\"salary.png\">",
		"[^1] and ^[see [[Salary talk]]]",
		"[^1]: [[Salary talk#Raise]]",
		"> [!note] [[Salary talk]]",
		"![see [[Salary talk]] and [x](Salary.md)](photo.png)",
		"| a | b |\n|--|--|\n| [[Salary talk|the talk]] | [[Salary talk\\|the talk]] |",
		"<iframe src=\"salary.html\"></iframe> <video src=\"salary.mp4\"></video>",
		"[![the chart](salary.png)](Salary%20talk.md)",
		"[the talk][ref]\n\n[ref]: Salary.md \"Salary title\"",
	}, "\n\n")
	r := markdown.New()
	page, err := r.Render(t.Context(), src, markdown.Options{Resolver: garden()})
	if err != nil {
		t.Fatal(err)
	}
	none, err := r.Render(t.Context(), src, markdown.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range []markdown.Page{page, none} {
		if all := strings.ToLower(everything(p)); strings.Contains(all, "salary") || strings.Contains(all, "raise") {
			t.Errorf("the private note is named:\n%s", all)
		}
	}
	if !strings.Contains(page.Text, "the talk") || !strings.Contains(page.Text, "missing or private note") {
		t.Errorf("aliases and neutral words are expected in %q", page.Text)
	}
}

func TestOwnerSeesWhatIsMissing(t *testing.T) {
	t.Parallel()
	page, err := markdown.New().Render(t.Context(), "[[Salary talk]]", markdown.Options{ShowMissing: true})
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(page.HTML, `<span class="missing">Salary talk</span>`) {
		t.Error(page.HTML)
	}
}

var (
	dangerous  = regexp.MustCompile(`(?i)<(?:script|style|iframe|object|embed|svg|form|meta|link|base|video|audio)`)
	safeHref   = regexp.MustCompile(`^(?:https?://[^/]|mailto:|/[^/\\]|/$|#)`)
	idsPattern = regexp.MustCompile(` id="([^"]*)"`)
)

// unsafe names what is wrong with HTML that must be safe, balanced and accessible; "" when nothing is.
func unsafe(html string) string {
	if m := dangerous.FindString(html); m != "" {
		return "forbidden element " + m
	}
	seen := map[string]bool{}
	for _, m := range idsPattern.FindAllStringSubmatch(html, -1) {
		if seen[m[1]] {
			return "id twice: " + m[1]
		}
		seen[m[1]] = true
	}
	var stack []string
	z := nethtml.NewTokenizer(strings.NewReader(html))
	for {
		switch kind := z.Next(); kind {
		case nethtml.ErrorToken:
			if len(stack) > 0 {
				return "left open: " + strings.Join(stack, " ")
			}
			return ""
		case nethtml.CommentToken, nethtml.DoctypeToken:
			return "a comment is left"
		case nethtml.EndTagToken:
			t := z.Token()
			if len(stack) == 0 || stack[len(stack)-1] != t.Data {
				return "closed but not open: " + t.Data + " in " + strings.Join(stack, " ")
			}
			stack = stack[:len(stack)-1]
		case nethtml.StartTagToken:
			t := z.Token()
			switch t.Data {
			case "br", "hr", "img", "input", "wbr", "col":
			default:
				stack = append(stack, t.Data)
			}
			if fault := unsafeTag(t); fault != "" {
				return fault
			}
		}
	}
}

func unsafeTag(t nethtml.Token) string {
	alt := t.Data != "img"
	for _, a := range t.Attr {
		switch {
		case strings.HasPrefix(a.Key, "on"), a.Key == "style", a.Key == "srcset", a.Key == "formaction", a.Key == "target":
			return "attribute " + a.Key
		case a.Key == "href" && !safeHref.MatchString(a.Val):
			return "link to " + a.Val
		case a.Key == "src" && (!strings.HasPrefix(a.Val, "/") || strings.HasPrefix(a.Val, "//")):
			return "source " + a.Val
		case a.Key == "alt":
			alt = true
		}
	}
	if !alt {
		return "image without alt"
	}
	return ""
}

var hostile = []string{
	"<script>alert(7)</script>", "a <script>alert(7)</script> b", "<style>*{}</style>", `<img src=x onerror=alert(7)>`,
	`<a href="javascript:alert(7)">x</a>`, "[x](javascript:alert(7))", "[x](JaVaScript:alert(7))", "[x](java\tscript:alert(7))", "<javascript:alert(7)>",
	"[x](data:text/html,x)", "![x](data:image/png;base64,AA)", "[x](vbscript:x)", "[x](//evil.example)", `[x](/\evil.example)`, "[x](obsidian://open?x)",
	`"><svg onload=alert(7)>`, `<svg><a xlink:href="javascript:alert(7)">x</a></svg>`, `<math href="javascript:alert(7)">x</math>`,
	"</div></main></body>", "> </blockquote></div> x", "- </li></ul> x", "<div>\n\n## open\n\n<b>", "<u-div>x</u-div>", "</u-p></x-hidden>",
	"![[x\" onerror=alert(7).png]]", `[[x"><script>|"><script>alert(7)</script>]]`, "#tag\"><script>", "```\"><script>\nx\n```", "```go\n</code></pre><script>\n```",
	"> [!<script>] <script>alert(7)</script>", "$<script>alert(7)</script>$", "$$\n</code><script>\n$$", `![a"onerror="alert(7)](photo.png)`,
	`<p style="position:fixed" class="embed" id="main">x</p>`, `<a href="x" target="_blank">x</a>`, `<form action=/admin><input name=x></form>`,
	`<base href="//evil.example">`, `<meta http-equiv=refresh content=0>`, `<iframe srcdoc="<script>alert(7)</script>"></iframe>`,
	"<title>x</title><textarea></p>", "<plaintext>", "<noscript><p title=\"</noscript><img src=x onerror=alert(7)>\">", "<table><tr><td><a>x",
	"## a\n## a\n## A\n\nx ^a\n\ny ^a", "[](https://a.example)", "[ ](Pump.md)", "##\n\n## ", "[a [[Pump]] b](https://a.example)",
	"<li>x</li><dt>y", "<ul><div>x</div></ul>", "<details><b>x", "[x](http://)", "[x](https://user:pw@a.example)", "![](photo.png)", "<h1>x</h1>",
	"\x00\xff\xfe<b>", "<!DOCTYPE html><![CDATA[x]]><?php x ?>", "x[^1]\n\n[^1]: a\n\n![[Pump]]\n\n![[Pump]]", "~~a ==b~~ c==",
}

func TestHostileSourceIsHarmless(t *testing.T) {
	t.Parallel()
	for _, src := range hostile {
		page := render(t, src)
		if fault := unsafe(page.HTML); fault != "" {
			t.Errorf("%q: %s\n%s", src, fault, page.HTML)
		}
		if strings.Contains(page.Text, "<script") && !strings.Contains(src, "$") && !strings.Contains(src, "```") && !strings.Contains(src, "[") {
			t.Errorf("%q: markup in the text %q", src, page.Text)
		}
	}
}

func TestTextNeverHoldsScripts(t *testing.T) {
	t.Parallel()
	for _, src := range []string{"a <script>evil()</script> b", "<style>evil</style>", "<script>\nevil()\n\nevil()\n</script>"} {
		if page := render(t, src); strings.Contains(page.HTML+page.Text, "evil") {
			t.Errorf("%q: %q", src, page.HTML)
		}
	}
}

// The input of each row is 100 kB of one pattern; parsers that look ahead for a partner at each sign become quadratic on
// them. Four times the text may take eight times as long, half way to the sixteen of a quadratic one: compared within one
// run, so that the machine's own pace does not matter, and measured again before it counts, since noise only adds.
func TestPathologicalSourceIsLinear(t *testing.T) {
	for _, unit := range []string{
		"[", "]", "[[", "![[", "[[a|", ">", "> ", ">\n", "*", "*a ", "**a *b ", "_a ", "%%", "%% a ", "==", "==a ", "~~a ", "`", "`a ``b ", "$", "$$", "$a", "$$\n",
		"- ", "- a\n", "1. ", "<", "<!--", "<b>", "<b><i>", "</b>", "<div>\n\n", "<script>", "<x-hidden>", "#", "#a ", "# a\n", "^[", "^[a]", "[^1]", "[^1]: a\n\n", "|", "|a", "| a |\n|--|\n", "a ^b\n\n",
		"![a](", "[a](", "[a][", "[a](b \"", "[a](<", "[a](b", "a [b](c) ", "[[[a]", "*[a](", "![[Loop]]", "![[Pump#^oil]] x ", "&#", "&amp;", "<a href=x>", "https://a.b/", "www.", "a@", "&", "\\", "```\n", "    a\n", "![[Pump]] ", "![[Pump]]\n\n", "[[Pump]] ", "> [!note]\n", "> [!a]- b\n> c\n\n", "[x]: y\n",
	} {
		page, whole := timed(t, unit, 100_000)
		for tries := 1; whole > noise; tries++ {
			_, quarter := timed(t, unit, 25_000)
			ratio := float64(whole) / float64(quarter)
			if ratio <= 8 {
				break
			}
			if tries == 3 {
				t.Errorf("%q: four times the text took %.1f times as long (%s)", unit, ratio, whole)
				break
			}
			_, again := timed(t, unit, 100_000)
			whole = min(whole, again)
		}
		if fault := unsafe(page.HTML); fault != "" {
			t.Errorf("%q: %s", unit, fault)
		}
	}
}

// A paragraph without end goes on as the next one, and loses neither a line nor a link definition; a long table stays one.
func TestLongParagraphsLoseNothing(t *testing.T) {
	t.Parallel()
	var src, rows strings.Builder
	rows.WriteString("| n |\n|--|\n")
	for i := range 1234 {
		fmt.Fprintf(&src, "line%d [here][r%d]\n", i, i)
		fmt.Fprintf(&rows, "| row%d |\n", i)
	}
	src.WriteString("\n")
	for i := range 1234 {
		fmt.Fprintf(&src, "[r%d]: https://example.com/%d\n", i, i)
	}
	page := render(t, src.String()+"\n"+rows.String())
	for _, i := range []int{0, 499, 500, 501, 999, 1000, 1233} {
		for _, want := range []string{fmt.Sprintf("line%d <a", i), fmt.Sprintf(`href="https://example.com/%d"`, i), fmt.Sprintf("<td>row%d</td>", i)} {
			if !strings.Contains(page.HTML, want) {
				t.Errorf("%s is missing", want)
			}
		}
	}
	if n := strings.Count(page.HTML, "<table"); n != 1 {
		t.Errorf("%d tables", n)
	}
}

// noise is what a short rendering may take by the garbage collector's doing alone.
const noise = 100 * time.Millisecond

// timed measures the time on a processor: on a machine under load a long rendering waits for its turn more often than a
// short one.
func timed(t *testing.T, unit string, size int) (markdown.Page, time.Duration) {
	t.Helper()
	src := strings.Repeat(unit, size/len(unit))
	start := processorTime(t)
	page := render(t, src)
	return page, processorTime(t) - start
}

// processorTime is what this process has used so far.
func processorTime(t *testing.T) time.Duration {
	t.Helper()
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		t.Fatal(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

func TestBoundsOnEmbedding(t *testing.T) {
	t.Parallel()
	v := garden()
	for i := range 9 {
		name, next := string(rune('a'+i)), string(rune('b'+i))
		v.notes[name] = "level " + name + strings.Repeat("\n\n![["+next+"]]", 20)
	}
	page, err := markdown.New().Render(t.Context(), "![[a]]", markdown.Options{Resolver: v})
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(page.HTML, "level "); n > markdown.MaxEmbeds {
		t.Errorf("%d notes embedded", n)
	}
	if !strings.Contains(page.HTML, "level e") || strings.Contains(page.HTML, "level f") {
		t.Errorf("five levels are expected")
	}
	if !strings.Contains(page.HTML, "Too much is embedded") {
		t.Error("the end of embedding is not marked")
	}
}

func TestTooLarge(t *testing.T) {
	t.Parallel()
	src := strings.Repeat("a", markdown.MaxSource+1)
	if _, err := markdown.New().Render(t.Context(), src, markdown.Options{}); !errors.Is(err, markdown.ErrTooLarge) {
		t.Error(err)
	}
	if _, err := markdown.New().Links(src); !errors.Is(err, markdown.ErrTooLarge) {
		t.Error(err)
	}
}

type failing struct{ vaultOf }

var errDown = errors.New("down")

func (failing) Note(context.Context, string, string) (markdown.Note, bool, error) {
	return markdown.Note{}, false, errDown
}

// A failed look-up must not look like a missing note.
func TestResolverErrorsStopRendering(t *testing.T) {
	t.Parallel()
	for _, src := range []string{"[[a]]", "![[a]]", "[x](a.md)", `<a href="a.md">x</a>`} {
		if _, err := markdown.New().Render(t.Context(), src, markdown.Options{Resolver: failing{}}); !errors.Is(err, errDown) {
			t.Errorf("%q: %v", src, err)
		}
	}
}

func FuzzRender(f *testing.F) {
	for _, src := range hostile {
		f.Add(src)
	}
	f.Add("seen %% hid %%\n```\n%%\n```\n<!-- x")
	r := markdown.New()
	f.Fuzz(func(t *testing.T, src string) {
		page, err := r.Render(t.Context(), src, markdown.Options{From: "self", Title: "Self", Resolver: garden()})
		if err != nil {
			t.Fatal(err)
		}
		if fault := unsafe(page.HTML); fault != "" {
			t.Errorf("%s\n%s", fault, page.HTML)
		}
		if _, err := r.Links(src); err != nil {
			t.Fatal(err)
		}
	})
}

// FuzzComments puts a word into a comment of its own behind any text that opens no comment and no code: it must never show.
func FuzzComments(f *testing.F) {
	for _, src := range hostile {
		f.Add(strings.NewReplacer("`", "", "<!", "").Replace(src), "x")
	}
	f.Add("> a\n> - b\n\n\tc", "``` x ```")
	f.Add("- a\n\n      b\n", "` %")
	r := markdown.New()
	f.Fuzz(func(t *testing.T, before, inner string) {
		if strings.Contains(before, "%%") || strings.Contains(before, "<!--") || strings.ContainsAny(before, "`~") {
			t.Skip()
		}
		inner = strings.ReplaceAll(inner, "%", "")
		page, err := r.Render(t.Context(), before+"\n\n%% zqxhidden "+inner+" zqxhidden %%\n", markdown.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(everything(page), "zqxhidden") {
			t.Errorf("hidden text shows:\n%s", page.HTML)
		}
	})
}
