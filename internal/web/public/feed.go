package public

import (
	"context"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/gatehouse-hq/gatehouse/internal/domain/corpus"
	"github.com/gatehouse-hq/gatehouse/internal/web/edge"
	"github.com/gatehouse-hq/gatehouse/internal/web/ui"
)

// feedEntries is how many pages a feed carries, each with its whole text.
const feedEntries = 20

// entry is a page in a feed.
type entry struct {
	note    corpus.Note
	address string // absolute
	html    string // with absolute links
	summary string
}

// entries are the latest writings; on a site without any, the latest notes, so that a wiki can be followed too.
func (s *Site) entries(ctx context.Context) ([]entry, error) {
	list, err := s.notes.PublicWritings(ctx, "", feedEntries)
	if err != nil {
		return nil, err
	}
	notes := list.Notes
	if len(notes) == 0 {
		if notes, err = s.recent(ctx); err != nil {
			return nil, err
		}
	}
	base := ui.EnvFrom(ctx).Site.BaseURL
	out := make([]entry, 0, len(notes))
	for _, n := range notes {
		view, err := s.text(ctx, n)
		if err != nil {
			return nil, fmt.Errorf("rendering %s for the feed: %w", n.URI(), err)
		}
		e := entry{note: n, address: base + n.Address(), summary: view.description()}
		e.html = absolute(view.page.HTML, base, e.address)
		out = append(out, e)
	}
	return out, nil
}

// recent reads the latest notes whole. One that was unpublished meanwhile is left out.
func (s *Site) recent(ctx context.Context) ([]corpus.Note, error) {
	heads, err := s.notes.PublicRecent(ctx, feedEntries)
	if err != nil {
		return nil, err
	}
	var out []corpus.Note
	for _, h := range heads {
		found, err := s.notes.PublicByAddress(ctx, h.Genre, h.Path)
		if notFound(err) || (err == nil && (found.Redirect != "" || found.Note.Folder)) {
			continue
		}
		if err != nil {
			return nil, err
		}
		out = append(out, found.Note)
	}
	return out, nil
}

// absolute makes the links of a rendered note work away from the site. The renderer escapes every quote in text, so
// that these byte sequences are attributes and nothing else.
func absolute(html, base, address string) string {
	return strings.NewReplacer(
		` href="/`, ` href="`+base+`/`, ` src="/`, ` src="`+base+`/`, ` href="#`, ` href="`+address+`#`,
	).Replace(html)
}

// The Atom format: RFC 4287.
type (
	atomFeed struct {
		XMLName xml.Name    `xml:"http://www.w3.org/2005/Atom feed"`
		Lang    string      `xml:"xml:lang,attr"`
		ID      string      `xml:"id"`
		Title   string      `xml:"title"`
		Sub     string      `xml:"subtitle,omitempty"`
		Updated string      `xml:"updated"`
		Links   []atomLink  `xml:"link"`
		Author  atomAuthor  `xml:"author"`
		Entries []atomEntry `xml:"entry"`
	}
	atomLink struct {
		Rel  string `xml:"rel,attr"`
		Type string `xml:"type,attr,omitempty"`
		Href string `xml:"href,attr"`
	}
	atomAuthor struct {
		Name string `xml:"name"`
	}
	atomEntry struct {
		ID        string         `xml:"id"`
		Title     string         `xml:"title"`
		Link      atomLink       `xml:"link"`
		Published string         `xml:"published"`
		Updated   string         `xml:"updated"`
		Summary   string         `xml:"summary,omitempty"`
		Tags      []atomCategory `xml:"category"`
		Content   atomText       `xml:"content"`
	}
	atomCategory struct {
		Term string `xml:"term,attr"`
	}
	atomText struct {
		Type string `xml:"type,attr"`
		Body string `xml:",chardata"`
	}
)

func (s *Site) atom(w http.ResponseWriter, r *http.Request) error {
	entries, err := s.feed.get(r.Context(), s.notes.PublicStamp, s.entries)
	if err != nil {
		return err
	}
	site := ui.EnvFrom(r.Context()).Site
	feed := atomFeed{
		Lang: site.Lang, ID: site.BaseURL + "/", Title: site.Title, Sub: site.Tagline, Updated: stamp(latest(entries)),
		Author: atomAuthor{Name: site.Title},
		Links: []atomLink{
			{Rel: "self", Type: "application/atom+xml", Href: site.BaseURL + "/feed.xml"},
			{Rel: "alternate", Type: "text/html", Href: site.BaseURL + "/"},
		},
	}
	for _, e := range entries {
		one := atomEntry{
			ID: "urn:uuid:" + e.note.ID, Title: e.note.Title, Link: atomLink{Rel: "alternate", Type: "text/html", Href: e.address},
			Published: stamp(e.note.Date()), Updated: stamp(e.note.UpdatedAt), Summary: e.summary,
			Content: atomText{Type: "html", Body: e.html},
		}
		for _, t := range e.note.AllTags() {
			one.Tags = append(one.Tags, atomCategory{Term: t})
		}
		feed.Entries = append(feed.Entries, one)
	}
	body, err := xml.Marshal(feed)
	if err != nil {
		return fmt.Errorf("writing the Atom feed: %w", err)
	}
	edge.WriteRevalidated(w, r, "application/atom+xml; charset=utf-8", append([]byte(xml.Header), body...))
	return nil
}

// The JSON Feed format, version 1.1: https://www.jsonfeed.org/version/1.1/
type (
	jsonFeed struct {
		Version     string     `json:"version"`
		Title       string     `json:"title"`
		Home        string     `json:"home_page_url"`
		Feed        string     `json:"feed_url"`
		Description string     `json:"description,omitempty"`
		Language    string     `json:"language,omitempty"`
		Items       []jsonItem `json:"items"`
	}
	jsonItem struct {
		ID        string   `json:"id"`
		URL       string   `json:"url"`
		Title     string   `json:"title"`
		HTML      string   `json:"content_html"`
		Summary   string   `json:"summary,omitempty"`
		Published string   `json:"date_published"`
		Modified  string   `json:"date_modified"`
		Tags      []string `json:"tags,omitempty"`
	}
)

func (s *Site) jsonFeed(w http.ResponseWriter, r *http.Request) error {
	entries, err := s.feed.get(r.Context(), s.notes.PublicStamp, s.entries)
	if err != nil {
		return err
	}
	site := ui.EnvFrom(r.Context()).Site
	feed := jsonFeed{
		Version: "https://jsonfeed.org/version/1.1", Title: site.Title, Home: site.BaseURL + "/", Feed: site.BaseURL + "/feed.json",
		Description: site.Tagline, Language: site.Lang, Items: []jsonItem{},
	}
	for _, e := range entries {
		feed.Items = append(feed.Items, jsonItem{
			ID: "urn:uuid:" + e.note.ID, URL: e.address, Title: e.note.Title, HTML: e.html, Summary: e.summary,
			Published: stamp(e.note.Date()), Modified: stamp(e.note.UpdatedAt), Tags: e.note.AllTags(),
		})
	}
	body, err := json.Marshal(feed)
	if err != nil {
		return fmt.Errorf("writing the JSON feed: %w", err)
	}
	edge.WriteRevalidated(w, r, "application/feed+json; charset=utf-8", body)
	return nil
}

func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// latest is when the feed last changed; a feed without entries has always been so.
func latest(entries []entry) time.Time {
	last := time.Unix(0, 0)
	for _, e := range entries {
		if e.note.UpdatedAt.After(last) {
			last = e.note.UpdatedAt
		}
	}
	return last
}
