package public_test

import (
	"encoding/json"
	"encoding/xml"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/gatehouse-hq/gatehouse/internal/domain/corpus"
)

func TestEmptySiteSaysWhatWouldBeHere(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	contains(t, s.page(t, "/"), "Nothing has been published yet")
	contains(t, s.page(t, "/wiki/"), "No notes yet")
	contains(t, s.page(t, "/writing/"), "Nothing written yet")
	contains(t, s.page(t, "/tags/"), "No tags yet")
	contains(t, s.page(t, "/search"), "Search")
	contains(t, s.page(t, "/feed.json"), `"items":[]`)
}

func TestFrontPageIsTheWelcomeNote(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.create(t, wiki("Garden", "Beds."))
	s.create(t, writing("First frost", "Cold."))
	body := s.page(t, "/")
	contains(t, body, "A Quiet Shelf", `href="/wiki/garden"`, `href="/writing/first-frost"`)
	s.create(t, wiki("Welcome", "Hello to **all**."))
	contains(t, s.page(t, "/"), "Hello to <strong>all</strong>", `href="/wiki/garden"`)
}

func TestNotePage(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	above := s.create(t, wiki("Garden", "See [[Pump]]."))
	note := wiki("Pump", "One\n\n## First\n\na\n\n## Second\n\nb #water\n\n### Third\n\nc [[Garden]]")
	note.ParentID, note.Description, note.Tags = above.NoteID, "How the pump works.", []string{"tool"}
	s.create(t, note)
	below := wiki("Valve", "small")
	found, err := s.PublicByAddress(t.Context(), corpus.Wiki, "garden/pump")
	must(t, err)
	below.ParentID = found.Note.ID
	s.create(t, below)

	body := s.page(t, "/wiki/garden/pump")
	contains(t, body,
		"<title>Pump · A Quiet Shelf</title>", "<h1>Pump</h1>",
		`<link rel="canonical" href="https://shelf.example/wiki/garden/pump"`,
		`<meta name="description" content="How the pump works."`, `<meta property="og:type" content="article"`,
		`<a href="/wiki/garden">Garden</a>`, `href="#second"`, `href="/tags/tool"`, `href="/tags/water"`,
		`href="/wiki/garden/pump/valve"`, "Linked from")
	if strings.Contains(body, "<script") || strings.Contains(body, " style=") {
		t.Error("a public page needs neither script nor inline style")
	}
	if strings.Contains(s.page(t, "/wiki/garden/pump/valve"), "On this page") {
		t.Error("a table of contents without three headings")
	}
}

func TestAddressesLeadToTheOneCanonicalAddress(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.create(t, wiki("Über Gärten", "x"))
	s.create(t, wiki("反向链接", "x"))
	s.create(t, writing("First Frost", "x"))
	r := s.create(t, wiki("Old name", "x"))
	title := "New name"
	_, err := s.Update(t.Context(), corpus.Change{ID: r.NoteID, Title: &title})
	must(t, err)

	for path, want := range map[string]string{
		"/wiki/%C3%BCber-g%C3%A4rten":                "",
		"/wiki/%c3%bcber-g%c3%a4rten":                "",
		"/wiki/über-gärten":                          "",
		"/wiki/%C3%9Cber-G%C3%A4rten":                "/wiki/%C3%BCber-g%C3%A4rten",
		"/wiki/%C3%BCber-g%C3%A4rten/":               "/wiki/%C3%BCber-g%C3%A4rten",
		"/wiki/Über%20Gärten":                        "/wiki/%C3%BCber-g%C3%A4rten",
		"/wiki/%E5%8F%8D%E5%90%91%E9%93%BE%E6%8E%A5": "",
		"/writing/First-Frost":                       "/writing/first-frost",
		"/wiki/old-name":                             "/wiki/new-name",
		"/wiki":                                      "/wiki/",
		"/writing":                                   "/writing/",
		"/tags":                                      "/tags/",
	} {
		w := s.get(t, path)
		if want == "" {
			equal(t, http.StatusOK, w.Code, path)
			continue
		}
		equal(t, http.StatusMovedPermanently, w.Code, path)
		equal(t, want, w.Header().Get("Location"), path)
		contains(t, w.Header().Get("Cache-Control"), "no-cache")
	}
	for _, path := range []string{"/wiki/nothing", "/wiki/%00", "/wiki/%FF%FE", "/wiki/" + strings.Repeat("a/", 9000), "/writing/über-gärten", "/tags/none", "/nowhere", "/wiki/..%2f..%2fadmin"} {
		equal(t, http.StatusNotFound, s.get(t, path).Code, path)
	}
}

func TestUnchangedPageIsNotSentAgain(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	r := s.create(t, wiki("Pump", "water"))
	first := s.get(t, "/wiki/pump")
	tag := first.Header().Get("ETag")
	if tag == "" {
		t.Fatal("no ETag")
	}
	contains(t, first.Header().Get("Cache-Control"), "no-cache")
	equal(t, http.StatusNotModified, s.get(t, "/wiki/pump", "If-None-Match", tag).Code, "answer")
	equal(t, http.StatusOK, s.ask(t, http.MethodHead, "/wiki/pump").Code, "answer")

	_, err := s.Unpublish(t.Context(), []string{r.NoteID})
	must(t, err)
	equal(t, http.StatusNotFound, s.get(t, "/wiki/pump", "If-None-Match", tag).Code, "a cache must not show what is unpublished")
}

func TestWritingIsListedByYear(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	for title, day := range map[string]string{"Alpha": "2024-03-01", "Beta": "2025-06-02", "Gamma": "2025-07-03"} {
		n := writing(title, "x")
		at, err := time.Parse(time.DateOnly, day)
		must(t, err)
		n.Dated = &at
		s.create(t, n)
	}
	body := s.page(t, "/writing/")
	order := []string{">2025</h2>", "Gamma", "Beta", ">2024</h2>", "Alpha"}
	at := 0
	for _, word := range order {
		next := strings.Index(body[at:], word)
		if next < 0 {
			t.Fatalf("%s is missing or out of order", word)
		}
		at += next
	}
}

func TestFeedsCarryTheWholeTextWithLinksThatWorkElsewhere(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.create(t, wiki("Pump", "water"))
	n := writing("Fish & <chips>", "Go to [[Pump]] and [below](#end).\n\n## End\n\nlast words")
	n.Tags = []string{"food"}
	r := s.create(t, n)

	var atom struct {
		Entries []struct {
			ID      string `xml:"id"`
			Title   string `xml:"title"`
			Content struct {
				Type string `xml:"type,attr"`
				Body string `xml:",chardata"`
			} `xml:"content"`
		} `xml:"entry"`
	}
	w := s.get(t, "/feed.xml")
	equal(t, "application/atom+xml; charset=utf-8", w.Header().Get("Content-Type"), "answer")
	must(t, xml.Unmarshal(w.Body.Bytes(), &atom))
	equal(t, 1, len(atom.Entries), "entries")
	equal(t, "urn:uuid:"+r.NoteID, atom.Entries[0].ID, "answer")
	equal(t, "Fish & <chips>", atom.Entries[0].Title, "answer")
	equal(t, "html", atom.Entries[0].Content.Type, "answer")
	contains(t, atom.Entries[0].Content.Body, `href="https://shelf.example/wiki/pump"`, `href="https://shelf.example/writing/fish-chips#end"`, "last words")

	var feed struct {
		Version string `json:"version"`
		Items   []struct {
			URL  string   `json:"url"`
			HTML string   `json:"content_html"`
			Tags []string `json:"tags"`
		} `json:"items"`
	}
	w = s.get(t, "/feed.json")
	must(t, json.Unmarshal(w.Body.Bytes(), &feed))
	equal(t, "https://jsonfeed.org/version/1.1", feed.Version, "answer")
	equal(t, 1, len(feed.Items), "entries")
	equal(t, "food", strings.Join(feed.Items[0].Tags, " "), "tags")
	equal(t, http.StatusNotModified, s.get(t, "/feed.json", "If-None-Match", w.Header().Get("ETag")).Code, "answer")
}

func TestSitemapAndRobots(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.create(t, wiki("反向链接", "x"))
	s.create(t, private(wiki("Hidden", "x")))
	body := s.page(t, "/sitemap.xml")
	contains(t, body, "<loc>https://shelf.example/wiki/%E5%8F%8D%E5%90%91%E9%93%BE%E6%8E%A5</loc>", "<loc>https://shelf.example/</loc>")
	lacks(t, body, "hidden")
	must(t, xml.Unmarshal([]byte(body), new(struct{ XMLName xml.Name })))
	contains(t, s.page(t, "/robots.txt"), "Sitemap: https://shelf.example/sitemap.xml", "Disallow: /admin/")
}

func TestTagPages(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	n := wiki("Pump", "x #Water/Cold")
	n.Tags = []string{"Café"}
	s.create(t, n)
	contains(t, s.page(t, "/tags/"), `href="/tags/Caf%C3%A9"`, `href="/tags/Water/Cold"`)
	contains(t, s.page(t, "/tags/Water"), `href="/wiki/pump"`)
	contains(t, s.page(t, "/tags/Water/Cold"), `href="/wiki/pump"`, "1 note")
	w := s.get(t, "/tags/caf%C3%A9")
	equal(t, http.StatusMovedPermanently, w.Code, "answer")
	equal(t, "/tags/Caf%C3%A9", w.Header().Get("Location"), "answer")
}
