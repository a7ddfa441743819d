package webhooks

import (
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/gatehouse-hq/gatehouse/internal/domain/webhooks"
	"github.com/gatehouse-hq/gatehouse/internal/web/edge"
)

// formView is the form of an endpoint, new or there already.
type formView struct {
	*edge.Form
	id      string // "" for a new endpoint
	version int64
	stale   string // what changed meanwhile, when the form is shown again because of it
	nouns   []noun
	allowed []string // addresses that the operator opened
	opens   string   // what of them deserves a warning
}

// noun is a group of event types about one thing.
type noun struct {
	Name  string
	Types []webhooks.EventType
}

// All is the pattern that selects the whole group, also what is added to it later.
func (n noun) All() string { return n.Name + ".*" }

// nouns groups event types by what they are about: all of the name but its last word. Tests are left out: they go to the
// endpoint they name, whatever it selects.
func nouns(types []webhooks.EventType) []noun {
	var out []noun
	for _, t := range types {
		if t.Name == webhooks.TestType {
			continue
		}
		about := t.Name
		if i := strings.LastIndexByte(t.Name, '.'); i > 0 {
			about = t.Name[:i]
		}
		i := slices.IndexFunc(out, func(n noun) bool { return n.Name == about })
		if i < 0 {
			i = len(out)
			out = append(out, noun{Name: about})
		}
		out[i].Types = append(out[i].Types, t)
	}
	return out
}

// everything is the pattern that selects whatever there is.
const everything = "**"

// boxed reports whether a pattern has a box of its own in the form.
func boxed(all []noun, pattern string) bool {
	return pattern == everything || slices.ContainsFunc(all, func(n noun) bool {
		return n.All() == pattern || slices.ContainsFunc(n.Types, func(t webhooks.EventType) bool { return t.Name == pattern })
	})
}

func (v formView) ticked(pattern string) bool { return slices.Contains(v.List("types"), pattern) }

// typedIn is what an owner typed into the form.
type typedIn struct {
	url, description string
	types            []string
	headers          []webhooks.Header
	maxPerSecond     int
}

// read reads the form. What the domain would not notice as a mistake of typing is made one that it refuses, so that it
// checks, and names, everything else as well.
func read(f *edge.Form) typedIn {
	in := typedIn{url: f.Text("url"), description: f.Raw("description"), types: slices.Clone(f.List("types"))}
	in.types = append(in.types, strings.Split(f.Raw("patterns"), "\n")...)
	in.headers = readHeaders(f)
	if text := f.Text("max_per_second"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil {
			n = -1
		}
		in.maxPerSecond = n
	}
	return in
}

// readHeaders reads lines of "name: value".
func readHeaders(f *edge.Form) []webhooks.Header {
	out := []webhooks.Header{}
	for i, line := range strings.Split(f.Raw("headers"), "\n") {
		if strings.TrimSpace(line) == "" {
			continue
		}
		name, value, found := strings.Cut(line, ":")
		if !found {
			f.Fail("headers", fmt.Sprintf("Line %d has no colon. Write a name, a colon and a value on each line.", i+1))
			name = "" // refused by the domain
		}
		out = append(out, webhooks.Header{Name: strings.TrimSpace(name), Value: strings.TrimSpace(value)})
	}
	return out
}

// absorb shows what the domain refused at the fields of this form.
func absorb(f *edge.Form, err error, headers int) bool {
	if !f.Absorb(err) {
		return false
	}
	for i := range headers {
		for _, part := range []string{"name", "value"} {
			if wrong := f.Err(fmt.Sprintf("headers.%d.%s", i, part)); wrong != "" {
				f.Fail("headers", wrong)
			}
		}
	}
	return true
}

// filled is the form of an endpoint as it stands.
func filled(e webhooks.Form, all []noun) *edge.Form {
	v := url.Values{"url": {e.URL}, "description": {e.Description}, "max_per_second": {""}}
	if e.MaxPerSecond > 0 {
		v.Set("max_per_second", strconv.Itoa(e.MaxPerSecond))
	}
	var patterns, headers []string
	for _, p := range e.EventTypes {
		if boxed(all, p) {
			v.Add("types", p)
		} else {
			patterns = append(patterns, p)
		}
	}
	for _, h := range e.Headers {
		headers = append(headers, h.Name+": "+h.Value)
	}
	v.Set("patterns", strings.Join(patterns, "\n"))
	v.Set("headers", strings.Join(headers, "\n"))
	return edge.Filled(v)
}
