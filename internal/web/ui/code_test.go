package ui_test

import (
	"encoding/json"
	"html"
	"regexp"
	"strings"
	"testing"

	"github.com/gatehouse-hq/gatehouse/internal/web/assets"
	"github.com/gatehouse-hq/gatehouse/internal/web/ui"
)

// shown returns the text of the <pre> as a browser shows it.
func shown(t *testing.T, page string) string {
	t.Helper()
	_, rest, found := strings.Cut(page, "<pre")
	if !found {
		t.Fatalf("no <pre> in %s", page)
	}
	_, rest, _ = strings.Cut(rest, ">")
	inside, _, _ := strings.Cut(rest, "</pre>")
	return html.UnescapeString(regexp.MustCompile(`<[^>]*>`).ReplaceAllString(inside, ""))
}

func TestJSONIsIndentedAndColoured(t *testing.T) {
	t.Parallel()
	page := render(t, ui.JSON([]byte(`{"id":"a<b","n":-1.5e3,"ok":true,"none":null,"list":[]}`), "arguments"))
	wants(t, page, `<span class="key">&#34;id&#34;</span>`, `<span class="str">&#34;a&lt;b&#34;</span>`, `<span class="lit">-1.5e3</span>`, `<span class="lit">null</span>`)
	if want := "{\n  \"id\": \"a<b\",\n  \"n\": -1.5e3,\n  \"ok\": true,\n  \"none\": null,\n  \"list\": []\n}"; shown(t, page) != want {
		t.Errorf("shown as %q, want %q", shown(t, page), want)
	}
}

func TestWhatIsNotJSONIsShownAsItIs(t *testing.T) {
	t.Parallel()
	if got := shown(t, render(t, ui.JSON([]byte("<html>502\n  bad"), "answer"))); got != "<html>502\n  bad" {
		t.Errorf("shown as %q", got)
	}
}

func FuzzJSONShowsEveryByte(f *testing.F) {
	for _, seed := range []string{`{"a":[1,2,{"b":"\"\\"}]}`, `"`, `[]`, `{"k:":"x, y"}`, "plain", `"\u0000"`, "1"} {
		f.Add(seed)
	}
	ctx := ui.WithEnv(f.Context(), ui.Env{Assets: assets.New()})
	tag := regexp.MustCompile(`<[^>]*>`)
	f.Fuzz(func(t *testing.T, raw string) {
		var b strings.Builder
		if err := ui.JSON([]byte(raw), "x").Render(ctx, &b); err != nil {
			t.Fatal(err)
		}
		if !json.Valid([]byte(raw)) {
			return
		}
		inside := b.String()[strings.Index(b.String(), "<pre"):]
		inside = inside[strings.Index(inside, ">")+1 : strings.Index(inside, "</pre>")]
		text := html.UnescapeString(tag.ReplaceAllString(inside, ""))
		if !json.Valid([]byte(text)) && !strings.ContainsAny(raw, "\x00\r") {
			t.Errorf("%q is shown as %q, which is not JSON any more", raw, text)
		}
	})
}
