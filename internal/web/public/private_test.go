package public_test

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/gatehouse-hq/gatehouse/internal/domain/corpus"
	"github.com/gatehouse-hq/gatehouse/internal/infra/search"
)

// everywhere is every address that a visitor can ask for, with those that a stranger could guess.
func everywhere() []string {
	return []string{
		"/", "/wiki/", "/writing/", "/tags/", "/tags/payroll", "/tags/shared", "/search?q=salary", "/search?q=Salary+talk&page=2",
		"/feed.xml", "/feed.json", "/sitemap.xml", "/robots.txt",
		"/wiki/open", "/wiki/salary-talk", "/wiki/Salary%20Talk/", "/wiki/salary-talk/raise", "/wiki/old-salary", "/writing/bonus", "/writing/open-letter",
	}
}

// attach stores a file as an import does.
func (s *site) attach(t *testing.T, name, mediaType, body string) string {
	t.Helper()
	var id string
	must(t, s.db.QueryRow(t.Context(), `
		insert into public.attachments (owner_id, name, source_path, media_type, size, hash, body)
		select id, $1, 'vault/' || $1, $2, length($3), encode(sha256(convert_to($3, 'UTF8')), 'hex'), convert_to($3, 'UTF8') from public.owners returning id::text`,
		name, mediaType, body).Scan(&id))
	return id
}

// Field case F45: a private note must not show through anything that is derived from it, nor through a cache.
func TestPrivateNotesAreNowhere(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	file := s.attach(t, "payslip.png", "image/png", "pixels")
	n := wiki("Salary talk", "secret words #payroll ![[payslip.png]] and [[Open]] #shared")
	n.Aliases, n.Tags, n.Description = []string{"Salary review"}, []string{"payroll"}, "salary description"
	salary := s.create(t, n)
	child := wiki("Salary raise", "more secret words")
	child.ParentID = salary.NoteID
	raise := s.create(t, child)
	old := s.create(t, wiki("Old salary", "x"))
	renamed := "Salary now"
	_, err := s.Update(t.Context(), corpus.Change{ID: old.NoteID, Title: &renamed})
	must(t, err)
	bonus := s.create(t, writing("Salary bonus", "secret words"))
	s.create(t, wiki("Open", "[[Salary talk|the talk]] ![[Salary talk]] [[Salary talk]] [[Salary raise]] #shared"))
	s.create(t, writing("Open letter", "About [[Salary bonus|it]]."))
	ids := []string{salary.NoteID, raise.NoteID, old.NoteID, bonus.NoteID}
	for _, id := range ids {
		s.engine.found = append(s.engine.found, search.Hit{ID: id, Version: 1, Title: []search.Piece{{Text: "Salary"}}, Excerpt: []search.Piece{{Text: "secret words", Match: true}}})
	}
	paths := append(everywhere(), "/files/"+file+"/payslip.png", "/wiki/salary-now")

	contains(t, s.page(t, "/wiki/open"), "Salary") // it shows while it is public: the rest proves something
	tags := map[string]string{}
	for _, path := range paths {
		tags[path] = s.get(t, path).Header().Get("ETag")
	}
	equal(t, http.StatusOK, s.get(t, "/files/"+file+"/payslip.png").Code, "the picture of a public note")

	hidden, err := s.Unpublish(t.Context(), ids)
	must(t, err)
	for i := range s.engine.found { // an index that lags must not be what keeps them out
		at := slices.IndexFunc(hidden, func(n corpus.Note) bool { return n.ID == s.engine.found[i].ID })
		s.engine.found[i].Version = hidden[at].Version
	}
	for _, path := range paths {
		for _, headers := range [][]string{nil, {"If-None-Match", tags[path]}, {"If-None-Match", "*"}} {
			w := s.get(t, path, headers...)
			told := w.Body.String() + w.Header().Get("Location")
			for _, word := range []string{"Salary", "salary", "secret words", "payroll", "payslip", "pixels"} {
				if strings.Contains(strings.ReplaceAll(told, asked(path), ""), word) {
					t.Errorf("%s tells %q", path, word)
				}
			}
		}
	}
	contains(t, s.page(t, "/wiki/open"), "the talk")
}

// asked is what a search page repeats of the question itself.
func asked(path string) string {
	_, q, _ := strings.Cut(path, "q=")
	q, _, _ = strings.Cut(q, "&")
	return strings.ReplaceAll(q, "+", " ")
}

// Private and missing are the same, byte for byte and header for header, request id aside.
func TestPrivateLooksLikeMissing(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	file := s.attach(t, "plan.pdf", "application/pdf", "x")
	hidden := private(wiki("Hidden", "[[plan.pdf]] #hush"))
	s.create(t, hidden)
	s.create(t, private(writing("Draft", "x")))
	s.create(t, corpus.NewNote{Genre: corpus.Raw, Title: "Inbox", Body: "x"})
	missing := s.get(t, "/wiki/missing")
	equal(t, http.StatusNotFound, missing.Code, "a missing note")
	for _, path := range []string{
		"/wiki/hidden", "/wiki/Hidden", "/wiki/hidden/", "/wiki/hidden/below", "/writing/draft", "/tags/hush", "/files/" + file + "/plan.pdf", "/files/" + file,
		"/files/0197d0f0-5f2c-7c3e-9d50-1c9a7f0a4b11/plan.pdf", "/files/x", "/wiki/inbox", "/raw/inbox",
	} {
		w := s.get(t, path)
		equal(t, missing.Code, w.Code, path)
		equal(t, missing.Body.String(), w.Body.String(), path)
		equal(t, headersOf(missing), headersOf(w), path)
	}
}

func headersOf(w *httptest.ResponseRecorder) string {
	var out []string
	for name, values := range w.Header() {
		if name != "X-Request-Id" {
			out = append(out, name+": "+strings.Join(values, ", "))
		}
	}
	slices.Sort(out)
	return strings.Join(out, "\n")
}

// Field case F43: what an author wrote as a comment is in nothing that visitors get.
func TestCommentsArePublishedNowhere(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	body := "seen %% hid1 %% seen\n\n%%\none\n```\nhid2\n```\ntwo\n%%\n\n<!-- hid4 -->\n\n```\n%% kept %%\n```\n\n%% hid3 and on"
	s.create(t, wiki("Note", body))
	s.create(t, writing("Post", body))
	for _, path := range []string{"/wiki/note", "/writing/post", "/feed.xml", "/feed.json", "/", "/wiki/", "/writing/", "/tags/"} {
		lacks(t, s.page(t, path), "hid1", "hid2", "hid3", "hid4")
	}
	contains(t, s.page(t, "/wiki/note"), "kept", "seen")
}

// A description is read by the same rules as the text.
func TestDescriptionsKeepTheRulesOfTheText(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.create(t, private(wiki("Salary talk", "x")))
	n := writing("Post", "words")
	n.Description, n.Tags = "About [[Salary talk|the talk]], [[Salary talk]] and *more*. %% hid1 %% <!-- hid2 -->", []string{"t"}
	s.create(t, n)
	for _, path := range []string{"/writing/post", "/tags/t", "/", "/feed.xml", "/feed.json"} {
		body := s.page(t, path)
		contains(t, body, "About the talk, ", "and more.")
		lacks(t, body, "Salary", "[[", "hid1", "hid2")
	}
}

func TestAttachmentsRunNothing(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	picture := s.attach(t, "drawing.svg", "image/svg+xml", `<svg xmlns="http://www.w3.org/2000/svg"><script>alert(7)</script></svg>`)
	page := s.attach(t, "page.pdf", "text/html", "<script>alert(7)</script>")
	name := s.attach(t, `a "b" 反.png`, "image/png", "x")
	s.create(t, wiki("Files", "![[drawing.svg]] [[page.pdf]] ![[a \"b\" 反.png]]"))

	w := s.get(t, "/files/"+picture+"/drawing.svg")
	equal(t, http.StatusOK, w.Code, "drawing")
	equal(t, "image/svg+xml", w.Header().Get("Content-Type"), "type")
	equal(t, "nosniff", w.Header().Get("X-Content-Type-Options"), "sniffing")
	contains(t, w.Header().Get("Content-Security-Policy"), "sandbox", "default-src 'none'")
	equal(t, http.StatusNotModified, s.get(t, "/files/"+picture+"/drawing.svg", "If-None-Match", w.Header().Get("ETag")).Code, "asked again")

	w = s.get(t, "/files/"+page+"/page.pdf")
	equal(t, "application/octet-stream", w.Header().Get("Content-Type"), "a page is saved, never opened")
	contains(t, w.Header().Get("Content-Disposition"), "attachment", "page.pdf")

	w = s.get(t, "/files/"+name+"/other.png")
	equal(t, http.StatusMovedPermanently, w.Code, "another name")
	w = s.get(t, w.Header().Get("Location"))
	equal(t, http.StatusOK, w.Code, "the right name")
	lacks(t, w.Header().Get("Content-Disposition"), "\n", "反")
}

// Field case F33: what a note, a tag or a question holds is text.
func TestWhatIsTypedIsText(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	const evil = `"><svg onload=alert(7)>`
	n := wiki(evil, evil+" [x](javascript:alert(7)) [y](data:text/html,x) </script><script>alert(7)</script>")
	n.Description, n.Aliases = evil, []string{evil}
	r := s.create(t, n)
	found, err := s.Get(t.Context(), r.NoteID)
	must(t, err)
	s.engine.found = []search.Hit{{ID: r.NoteID, Version: r.Version, Title: []search.Piece{{Text: evil}}, Excerpt: []search.Piece{{Text: evil, Match: true}}}}
	for _, path := range []string{"/", "/wiki/", found.Address(), "/search?q=" + `%22%3E%3Csvg+onload%3Dalert(7)%3E`, "/feed.xml", "/feed.json", "/sitemap.xml"} {
		lacks(t, s.page(t, path), "<svg onload", "<script>alert", `"javascript:`, `"data:text`)
	}
}
