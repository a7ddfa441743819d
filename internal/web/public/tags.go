package public

import (
	"net/http"
	"net/url"
	"strings"

	"github.com/gatehouse-hq/gatehouse/internal/domain/corpus"
	"github.com/gatehouse-hq/gatehouse/internal/web/edge"
	"github.com/gatehouse-hq/gatehouse/internal/web/ui"
)

// tagPage is how many notes of a tag are listed on a page.
const tagPage = 100

func (s *Site) tags(w http.ResponseWriter, r *http.Request) error {
	counts, err := s.tagged.get(r.Context(), s.notes.PublicStamp, s.notes.PublicTags)
	if err != nil {
		return err
	}
	return edge.RenderPublic(w, r, tagsPage(counts))
}

// tagView is one page of the notes that carry a tag.
type tagView struct {
	tag   string
	notes []corpus.Note
	total int
	pager ui.Pager
	later bool
}

func (s *Site) tag(w http.ResponseWriter, r *http.Request) error {
	name, err := below(r, "/tags/")
	if err != nil {
		return err
	}
	name = strings.TrimSuffix(strings.TrimPrefix(name, "#"), "/")
	cursor := question(r, "after", 400)
	list, err := s.notes.PublicByTag(r.Context(), name, cursor, tagPage)
	if err != nil {
		return err
	}
	if len(list.Notes) == 0 {
		// A tag that only private notes carry is as unknown as one that nobody uses.
		return edge.ErrNotFound
	}
	name = spelled(name, list.Notes)
	if !atCanonical(r, corpus.TagAddress(name)) {
		return redirect(w, r, corpus.TagAddress(name))
	}
	notes, err := s.allDescribed(r.Context(), list.Notes)
	if err != nil {
		return err
	}
	view := tagView{tag: name, notes: notes, total: list.Total, later: cursor != ""}
	if list.Next != "" {
		view.pager.Older = corpus.TagAddress(name) + "?after=" + url.QueryEscape(list.Next)
	}
	if cursor != "" {
		view.pager.Newer = corpus.TagAddress(name)
	}
	return edge.RenderPublic(w, r, onePage(view))
}

// spelled returns the tag as one of the notes writes it, where the address differs in case only.
func spelled(name string, notes []corpus.Note) string {
	other := name
	for _, n := range notes {
		for _, t := range n.AllTags() {
			if t == name {
				return name
			}
			if other == name && strings.EqualFold(t, name) {
				other = t
			}
		}
	}
	return other
}
