package notes

import (
	"net/http"
	"net/url"

	"github.com/gatehouse-hq/gatehouse/internal/domain/corpus"
	"github.com/gatehouse-hq/gatehouse/internal/web/edge"
	"github.com/gatehouse-hq/gatehouse/internal/web/ui"
)

// textHits is how many notes are shown for words in their texts.
const textHits = 10

// listView is one page of the list with the filters that made it.
type listView struct {
	flash  *ui.Flash
	form   *edge.Form
	genre  corpus.Genre
	values url.Values // the filters as they stand in the address
	notes  []corpus.Note
	total  int
	next   string
	texts  []corpus.SearchHit // notes whose text holds the words
	unread bool               // the texts could not be searched
}

func (s *Section) list(w http.ResponseWriter, r *http.Request) error {
	v := listView{values: url.Values{}}
	asked := r.URL.Query()
	for _, name := range []string{"genre", "text", "tag", "state"} {
		if value := asked.Get(name); value != "" {
			v.values.Set(name, value)
		}
	}
	v.form = edge.Filled(v.values)
	filter := corpus.Filter{Text: v.form.Text("text"), Tag: v.form.Text("tag"), Cursor: asked.Get("after")}
	switch g := corpus.Genre(asked.Get("genre")); g {
	case corpus.Wiki, corpus.Writing, corpus.Raw:
		v.genre, filter.Genre = g, g
	}
	switch asked.Get("state") {
	case "published":
		filter.Published = new(true)
	case "private":
		filter.Published = new(false)
	}
	page, err := s.corpus.List(r.Context(), filter)
	if err != nil && !v.form.Absorb(err) {
		return err
	}
	v.notes, v.total, v.next = page.Notes, page.Total, page.Next
	v.flash = edge.TakeFlash(w, r)
	if filter.Text != "" && filter.Cursor == "" && v.form.OK() {
		// The list stands by itself when the search engine does not answer.
		found, err := s.corpus.Search(r.Context(), corpus.SearchQuery{Text: filter.Text, Limit: textHits})
		v.texts, v.unread = found.Hits, err != nil
	}
	status := http.StatusOK
	if !v.form.OK() {
		status = http.StatusUnprocessableEntity
	}
	return edge.Render(w, r, status, listPage(v))
}

// with is the list's address with one filter set, or left out where value is empty.
func (v listView) with(name, value string) string {
	values := url.Values{}
	for k, vs := range v.values {
		values[k] = vs
	}
	values.Del(name)
	if value != "" {
		values.Set(name, value)
	}
	if len(values) == 0 {
		return address
	}
	return address + "?" + values.Encode()
}

func (v listView) tabs() []ui.Tab {
	tabs := []ui.Tab{
		{Label: "All", Href: v.with("genre", ""), Current: v.genre == ""},
		{Label: "Wiki", Href: v.with("genre", "wiki"), Current: v.genre == corpus.Wiki},
		{Label: "Writing", Href: v.with("genre", "writing"), Current: v.genre == corpus.Writing},
		{Label: "Inbox", Href: v.with("genre", "raw"), Current: v.genre == corpus.Raw},
	}
	for i := range tabs {
		if tabs[i].Current {
			tabs[i].Count = ui.Count(v.total)
		}
	}
	return append(tabs, ui.Tab{Label: "Tree", Href: address + "/tree"}, ui.Tab{Label: "Trash", Href: address + "/trash"})
}

func (v listView) filtered() bool {
	return v.values.Has("text") || v.values.Has("tag") || v.values.Has("state")
}

func (v listView) clear() string {
	if !v.filtered() {
		return ""
	}
	if v.genre == "" {
		return address
	}
	return address + "?genre=" + string(v.genre)
}

func (v listView) keep() []ui.Hidden {
	if v.genre == "" {
		return nil
	}
	return []ui.Hidden{{Name: "genre", Value: string(v.genre)}}
}

func (v listView) pager() ui.Pager {
	if v.next == "" {
		return ui.Pager{}
	}
	return ui.Pager{Older: v.with("after", v.next), Shown: ui.Count(len(v.notes)) + " of " + ui.Count(v.total)}
}

func (v listView) columns() []ui.Column {
	return []ui.Column{{Label: "Title", Class: "wide"}, {Label: "Kind"}, {Label: "State"}, {Label: "Changed"}}
}
