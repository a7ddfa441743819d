package notes

import (
	"context"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gatehouse-hq/gatehouse/internal/domain/corpus"
	"github.com/gatehouse-hq/gatehouse/internal/web/edge"
	"github.com/gatehouse-hq/gatehouse/internal/web/ui"
)

// filled is the form of a note as it is stored.
func filled(n corpus.Note, zone *time.Location) url.Values {
	return url.Values{
		"version": {strconv.FormatInt(n.Version, 10)}, "title": {n.Title}, "body": {n.Body}, "slug": {ownSlug(n)},
		"description": {n.Description}, "tags": {strings.Join(n.Tags, ", ")}, "aliases": {strings.Join(n.Aliases, "\n")}, "dated": {day(n.Dated, zone)},
	}
}

// ownSlug is the last step of the address where it is not simply the title's; "" leaves it to follow the title.
func ownSlug(n corpus.Note) string {
	if n.Segment == corpus.Segment(n.Title) {
		return ""
	}
	return n.Segment
}

func day(t *time.Time, zone *time.Location) string {
	if t == nil {
		return ""
	}
	return t.In(zone).Format(time.DateOnly)
}

// tagsOf reads tags as people type them: between commas, with or without #.
func tagsOf(typed string) []string {
	tags := []string{}
	for part := range strings.FieldsFuncSeq(typed, func(r rune) bool { return r == ',' || r == '\n' || r == '，' || r == '、' }) {
		if tag := strings.TrimPrefix(strings.TrimSpace(part), "#"); tag != "" {
			tags = append(tags, tag)
		}
	}
	return tags
}

func linesOf(typed string) []string {
	lines := []string{}
	for line := range strings.Lines(typed) {
		if line = strings.TrimSpace(line); line != "" {
			lines = append(lines, line)
		}
	}
	return lines
}

// dateOf reads a day in the owner's zone. The hour of a date that is already there stays as it is.
func dateOf(f *edge.Form, was *time.Time, zone *time.Location) *time.Time {
	typed := f.Text("dated")
	if typed == "" {
		return nil
	}
	if was != nil && day(was, zone) == typed {
		return was
	}
	t, err := time.ParseInLocation(time.DateOnly, typed, zone)
	if err != nil || t.Year() < 1 || t.Year() > 9999 {
		f.Fail("dated", "A date is written as 2026-03-31.")
		return nil
	}
	return &t
}

// newNote is what the form of a new note asks for.
func newNote(f *edge.Form, genre corpus.Genre, parentID string, zone *time.Location) corpus.NewNote {
	n := corpus.NewNote{
		Genre: genre, ParentID: parentID, Title: f.Text("title"), Body: f.Raw("body"), Slug: f.Text("slug"),
		Description: f.Text("description"), Tags: tagsOf(f.Raw("tags")), Aliases: linesOf(f.Raw("aliases")),
	}
	if genre != corpus.Raw {
		n.Published = f.Bool("published")
	}
	if genre == corpus.Writing {
		n.Dated = dateOf(f, nil, zone)
	}
	return n
}

// change is what the form asks of a note that is there.
func change(f *edge.Form, was corpus.Note, zone *time.Location) corpus.Change {
	title, body, description := f.Text("title"), f.Raw("body"), f.Text("description")
	tags, aliases := tagsOf(f.Raw("tags")), linesOf(f.Raw("aliases"))
	c := corpus.Change{ID: was.ID, ExpectVersion: version(f), Title: &title, Body: &body, Description: &description, Tags: &tags, Aliases: &aliases}
	// Folders keep their nature until something is written into them.
	if slug := f.Text("slug"); slug != ownSlug(was) && was.Genre != corpus.Raw {
		c.Slug = &slug
	}
	if was.Genre == corpus.Writing {
		c.Dated = dateOf(f, was.Dated, zone)
		c.ClearDate = c.Dated == nil
	}
	return c
}

// version is the one that the form was filled from. A form without one is never the newest.
func version(f *edge.Form) int64 {
	v, err := strconv.ParseInt(f.Text("version"), 10, 64)
	if err != nil || v < 1 {
		return -1
	}
	return v
}

// parent finds the note whose path was typed; "" is the top. What is not there is an error at the field.
func (s *Section) parent(ctx context.Context, f *edge.Form) (id string, err error) {
	typed := strings.Trim(f.Text("parent_id"), "/")
	if typed == "" {
		return "", nil
	}
	tree, err := s.corpus.Tree(ctx)
	if err != nil {
		return "", err
	}
	at := slices.IndexFunc(tree, func(n corpus.TreeNode) bool { return n.Path == typed })
	if at < 0 {
		at = slices.IndexFunc(tree, func(n corpus.TreeNode) bool { return strings.EqualFold(n.Title, typed) })
	}
	if at < 0 {
		f.Fail("parent_id", "There is no note at this address. Choose one from the list, or leave the field empty for the top.")
		return "", nil
	}
	return tree[at].ID, nil
}

// paths suggests where a note can be put: the first of the wiki, without what is at or below leave.
func (s *Section) paths(ctx context.Context, leave string) ([]ui.Option, error) {
	const most = 500
	tree, err := s.corpus.Tree(ctx)
	if err != nil {
		return nil, err
	}
	var out []ui.Option
	for _, n := range tree {
		if leave != "" && (n.Path == leave || strings.HasPrefix(n.Path, leave+"/")) {
			continue
		}
		if out = append(out, ui.Option{Value: n.Path, Label: n.Title}); len(out) == most {
			break
		}
	}
	return out, nil
}
