package public_test

import (
	"testing"

	"github.com/gatehouse-hq/gatehouse/internal/domain/corpus"
)

// What is derived from all notes is kept only as long as it is true: each change shows on the very next request.
func TestIndexTagsAndFeedFollowEachChange(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	paths := []string{"/", "/wiki/", "/tags/", "/feed.xml", "/feed.json", "/sitemap.xml"}
	look := func(wanted bool, words ...string) {
		t.Helper()
		for range 2 {
			for _, path := range paths {
				body := s.page(t, path)
				for _, word := range words {
					if path == "/tags/" {
						word += "tag"
					}
					if wanted {
						contains(t, body, word)
					} else {
						lacks(t, body, word)
					}
				}
			}
		}
	}
	a := wiki("alpha", "#alphatag")
	r := s.create(t, a)
	look(true, "alpha")
	b := s.create(t, wiki("beta", "#betatag"))
	look(true, "alpha", "beta")
	_, err := s.Unpublish(t.Context(), []string{r.NoteID})
	must(t, err)
	look(false, "alpha")
	look(true, "beta")
	_, err = s.Publish(t.Context(), []string{r.NoteID})
	must(t, err)
	_, err = s.Unpublish(t.Context(), []string{b.NoteID})
	must(t, err)
	look(true, "alpha")
	look(false, "beta")
	title, body := "gamma", "#gammatag"
	_, err = s.Update(t.Context(), corpus.Change{ID: r.NoteID, Title: &title, Body: &body})
	must(t, err)
	look(true, "gamma")
	batch, err := s.Delete(t.Context(), []string{r.NoteID})
	must(t, err)
	look(false, "gamma")
	_, err = s.Restore(t.Context(), batch.ID)
	must(t, err)
	look(true, "gamma")
}
