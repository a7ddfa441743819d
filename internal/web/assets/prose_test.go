package assets_test

import (
	"regexp"
	"slices"
	"testing"

	"github.com/gatehouse-hq/gatehouse/internal/web/assets"
)

// The sheet and the renderer of notes must agree on the names of things; this is the list they agreed on.
func TestProseIsStyledByTheNamesTheRendererWrites(t *testing.T) {
	t.Parallel()
	set := assets.New()
	css := get(t, set, set.Path("house.css")).Body.String()
	var named []string
	for _, m := range regexp.MustCompile(`\.([a-z][a-z0-9-]*)`).FindAllStringSubmatch(css, -1) {
		named = append(named, m[1])
	}
	for _, class := range []string{
		"missing", "embed", "embed-title", "notice", "external", "remote", "file", "callout", "callout-title", "table", "align-right",
		"align-center", "chroma", "math", "tag", "footnotes", "footnote-ref",
		"callout-abstract", "callout-info", "callout-todo", "callout-tip", "callout-success", "callout-question", "callout-warning",
		"callout-failure", "callout-danger", "callout-bug", "callout-example", "callout-quote",
	} {
		if !slices.Contains(named, class) {
			t.Errorf("no rule for .%s", class)
		}
	}
	for _, gone := range []string{"broken-link", "table-scroll", "task-list-item", "heading-anchor"} {
		if slices.Contains(named, gone) {
			t.Errorf("a rule for .%s, which nothing writes", gone)
		}
	}
}
