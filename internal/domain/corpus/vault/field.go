package vault

import (
	"fmt"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
)

// frontReader fills a FrontMatter key by key.
type frontReader struct {
	front    *FrontMatter
	line     int // of the block's first line
	warnings []Warning
	hidden   bool // a key such as draft keeps the note private whatever publish says
}

func (r *frontReader) warn(n *yaml.Node, format string, args ...any) {
	r.warnings = append(r.warnings, Warning{Line: r.line + n.Line - 1, Message: fmt.Sprintf(format, args...)})
}

func (r *frontReader) take(p pair) {
	f := r.front
	switch p.key {
	case "title":
		f.Title = oneLine(plain(p.value))
	case "alias", "aliases":
		f.Aliases = append(f.Aliases, aliases(p.value)...)
	case "tag", "tags":
		f.Tags = appendTags(f.Tags, p.value)
	case "publish":
		f.Publish = r.publish(p)
	case "draft", "private":
		if r.publish(p) != PublishNo {
			r.hidden = true
		}
	case "permalink":
		f.Permalink = oneLine(plain(p.value))
	case "slug":
		f.Slug = oneLine(plain(p.value))
	case "description":
		f.Description = oneLine(plain(p.value))
	case "created", "date created", "date-created", "date_created":
		f.Created = r.date(p)
	case "updated", "modified", "date modified", "date-modified", "date_modified", "lastmod":
		f.Updated = r.date(p)
	case "date":
		f.Date = r.date(p)
	default:
		f.Extra[p.typed] = plain(p.value)
	}
}

// publish reads yes and no in the spellings people use, quoted or not; what is neither is no.
func (r *frontReader) publish(p pair) Publish {
	switch strings.ToLower(plain(p.value)) {
	case "true", "yes", "on":
		return PublishYes
	case "false", "no", "off", "":
		return PublishNo
	}
	r.warn(p.value, "%s: %q is neither true nor false, so the note is private", p.typed, plain(p.value))
	if p.key != "publish" {
		return PublishUnset // draft: maybe counts as a draft
	}
	return PublishNo
}

var dateLayouts = []string{
	time.RFC3339, "2006-01-02T15:04:05.999999999Z0700", "2006-01-02 15:04:05Z07:00", "2006-01-02 15:04:05 Z0700", "2006-01-02T15:04:05",
	"2006-01-02 15:04:05", "2006-01-02T15:04", "2006-01-02 15:04", "2006-01-02", "2006/01/02 15:04", "2006/01/02", "2006.01.02", "20060102",
}

func (r *frontReader) date(p pair) Date {
	d := Date{Text: plain(p.value)}
	if d.Text == "" {
		return d
	}
	for _, layout := range dateLayouts {
		if t, err := time.Parse(layout, d.Text); err == nil && t.Year() > 0 {
			d.Time = t
			return d
		}
	}
	r.warn(p.value, "%s: %q is not a date that can be read, such as 2027-04-12", p.typed, d.Text)
	return d
}

// aliases reads a list, or text: quoted text is one alias, plain text is divided at commas, as Obsidian did before it had lists.
func aliases(n *yaml.Node) []string {
	if n.Kind == yaml.ScalarNode && n.Style&(yaml.DoubleQuotedStyle|yaml.SingleQuotedStyle) == 0 {
		var all []string
		for part := range strings.SplitSeq(plain(n), ",") {
			if part = oneLine(part); part != "" {
				all = append(all, part)
			}
		}
		return all
	}
	all := items(n)
	for i := range all {
		all[i] = oneLine(all[i])
	}
	return all
}

// appendTags adds the tags of a value: a list, nested or not, or text divided by commas or spaces; each once.
func appendTags(tags []string, n *yaml.Node) []string {
	for _, item := range items(n) {
		divide := func(r rune) bool { return r == ',' || r == ' ' || r == '\n' || r == '，' }
		for _, t := range strings.FieldsFunc(item, divide) {
			t = strings.Trim(t, "#/")
			known := false
			for _, have := range tags {
				known = known || strings.EqualFold(have, t)
			}
			if t != "" && !known {
				tags = append(tags, t)
			}
		}
	}
	return tags
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }
