package markdown

import (
	"regexp"

	"github.com/microcosm-cc/bluemonday"
)

// newPolicy is the last gate before HTML leaves this package. Everything before it already writes only what is listed here; the policy
// holds even where that has a fault. No style, no event handler, no foreign src, no scheme but http, https and mailto.
func newPolicy() *bluemonday.Policy {
	p := bluemonday.NewPolicy()
	p.AllowElements("a", "abbr", "b", "bdi", "bdo", "blockquote", "br", "caption", "cite", "code", "col", "colgroup", "dd", "del", "details",
		"dfn", "div", "dl", "dt", "em", "figcaption", "figure", "h2", "h3", "h4", "h5", "h6", "hr", "i", "img", "ins", "kbd", "li", "mark",
		"ol", "p", "pre", "q", "rp", "rt", "ruby", "s", "samp", "small", "span", "strong", "sub", "summary", "sup", "table", "tbody", "td",
		"tfoot", "th", "thead", "time", "tr", "u", "ul", "var", "wbr", "input")
	p.AllowNoAttrs().OnElements("bdo", "col", "dfn", "rp", "span")
	p.AllowURLSchemes("http", "https", "mailto")
	p.AllowRelativeURLs(true)
	p.RequireParseableURLs(true)

	words := regexp.MustCompile(`^[^\x00-\x1f]*$`)
	number := regexp.MustCompile(`^\d{1,4}$`)
	p.AllowAttrs("href").OnElements("a")
	p.AllowAttrs("rel").Matching(regexp.MustCompile(`^noopener noreferrer$`)).OnElements("a")
	p.AllowAttrs("src").Matching(regexp.MustCompile(`^/[^/\\]`)).OnElements("img")
	p.AllowAttrs("alt").OnElements("img")
	p.AllowAttrs("loading").Matching(regexp.MustCompile(`^lazy$`)).OnElements("img")
	p.AllowAttrs("width", "height").Matching(number).OnElements("img")
	p.AllowAttrs("title").Matching(words).OnElements("abbr", "dfn", "img", "span")
	p.AllowAttrs("aria-label").Matching(words).OnElements("a", "div", "input")
	p.AllowAttrs("id").Matching(regexp.MustCompile(`^[\^\p{L}\p{M}\p{N}:_-]+$`)).Globally()
	p.AllowAttrs("class").Matching(regexp.MustCompile(`^[a-zA-Z0-9 +#._-]+$`)).Globally()
	p.AllowAttrs("role").Matching(regexp.MustCompile(`^(?:note|group|doc-noteref|doc-backlink|doc-endnotes)$`)).Globally()
	p.AllowAttrs("tabindex").Matching(regexp.MustCompile(`^0$`)).OnElements("div", "pre")
	p.AllowAttrs("dir").Matching(regexp.MustCompile(`^(?:ltr|rtl|auto)$`)).Globally()
	p.AllowAttrs("open").Matching(regexp.MustCompile(`^$`)).OnElements("details")
	p.AllowAttrs("reversed").Matching(regexp.MustCompile(`^$`)).OnElements("ol")
	p.AllowAttrs("start").Matching(number).OnElements("ol")
	p.AllowAttrs("value").Matching(number).OnElements("li")
	p.AllowAttrs("colspan", "rowspan").Matching(number).OnElements("td", "th")
	p.AllowAttrs("scope").Matching(regexp.MustCompile(`^col$`)).OnElements("th")
	p.AllowAttrs("datetime").Matching(timePattern).OnElements("time")
	p.AllowAttrs("type").Matching(regexp.MustCompile(`^checkbox$`)).OnElements("input")
	p.AllowAttrs("disabled", "checked").Matching(regexp.MustCompile(`^$`)).OnElements("input")
	return p
}
