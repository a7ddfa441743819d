package public

import (
	"context"
	"net/http"
	"net/url"

	"github.com/gatehouse-hq/gatehouse/internal/domain/corpus"
	"github.com/gatehouse-hq/gatehouse/internal/domain/corpus/markdown"
	"github.com/gatehouse-hq/gatehouse/internal/web/edge"
	"github.com/gatehouse-hq/gatehouse/internal/web/ui"
)

// tocFrom is how many headings make a table of contents worth its place.
const tocFrom = 3

// noteView is a note as a visitor reads it.
type noteView struct {
	note      corpus.Note
	page      markdown.Page
	trail     []ui.Link
	children  []ui.Link
	backlinks []ui.Backlink
}

func (s *Site) note(genre corpus.Genre) edge.Handler {
	prefix := "/" + string(genre) + "/"
	return func(w http.ResponseWriter, r *http.Request) error {
		path, err := below(r, prefix)
		if err != nil {
			return err
		}
		found, err := s.notes.PublicByAddress(r.Context(), genre, path)
		switch {
		case err != nil:
			return err
		case found.Redirect != "":
			return redirect(w, r, found.Redirect)
		case !atCanonical(r, found.Note.Address()):
			return redirect(w, r, found.Note.Address())
		}
		view, err := s.view(r.Context(), found.Note)
		if err != nil {
			return err
		}
		return edge.RenderPublic(w, r, notePage(view))
	}
}

func unescaped(address string) string {
	path, err := url.PathUnescape(address)
	if err != nil {
		return address
	}
	return path
}

// render keeps the ids of the page around the note out of its headings.
func (s *Site) render(ctx context.Context, n corpus.Note) (markdown.Page, error) {
	return s.notes.RenderPublic(ctx, n, "main", "search", "search-large")
}

// text is a note with what is derived from its text alone.
func (s *Site) text(ctx context.Context, n corpus.Note) (noteView, error) {
	page, err := s.render(ctx, n)
	if err != nil {
		return noteView{}, err
	}
	n, err = s.described(ctx, n)
	return noteView{note: n, page: page}, err
}

func (s *Site) view(ctx context.Context, n corpus.Note) (noteView, error) {
	view, err := s.text(ctx, n)
	if err != nil {
		return view, err
	}
	backlinks, err := s.notes.PublicBacklinks(ctx, n.ID)
	if err != nil {
		return view, err
	}
	for _, l := range links(backlinks) {
		view.backlinks = append(view.backlinks, ui.Backlink{Link: l})
	}
	if n.Genre != corpus.Wiki {
		view.trail = []ui.Link{{Label: "Writing", Href: "/writing/"}}
		return view, nil
	}
	above, err := s.notes.PublicAncestors(ctx, n.ID)
	if err != nil {
		return view, err
	}
	view.trail = append([]ui.Link{{Label: "Notes", Href: "/wiki/"}}, links(above)...)
	children, err := s.notes.PublicChildren(ctx, n.ID)
	view.children = links(children)
	return view, err
}

// head is what the page says of itself to browsers, search engines and previews.
func (v noteView) head() ui.Public {
	p := ui.Public{
		Title: v.note.Title, Description: v.description(), Path: v.note.Address(), Article: true,
		Modified: v.note.UpdatedAt, Section: "/" + string(v.note.Genre) + "/",
	}
	if v.note.PublishedAt != nil {
		p.Published = *v.note.PublishedAt
	}
	return p
}

func (v noteView) description() string {
	if v.note.Description != "" {
		return v.note.Description
	}
	return v.page.Excerpt
}

func (v noteView) tags() []ui.Link { return tagLinks(v.note.AllTags()) }

func tagLinks(tags []string) []ui.Link {
	out := make([]ui.Link, 0, len(tags))
	for _, t := range tags {
		out = append(out, ui.Link{Label: t, Href: corpus.TagAddress(t)})
	}
	return out
}

// contents nests the headings of a page by their levels.
func contents(flat []markdown.Heading) []ui.Heading {
	var out []ui.Heading
	for i := 0; i < len(flat); {
		end := i + 1
		for end < len(flat) && flat[end].Level > flat[i].Level {
			end++
		}
		out = append(out, ui.Heading{Text: flat[i].Text, ID: flat[i].ID, Children: contents(flat[i+1 : end])})
		i = end
	}
	return out
}
