package markdown

import (
	"html"
	"io"
	"net/url"
	"slices"
	"strconv"
	"strings"

	nethtml "golang.org/x/net/html"
)

// finisher makes of the rendered fragment one that can stand in a page: balanced, headings under the page's title without gaps, unique
// ids, named links, framed tables; and reads the plain text and the table of contents from what is really shown.
type finisher struct {
	words   Words
	out     []string
	stack   []element
	text    textBuilder
	toc     []Heading
	ids     map[string]bool
	repeats map[string]int // how often a heading's slug was taken
	shown   int            // level of the last heading shown; the page's title is 1
	levels  []int          // heading levels as written that are open above the current one
	local   []localLink
	hidden  int // depth of hidden elements
	embeds  int
	tables  int
	anchors int
	dropped map[string]int // start tags left out, by name, whose end tags must be left out too
}

// element is an open element.
type element struct {
	name   string
	user   bool // written by the author as raw HTML
	start  int  // index of its start tag in out
	close  string
	words  int // length of the text when it opened
	images int
	mark   int // length of the plain text when it opened
	class  string
}

// localLink is a link to a fragment of this page, to be undone if nothing there has the id.
type localLink struct {
	start, end int
	id         string
}

// maxOpen bounds how deep elements nest.
const maxOpen = 400

func newFinisher(words Words, reserved []string) *finisher {
	f := &finisher{words: words, shown: 1, ids: map[string]bool{}, repeats: map[string]int{}, dropped: map[string]int{}}
	for _, id := range reserved {
		f.ids[id] = true
	}
	return f
}

func (f *finisher) run(r io.Reader) {
	z := nethtml.NewTokenizer(r)
	for {
		switch z.Next() {
		case nethtml.ErrorToken:
			for len(f.stack) > 0 {
				f.pop()
			}
			f.undoBrokenLinks()
			return
		case nethtml.TextToken:
			f.characters(z.Token().Data)
		case nethtml.StartTagToken, nethtml.SelfClosingTagToken:
			f.open(z.Token())
		case nethtml.EndTagToken:
			f.end(strings.CutPrefix(z.Token().Data, userMark))
		}
	}
}

func (f *finisher) html() string { return strings.Join(f.out, "") }

func (f *finisher) characters(s string) {
	if f.hidden > 0 {
		return
	}
	f.out = append(f.out, html.EscapeString(s))
	f.text.add(s)
}

func isVoid(name string) bool {
	switch name {
	case "br", "hr", "img", "input", "wbr", "col":
		return true
	}
	return false
}

// allowed tells whether an element may stand here: parts of lists only in lists, no link in a link.
func (f *finisher) allowed(name string) bool {
	if len(f.stack) >= maxOpen {
		return false
	}
	parent := ""
	if len(f.stack) > 0 {
		parent = f.stack[len(f.stack)-1].name
	}
	switch name {
	case "a":
		return f.anchors == 0
	case "li":
		return parent == "ul" || parent == "ol"
	case "dt", "dd":
		return parent == "dl"
	case "summary":
		return parent == "details"
	}
	return parent != "ul" && parent != "ol"
}

func (f *finisher) open(t nethtml.Token) {
	e := element{class: value(t, "class")}
	e.name, e.user = strings.CutPrefix(t.Data, userMark)
	t.Data = e.name
	if e.name == hiddenElement {
		f.hidden++
		f.push(e)
		return
	}
	if f.hidden > 0 {
		if !isVoid(e.name) {
			f.push(e)
		}
		return
	}
	if !f.allowed(e.name) {
		if !isVoid(e.name) {
			f.dropped[key(e.name, e.user)]++
		}
		return
	}
	f.enter(&e, &t)
	e.start = len(f.out)
	f.out = append(f.out, startTag(t))
	if isVoid(e.name) {
		return
	}
	f.push(e)
}

func key(name string, user bool) string { return name + " " + strconv.FormatBool(user) }

// enter adjusts a start tag and keeps count of what is open.
func (f *finisher) enter(e *element, t *nethtml.Token) {
	e.words, e.images, e.mark = f.text.written, f.text.images, f.text.all.Len()
	switch e.name {
	case "h1", "h2", "h3", "h4", "h5", "h6":
		f.enterHeading(e, t)
	case "a":
		f.anchors++
		f.enterAnchor(t)
	case "table":
		if f.tables++; f.tables == 1 {
			f.out = append(f.out, `<div class="table" role="group" tabindex="0" aria-label="`+html.EscapeString(f.words.Table)+`">`)
			e.close = "</div>"
		}
	case "pre":
		set(t, "tabindex", "0")
	case "img":
		f.text.images++
	case "div":
		if !e.user && e.class == "embed" {
			f.embeds++
			f.text.mute++
		}
	case "sup":
		if strings.HasPrefix(value(*t, "id"), "fnref") || strings.Contains(value(*t, "id"), "-fnref") {
			f.text.mute++
			e.class = "footnote-sup"
		}
	}
	if align := value(*t, "align"); align != "" {
		set(t, "class", "align-"+align)
	}
	if id := value(*t, "id"); id != "" && !isHeading(e.name) {
		if f.ids[id] || (f.embeds > 0 && !strings.Contains(id, ":")) {
			unset(t, "id") // blocks of embedded notes have their address there
		} else {
			f.ids[id] = true
		}
	}
	f.text.open(e.name)
}

func isHeading(name string) bool {
	return len(name) == 2 && name[0] == 'h' && name[1] >= '1' && name[1] <= '6'
}

// enterHeading nests headings under the page's title: whatever levels the author chose, no level is skipped. Raw HTML and embedded notes
// stand outside the note's own outline.
func (f *finisher) enterHeading(e *element, t *nethtml.Token) {
	level := int(e.name[1] - '0')
	shown := level + 1
	if !e.user && f.embeds == 0 {
		for len(f.levels) > 0 && f.levels[len(f.levels)-1] >= level {
			f.levels = f.levels[:len(f.levels)-1]
		}
		f.levels = append(f.levels, level)
		shown = len(f.levels) + 1
	}
	t.Data = "h" + strconv.Itoa(min(shown, f.shown+1, 6))
	e.name = t.Data
	unset(t, "id")
}

func (f *finisher) enterAnchor(t *nethtml.Token) {
	href := value(*t, "href")
	switch {
	case strings.Contains(value(*t, "class"), "external"):
		set(t, "rel", "noopener noreferrer")
	case value(*t, "class") == "footnote-backref":
		set(t, "aria-label", f.words.Back)
		f.text.mute++
	case strings.HasPrefix(href, "#") && value(*t, "role") == "":
		id, err := url.PathUnescape(href[1:])
		if err != nil {
			id = href[1:]
		}
		f.local = append(f.local, localLink{start: len(f.out), id: id})
	}
}

func (f *finisher) push(e element) { f.stack = append(f.stack, e) }

// end closes an element. The author's end tags close only what the author opened, down to the nearest element of ours.
func (f *finisher) end(name string, user bool) {
	if n := f.dropped[key(name, user)]; n > 0 {
		f.dropped[key(name, user)] = n - 1
		return
	}
	at := -1
	for i := len(f.stack) - 1; i >= 0; i-- {
		e := f.stack[i]
		if user && !e.user {
			return
		}
		if e.user == user && (e.name == name || isHeading(e.name) && isHeading(name)) {
			at = i
			break
		}
	}
	for at >= 0 && len(f.stack) > at {
		f.pop()
	}
}

func (f *finisher) pop() {
	e := f.stack[len(f.stack)-1]
	f.stack = f.stack[:len(f.stack)-1]
	if e.name == hiddenElement {
		f.hidden--
		return
	}
	if f.hidden > 0 {
		return
	}
	if f.leave(e); isHeading(e.name) && f.out[e.start] == "<span>" {
		e.name = "span"
	}
	f.out = append(f.out, "</"+e.name+">"+e.close)
	f.text.close(e.name)
}

func (f *finisher) leave(e element) {
	empty := f.text.written == e.words && f.text.images == e.images
	switch {
	case isHeading(e.name):
		f.leaveHeading(e, empty)
	case e.name == "a":
		f.anchors--
		if e.class == "footnote-backref" {
			f.text.mute--
		} else if empty {
			f.nameLink(e)
		}
		if n := len(f.local); n > 0 && f.local[n-1].start == e.start {
			f.local[n-1].end = len(f.out)
		}
	case e.name == "table":
		f.tables--
	case e.name == "div" && !e.user && e.class == "embed":
		f.embeds--
		f.text.mute--
	case e.class == "footnote-sup":
		f.text.mute--
	}
}

// leaveHeading gives the heading its id, from the words it shows (its source may name a private note), and enters it in the contents.
func (f *finisher) leaveHeading(e element, empty bool) {
	if empty {
		f.out[e.start] = "<span>"
		return
	}
	f.shown = int(e.name[1] - '0')
	if e.user || f.embeds > 0 {
		return
	}
	words := strings.Join(strings.Fields(f.text.all.String()[e.mark:]), " ")
	slug := Slug(words)
	if slug == "" {
		slug = "section"
	}
	id := slug
	for f.ids[id] {
		f.repeats[slug]++
		id = slug + "-" + strconv.Itoa(f.repeats[slug])
	}
	f.ids[id] = true
	f.out[e.start] = strings.TrimSuffix(f.out[e.start], ">") + ` id="` + html.EscapeString(id) + `">`
	f.toc = append(f.toc, Heading{Level: int(e.name[1] - '0'), ID: id, Text: words})
}

// nameLink gives a link without words the name of where it leads.
func (f *finisher) nameLink(e element) {
	start := f.out[e.start]
	_, href, _ := strings.Cut(start, `href="`)
	href, _, _ = strings.Cut(href, `"`)
	name := host(html.UnescapeString(href))
	if name == "" {
		name = "link"
	}
	f.characters(name)
}

// undoBrokenLinks makes plain text of links to fragments that the page does not have.
func (f *finisher) undoBrokenLinks() {
	for _, l := range f.local {
		if !f.ids[l.id] && l.end > 0 {
			f.out[l.start] = "<span>"
			f.out[l.end] = "</span>"
		}
	}
}

func set(t *nethtml.Token, key, val string) {
	unset(t, key)
	t.Attr = append(t.Attr, nethtml.Attribute{Key: key, Val: val})
}

func unset(t *nethtml.Token, key string) {
	t.Attr = slices.DeleteFunc(t.Attr, func(a nethtml.Attribute) bool { return a.Key == key })
}

func startTag(t nethtml.Token) string {
	var b strings.Builder
	b.WriteString("<" + t.Data)
	for _, a := range t.Attr {
		if a.Key != "align" {
			b.WriteString(" " + a.Key + `="` + html.EscapeString(a.Val) + `"`)
		}
	}
	b.WriteString(">")
	return b.String()
}
