package notes_test

import (
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/gatehouse-hq/gatehouse/internal/domain/corpus"
)

// idIn is the note that an answer leads to.
func idIn(location string) string {
	id, _, _ := strings.Cut(strings.TrimPrefix(location, "/admin/notes/"), "?")
	return id
}

func TestCreatingANote(t *testing.T) {
	t.Parallel()
	p := newPanel(t)
	above := p.put(t, wiki("Garden", ""))
	contains(t, p.get("/admin/notes/new?genre=wiki&parent=garden").Body.String(), `value="garden"`, `name="body"`, "Publish at once")
	w := p.post("/admin/notes/new?genre=wiki", url.Values{
		"title": {"Pump"}, "body": {"line one\r\nline two"}, "parent_id": {"garden"}, "tags": {"#water, tool"}, "aliases": {"Well\r\nSource"},
		"description": {"How it works"}, "published": {"true"},
	})
	equal(t, http.StatusSeeOther, w.Code, "answer")
	n := p.read(t, idIn(w.Header().Get("Location")))
	equal(t, "garden/pump", n.Path, "path")
	equal(t, above.ID, n.ParentID, "parent")
	equal(t, "line one\nline two", n.Body, "body")
	equal(t, "water tool", strings.Join(n.Tags, " "), "tags")
	equal(t, "Well Source", strings.Join(n.Aliases, " "), "aliases")
	equal(t, true, n.Published, "published")

	w = p.post("/admin/notes/new?genre=writing", url.Values{"title": {"First frost"}, "body": {"x"}, "dated": {"2025-02-03"}})
	n = p.read(t, idIn(w.Header().Get("Location")))
	equal(t, "2025-02-03", n.Dated.UTC().Format(time.DateOnly), "date")
	equal(t, false, n.Published, "published without the box")
	w = p.post("/admin/notes/new?genre=raw", url.Values{"title": {"Thought"}, "published": {"true"}})
	equal(t, false, p.read(t, idIn(w.Header().Get("Location"))).Published, "a raw note")
}

// What is refused is said at the field, with everything as it was typed, and nothing is changed.
func TestRefusedFormKeepsWhatWasTyped(t *testing.T) {
	t.Parallel()
	p := newPanel(t)
	p.put(t, wiki("Pump", ""))
	for what, form := range map[string]url.Values{
		"no title":         {"title": {" "}},
		"NUL in the title": {"title": {"ab\x00cd"}}, // field case F12
		"broken UTF-8":     {"title": {"x"}, "description": {"\xff\xfe"}},
		"taken address":    {"title": {"Pump"}},
		"unknown parent":   {"title": {"x"}, "parent_id": {"no/where"}},
		"slug of signs":    {"title": {"x"}, "slug": {"???"}},
		"endless tag":      {"title": {"x"}, "tags": {strings.Repeat("a", 5000)}},
	} {
		form.Set("body", "typed words stay")
		w := p.post("/admin/notes/new?genre=wiki", form)
		equal(t, http.StatusUnprocessableEntity, w.Code, what)
		contains(t, w.Body.String(), "typed words stay", "Nothing was saved yet", `aria-invalid="true"`)
	}
	w := p.post("/admin/notes/new?genre=writing", url.Values{"title": {"x"}, "dated": {"tomorrow"}})
	equal(t, http.StatusUnprocessableEntity, w.Code, "a date that is none")
	list, err := p.List(t.Context(), corpus.Filter{})
	must(t, err)
	equal(t, 1, list.Total, "notes")
}

func TestEditingKeepsWhatIsNotInTheForm(t *testing.T) {
	t.Parallel()
	p := newPanel(t)
	in := wiki("Pump", "old")
	in.Published, in.Slug = true, "the-pump"
	n := p.put(t, in)
	contains(t, p.get("/admin/notes/"+n.ID).Body.String(), `value="the-pump"`, "old", "Unpublish", "Created", "version 1")
	form := url.Values{"version": {"1"}, "title": {"Pump"}, "body": {"new"}, "slug": {"the-pump"}}
	equal(t, http.StatusSeeOther, p.post("/admin/notes/"+n.ID, form).Code, "answer")
	n = p.read(t, n.ID)
	equal(t, "new", n.Body, "body")
	equal(t, "the-pump", n.Path, "address")
	equal(t, true, n.Published, "published")

	form = url.Values{"version": {strconv.FormatInt(n.Version, 10)}, "title": {"Well"}, "body": {"new"}, "slug": {""}}
	equal(t, http.StatusSeeOther, p.post("/admin/notes/"+n.ID, form).Code, "answer")
	equal(t, "well", p.read(t, n.ID).Path, "address made from the title again")
}

func TestConflictKeepsBothTexts(t *testing.T) {
	t.Parallel()
	p := newPanel(t)
	n := p.put(t, wiki("Pump", "first"))
	other := "written elsewhere"
	_, err := p.Update(t.Context(), corpus.Change{ID: n.ID, Body: &other})
	must(t, err)
	for _, version := range []string{"1", "", "x", "-4"} {
		w := p.post("/admin/notes/"+n.ID, url.Values{"version": {version}, "title": {"Pump"}, "body": {"typed here"}})
		equal(t, http.StatusConflict, w.Code, "version "+version)
		contains(t, w.Body.String(), "typed here", "written elsewhere", `name="version" value="2"`, "Save mine over it")
	}
	equal(t, other, p.read(t, n.ID).Body, "what is stored")
	w := p.post("/admin/notes/"+n.ID, url.Values{"version": {"2"}, "title": {"Pump"}, "body": {"typed here"}})
	equal(t, http.StatusSeeOther, w.Code, "saving on purpose")
	equal(t, "typed here", p.read(t, n.ID).Body, "what is stored")
}

func TestPreviewSavesNothing(t *testing.T) {
	t.Parallel()
	p := newPanel(t)
	p.put(t, wiki("Hidden", "x"))
	n := p.put(t, wiki("Pump", "first"))
	form := url.Values{"version": {"1"}, "title": {"Pump"}, "body": {"**bold** [[Hidden]] <script>alert(7)</script>"}, "id": {n.ID}}
	w := p.post("/admin/notes/preview", form)
	equal(t, http.StatusOK, w.Code, "preview")
	contains(t, w.Body.String(), "<strong>bold</strong>", `href="/wiki/hidden"`)
	lacks(t, w.Body.String(), "<script", "<html")
	form.Set("do", "preview")
	for _, path := range []string{"/admin/notes/" + n.ID, "/admin/notes/new?genre=wiki"} {
		w = p.post(path, form)
		equal(t, http.StatusOK, w.Code, path)
		contains(t, w.Body.String(), "<strong>bold</strong>", "**bold**", "<html")
	}
	equal(t, "first", p.read(t, n.ID).Body, "what is stored")
}

func TestLinksAreSuggested(t *testing.T) {
	t.Parallel()
	p := newPanel(t)
	p.put(t, wiki("Water pump", ""))
	contains(t, p.get("/admin/notes/complete?find=pump").Body.String(), "[[Water pump]]")
	contains(t, p.get("/admin/notes/complete?find=nothing").Body.String(), "No note has a name like this")
	equal(t, http.StatusOK, p.get("/admin/notes/complete?find=%00").Code, "NUL")
}

// Field case F33: what was typed or imported is text wherever it is shown.
func TestWhatIsTypedIsText(t *testing.T) {
	t.Parallel()
	p := newPanel(t)
	const evil = `"><svg onload=alert(7)>`
	in := wiki(evil, evil+" [x](javascript:alert(7))")
	in.Description, in.Tags, in.Aliases = evil, []string{"a"}, []string{evil}
	n := p.put(t, in)
	for _, path := range []string{
		"/admin/notes", "/admin/notes?text=" + url.QueryEscape(evil), "/admin/notes/tree", "/admin/notes/" + n.ID, "/admin/notes/" + n.ID + "/place",
		"/admin/notes/" + n.ID + "/delete", "/admin/notes/complete?find=svg", "/admin/notes/new?title=" + url.QueryEscape(evil), "/admin/notes/" + n.ID + "?task=" + url.QueryEscape(evil),
	} {
		w := p.get(path)
		equal(t, http.StatusOK, w.Code, path)
		lacks(t, w.Body.String(), "<svg onload", `"javascript:`)
	}
}
