package ui_test

import (
	"context"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/a-h/templ"

	"github.com/gatehouse-hq/gatehouse/internal/web/assets"
	"github.com/gatehouse-hq/gatehouse/internal/web/ui"
)

var noon = time.Date(2026, 3, 14, 12, 0, 0, 0, time.UTC)

// render returns the HTML of a component, with now at noon and the owner in Auckland.
func render(t *testing.T, c templ.Component) string {
	t.Helper()
	zone := time.FixedZone("NZDT", 13*60*60)
	ctx := ui.WithEnv(context.Background(), ui.Env{
		Assets: assets.New(), Now: noon, Zone: zone, Path: "/admin/tasks?state=discarded&q=x",
		RequestID: "4f1a", Site: ui.Site{Title: "Shelf", BaseURL: "https://shelf.example"},
	})
	var b strings.Builder
	if err := c.Render(ctx, &b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func wants(t *testing.T, html string, fragments ...string) {
	t.Helper()
	for _, f := range fragments {
		if !strings.Contains(html, f) {
			t.Errorf("missing %s\nin %s", f, html)
		}
	}
}

func TestRefusedFieldKeepsItsTextAndSaysWhy(t *testing.T) {
	t.Parallel()
	field := ui.Field{Name: "url", Label: "Address", Hint: "https only", Value: `http://x/"><script>`, Error: "This is not https."}
	html := render(t, ui.Input(field))
	wants(t, html,
		`<label class="label" for="f-url">`, `id="f-url"`, `name="url"`, `aria-invalid="true"`,
		`aria-describedby="f-url-hint f-url-error"`, `id="f-url-hint"`, `id="f-url-error"`, "This is not https.",
		`value="http://x/&#34;&gt;&lt;script&gt;"`)
	wants(t, render(t, ui.ErrorSummary(field, ui.Field{Name: "ok", Label: "Fine"})), `href="#f-url"`, `role="alert"`)
	if html := render(t, ui.ErrorSummary(ui.Field{Name: "ok"})); html != "" {
		t.Errorf("a summary without errors is %q, want nothing", html)
	}
}

func TestFieldWithoutErrorIsNotMarked(t *testing.T) {
	t.Parallel()
	html := render(t, ui.Input(ui.Field{Name: "url", Label: "Address", Required: true}))
	for _, unwanted := range []string{"aria-invalid", "aria-describedby", "readonly", "autofocus"} {
		if strings.Contains(html, unwanted) {
			t.Errorf("unwanted %s in %s", unwanted, html)
		}
	}
	wants(t, html, " required")
}

func TestEveryKindOfFieldCarriesLabelHintAndError(t *testing.T) {
	t.Parallel()
	f := ui.Field{Name: "n", Label: "The label", Hint: "The hint", Error: "The error", Options: []ui.Option{{Value: "a", Label: "A"}, {Value: "b", Label: "B", Group: "More"}}}
	for name, c := range map[string]templ.Component{
		"Input": ui.Input(f), "Password": ui.Password(f), "FileInput": ui.FileInput(f), "TextArea": ui.TextArea(f), "Select": ui.Select(f),
		"CheckBox": ui.CheckBox(f), "Radios": ui.Radios(f), "Checks": ui.Checks(f),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			wants(t, render(t, c), "The label", "The hint", "The error", `aria-describedby=`)
		})
	}
}

func TestPasswordIsNeverSentBack(t *testing.T) {
	t.Parallel()
	if html := render(t, ui.Password(ui.Field{Name: "p", Value: "hunter2"})); strings.Contains(html, "hunter2") {
		t.Errorf("the password is in the page: %s", html)
	}
}

func TestTextAreaKeepsTheFirstLineBreak(t *testing.T) {
	t.Parallel()
	wants(t, render(t, ui.TextArea(ui.Field{Name: "body", Value: "\n\n# Title\n  indented"})), ">\n\n\n# Title\n  indented</textarea>")
}

func TestChosenOptionsAreSelected(t *testing.T) {
	t.Parallel()
	f := ui.Field{Name: "k", Value: "b", Options: []ui.Option{{Value: "a", Label: "A"}, {Value: "b", Label: "B"}}}
	wants(t, render(t, ui.Select(f)), `<option value="a">A</option>`, `<option value="b" selected>B</option>`)
	wants(t, render(t, ui.Radios(f)), `value="b" checked`)
}

func TestPanelMarksWhereYouAre(t *testing.T) {
	t.Parallel()
	html := render(t, ui.PanelPage(ui.Panel{Title: "Tasks", Purpose: "What was promised.", Section: "/admin/tasks", Live: "/admin/live"}))
	wants(t, html, "<title>Tasks · Shelf</title>", `<a class="skip" href="#main">`, `data-stream="/admin/live"`, "What was promised.", `action="/logout"`)
	if n := len(regexp.MustCompile(`href="/admin/tasks" aria-current="page"`).FindAllString(html, -1)); n != 2 {
		t.Errorf("the section is marked %d times, want once in the rail and once in the menu", n)
	}
	for _, s := range ui.Sections() {
		wants(t, html, `href="`+s.Href+`"`, "<span>"+s.Label+"</span>")
	}
}

func TestPublicPageLoadsNoScript(t *testing.T) {
	t.Parallel()
	html := render(t, ui.PublicPage(ui.Public{Title: "Compost", Path: "/wiki/garden/compost", Article: true, Published: noon, Description: "A heap"}))
	if strings.Contains(html, "<script") {
		t.Error("a public page loads a script")
	}
	wants(t, html, `<link rel="canonical" href="https://shelf.example/wiki/garden/compost">`, `type="application/atom+xml"`,
		`type="application/feed+json"`, `property="og:type" content="article"`, `content="2026-03-14T12:00:00Z"`, `action="/search"`)
}

// pages renders one of everything that a page can be made of.
func pages() map[string]templ.Component {
	chart := ui.Chart{Title: "An hour", Labels: []string{"1", "2"}, Lines: []ui.Line{{Label: "done", Colour: "emerald", Values: []float64{1, 2}}}}
	return map[string]templ.Component{
		"panel":   ui.PanelPage(ui.Panel{Title: "T", Section: "/admin/", Live: "/admin/live", Trail: []ui.Link{{Label: "Up", Href: "/admin/"}}}),
		"public":  ui.PublicPage(ui.Public{Title: "T"}),
		"door":    ui.DoorPage(ui.Door{Title: "T", Foot: ui.Text("foot")}),
		"problem": ui.ProblemPage(ui.Problem{Title: "T", Retry: "/x", Typed: []ui.Typed{{Name: "body", Value: strings.Repeat("word ", 20)}}}),
		"chart":   ui.LineChart(chart),
		"spark":   ui.Spark("sky", "24 h", []float64{0, 0}),
		"strip":   ui.Strip("Runs", []ui.Mark{{State: "completed", Text: "ok"}}),
		"table":   ui.PickTable("Tasks", []ui.Column{{Label: "A", Sort: "ascending", Href: "/x"}}),
		"tree":    ui.Tree([]ui.Node{{Label: "A", Href: "/a", Open: true, Children: []ui.Node{{Label: "B", Href: "/b"}}}}),
		"work":    ui.Progress("Work", 1, 3),
		"confirm": ui.ConfirmForm(ui.Confirm{Consequence: "Gone.", Action: "/x", Label: "Delete", Danger: true, Cancel: "/"}),
		"live":    ui.NewRows("tasks", "/admin/tasks/new"),
	}
}

func TestNothingIsInline(t *testing.T) {
	t.Parallel()
	inline := regexp.MustCompile(`(?i)\sstyle=|\son[a-z]+=|hx-on|hx-vals|<style|javascript:|<script(?:\s[^>]*)?>[^<]`)
	for name, c := range pages() {
		if found := inline.FindString(render(t, c)); found != "" {
			t.Errorf("%s: the policy would block %q", name, found)
		}
	}
}

func TestLinksCannotCarryAScript(t *testing.T) {
	t.Parallel()
	html := render(t, ui.Tree([]ui.Node{{Label: "</a><script>", Href: `/x" onclick="alert(7)`}}))
	if strings.Contains(html, "<script>") || strings.Contains(html, `" onclick="`) {
		t.Errorf("text broke out of its place: %s", html)
	}
}

func TestActionsReturnToThePageWithItsFilters(t *testing.T) {
	t.Parallel()
	wants(t, render(t, ui.Post("Retry", "/admin/tasks/7/retry", ui.Small, ui.Hidden{Name: "expected_state", Value: "discarded"})),
		`method="post"`, `name="back" value="/admin/tasks?state=discarded&amp;q=x"`, `name="expected_state" value="discarded"`)
}

func TestLiveElementReplacesItself(t *testing.T) {
	t.Parallel()
	attrs := ui.LiveAttrs("queues", "tasks", "/admin/")
	for key, want := range map[string]any{"id": "queues", "hx-select": "#queues", "hx-swap": "outerHTML", "hx-get": "/admin/"} {
		if attrs[key] != want {
			t.Errorf("%s is %v, want %v", key, attrs[key], want)
		}
	}
	// A filter in square brackets would be evaluated as a script.
	if trigger, _ := attrs["hx-trigger"].(string); !strings.HasPrefix(trigger, "live:tasks") || strings.Contains(trigger, "[") {
		t.Errorf("hx-trigger is %q", trigger)
	}
}
