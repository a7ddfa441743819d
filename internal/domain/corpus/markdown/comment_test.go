package markdown_test

import (
	"strings"
	"testing"

	"github.com/gatehouse-hq/gatehouse/internal/domain/corpus/markdown"
)

// everything joins all derivatives of a page, so that a test can ask whether a word is in any.
func everything(p markdown.Page) string {
	all := []string{p.HTML, p.Text, p.Excerpt, strings.Join(p.Tags, " ")}
	for _, h := range p.TOC {
		all = append(all, h.ID, h.Text)
	}
	for _, f := range p.Files {
		all = append(all, f.Name)
	}
	return strings.Join(all, "\n")
}

// Field case F43: what an author comments out is in no derivative; what is code stays.
func TestCommentsAreInNoDerivative(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, src string }{
		{"inline", "seen %% hid %% seen"},
		{"two on a line", "seen %%hid%% seen %%hid%% seen"},
		{"over lines with a fence", "seen\n\n%%\na\n```js\nhid\n```\nhid\n%%\n\nseen"},
		{"over paragraphs", "seen %% hid\n\nhid\n\nhid %% seen"},
		{"open to the end", "seen\n\n%% hid\n\n## hid\n\n- hid\n"},
		{"html comment", "seen <!-- hid --> seen"},
		{"html comment over lines", "seen\n\n<!--\nhid\n\n```\nhid\n```\n-->\n\nseen"},
		{"open html comment", "seen <!-- hid\n\nhid"},
		{"odd html comment", "seen\n\n<!--> hid -->"},
		{"tags, links, headings", "seen\n%%\n#hid\n# hid\n[[hid]] ![[hid.png]]\n%%"},
		{"in a list", "- seen\n- %% hid\n- hid %%\n- seen"},
		{"in a quote", "> seen %% hid\n> hid %%\n> seen"},
		{"in a callout's title", "> [!note] seen %%hid%%\n> seen"},
		{"in a heading", "## seen %%hid%%\n\nseen"},
		{"in a table", "| seen | b |\n|--|--|\n| %% hid %% | c |"},
		{"in a footnote", "seen[^1]\n\n[^1]: seen %% hid %%"},
		{"in an inline footnote", "seen^[seen %% hid %% x]"},
		{"in raw html", "<div>seen %% hid %%</div>"},
		{"in an attribute", `seen <abbr title="%% hid %%">seen</abbr>`},
		{"in a link's title", `seen [seen](https://a.example "%% hid %%")`},
		{"after a code span", "`seen` %% hid %% `seen`"},
		{"after a lone backtick", "seen ` %% hid %%"},
		{"across a lone backtick", "seen ` a\n\n%% hid %% ` seen"},
		{"after a fence left by its quote", "> ```\n> seen\n\n%% hid %%"},
		{"after a fence left by its list", "- ```\n  seen\n\nnext %% hid %%"},
		{"after a fence that is none", "seen\n    ```\n%% hid %%"},
		{"an indented line that is none of code", "- seen\n\n    %% hid %%"},
		{"in the language of a fence", "```md %%hid%%\nseen\n```"},
		{"escaped opener", `seen \%% hid %%`},
		{"with maths", "$$\nseen\n%% hid %%\n$$"},
		{"embedded", "seen ![[Secretive]]"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			v := garden()
			v.notes["Secretive"] = "seen %% hid %%\n\n<!-- hid -->\n\n%% hid"
			r := markdown.New()
			page, err := r.Render(t.Context(), c.src, markdown.Options{Resolver: v, ShowMissing: true})
			if err != nil {
				t.Fatal(err)
			}
			plain, err := r.Plain(t.Context(), c.src, markdown.Options{Resolver: v, ShowMissing: true})
			if err != nil {
				t.Fatal(err)
			}
			all := everything(page) + plain
			if strings.Contains(all, "hid") {
				t.Errorf("a comment shows:\n%s", all)
			}
			if !strings.Contains(page.HTML, "seen") {
				t.Errorf("what is not a comment is gone:\n%s", page.HTML)
			}
			refs, err := r.Links(c.src)
			if err != nil {
				t.Fatal(err)
			}
			for _, ref := range refs {
				if strings.Contains(ref.Target+ref.Alias+ref.Fragment, "hid") {
					t.Errorf("a comment's link is listed: %+v", ref)
				}
			}
		})
	}
}

func TestCommentSignsInCodeAreKept(t *testing.T) {
	t.Parallel()
	for _, src := range []string{
		"```\n%% kept %%\n```",
		"~~~~md\n```\n%% kept %%\n```\n~~~~",
		"a `%% kept %%` b",
		"a ``x ` %% kept %%`` b",
		"text\n\n    %% kept %%\n\ntext",
		"> ```\n> %% kept %%\n> ```",
		"> [!note] T\n> ```md\n> %% kept %%\n> ```",
		"- item\n  ```\n  %% kept %%\n  ```",
		"1. ```\n   <!-- kept -->\n   ```",
		"`<!-- kept -->`",
		"```\n%% kept %%",
	} {
		page, err := markdown.New().Render(t.Context(), src+"\n\n%% hid %%", markdown.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(page.HTML, " kept ") || !strings.Contains(page.Text, " kept ") {
			t.Errorf("%q: code is gone: %s", src, page.HTML)
		}
		if !strings.HasSuffix(src, "```\n%% kept %%") && strings.Contains(page.HTML, "hid") {
			t.Errorf("%q: the comment behind shows: %s", src, page.HTML)
		}
	}
}

func TestLinksKnowTheirLines(t *testing.T) {
	t.Parallel()
	src := "a [[One]]\n%%\nx\ny\n%%\n[[Two#H|two]] and ^[note] [three](Three%20x.md#h)\n\n- ![[pic.png|30]]\n- `[[no]]`\n\n| a |\n|--|\n| [[Four\\|4]] |\n\n<img src=\"five.png\">\n"
	refs, err := markdown.New().Links(src)
	if err != nil {
		t.Fatal(err)
	}
	want := []markdown.Ref{
		{Target: "One", Line: 1},
		{Target: "Two", Fragment: "H", Alias: "two", Line: 6},
		{Target: "Three x", Fragment: "h", Alias: "three", Line: 6},
		{Target: "pic.png", Alias: "30", Embed: true, File: true, Line: 8},
		{Target: "Four", Alias: "4", Line: 13},
		{Target: "five.png", Embed: true, File: true, Line: 15},
	}
	if len(refs) != len(want) {
		t.Fatalf("got %+v", refs)
	}
	for i := range want {
		if refs[i] != want[i] {
			t.Errorf("link %d: got %+v, want %+v", i, refs[i], want[i])
		}
	}
}
