package notes_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/gatehouse-hq/gatehouse/internal/domain/corpus"
	"github.com/gatehouse-hq/gatehouse/internal/infra/search"
)

func TestPublishingOneAndMany(t *testing.T) {
	t.Parallel()
	p := newPanel(t)
	a, b := p.put(t, wiki("A", "")), p.put(t, wiki("B", ""))
	w := p.post("/admin/notes/"+a.ID+"/publish", url.Values{"back": {"/admin/notes?genre=wiki"}})
	equal(t, "/admin/notes?genre=wiki", w.Header().Get("Location"), "back with the filters")
	equal(t, true, p.read(t, a.ID).Published, "published")
	p.post("/admin/notes/publish", url.Values{"id": {a.ID, b.ID}})
	equal(t, true, p.read(t, b.ID).Published, "published")
	p.post("/admin/notes/unpublish", url.Values{"id": {a.ID, b.ID}})
	equal(t, false, p.read(t, a.ID).Published || p.read(t, b.ID).Published, "still public")
	w = p.post("/admin/notes/publish", url.Values{})
	equal(t, http.StatusSeeOther, w.Code, "nothing selected")
	contains(t, w.Header().Get("Set-Cookie"), "notes-none-picked")

	raw := p.put(t, corpus.NewNote{Genre: corpus.Raw, Title: "Thought"})
	w = p.post("/admin/notes/publish", url.Values{"id": {a.ID, raw.ID}})
	equal(t, http.StatusUnprocessableEntity, w.Code, "a raw note among them")
	equal(t, false, p.read(t, a.ID).Published, "all or none")
}

func TestMovingAndPromoting(t *testing.T) {
	t.Parallel()
	p := newPanel(t)
	garden, pump := p.put(t, wiki("Garden", "")), p.put(t, wiki("Pump", ""))
	place := "/admin/notes/" + pump.ID + "/place"
	contains(t, p.get(place).Body.String(), "Move", `value="garden"`)
	w := p.post(place, url.Values{"version": {"1"}, "parent_id": {"garden"}, "position": {"2"}})
	equal(t, http.StatusSeeOther, w.Code, "move")
	equal(t, "garden/pump", p.read(t, pump.ID).Path, "path")
	w = p.post(place, url.Values{"version": {"1"}, "parent_id": {""}})
	equal(t, http.StatusConflict, w.Code, "moved meanwhile")
	contains(t, w.Body.String(), "has changed since you opened this page")
	w = p.post("/admin/notes/"+garden.ID+"/place", url.Values{"version": {"1"}, "parent_id": {"garden/pump"}})
	equal(t, http.StatusUnprocessableEntity, w.Code, "below itself")
	contains(t, w.Body.String(), "cannot be below itself", `value="garden/pump"`)
	w = p.post(place, url.Values{"version": {"2"}, "parent_id": {""}, "position": {"first"}})
	equal(t, http.StatusUnprocessableEntity, w.Code, "a position that is no number")

	raw := p.put(t, corpus.NewNote{Genre: corpus.Raw, Title: "Thought"})
	contains(t, p.get("/admin/notes/"+raw.ID+"/place").Body.String(), "Promote to the wiki")
	p.post("/admin/notes/"+raw.ID+"/place", url.Values{"version": {"1"}, "parent_id": {"garden"}})
	equal(t, "garden/thought", p.read(t, raw.ID).Path, "promoted")
	equal(t, false, p.read(t, raw.ID).Published, "promoted means published")
}

func TestDeletingAsksFirstAndComesBackWhole(t *testing.T) {
	t.Parallel()
	p := newPanel(t)
	garden := p.put(t, wiki("Garden", ""))
	for _, title := range []string{"Pump", "Bed"} {
		in := wiki(title, "")
		in.ParentID, in.Published = garden.ID, true
		p.put(t, in)
	}
	body := p.get("/admin/notes/" + garden.ID + "/delete").Body.String()
	contains(t, body, "Delete 3 notes", "Garden", "2 notes", "90 days")
	w := p.post("/admin/notes/delete", url.Values{"id": {garden.ID}})
	equal(t, http.StatusOK, w.Code, "the question")
	contains(t, w.Body.String(), "Delete 3 notes")
	equal(t, "Garden", p.read(t, garden.ID).Title, "asked only")

	plan := regexp.MustCompile(`name="plan" value="(plan_[A-Z0-9]+)"`)
	late := wiki("Late", "")
	late.ParentID = garden.ID
	p.put(t, late)
	w = p.post("/admin/notes/delete", url.Values{"plan": {plan.FindStringSubmatch(body)[1]}})
	equal(t, http.StatusConflict, w.Code, "more than was asked for")
	contains(t, w.Body.String(), "it would be 4 in all")
	body = p.get("/admin/notes/" + garden.ID + "/delete").Body.String()
	w = p.post("/admin/notes/delete", url.Values{"plan": {plan.FindStringSubmatch(body)[1]}})
	equal(t, http.StatusSeeOther, w.Code, "deleted")
	equal(t, http.StatusNotFound, p.get("/admin/notes/"+garden.ID).Code, "gone")
	batches, err := p.Trash(t.Context())
	must(t, err)
	equal(t, 4, batches[0].Notes, "notes in the batch")
	contains(t, p.get("/admin/notes/trash").Body.String(), "Garden", "Restore")

	w = p.post("/admin/notes/trash/"+batches[0].ID+"/restore", nil)
	equal(t, http.StatusSeeOther, w.Code, "restored")
	equal(t, "Garden", p.read(t, garden.ID).Title, "the same note")
}

func TestListAndTree(t *testing.T) {
	t.Parallel()
	p := newPanel(t)
	contains(t, p.get("/admin/notes").Body.String(), "No notes here yet", "Import a vault")
	contains(t, p.get("/admin/notes/tree").Body.String(), "The wiki is empty")
	in := wiki("Garden", "")
	in.Published = true
	garden := p.put(t, in)
	child := wiki("Pump", "")
	child.ParentID, child.Tags = garden.ID, []string{"water"}
	p.put(t, child)
	p.put(t, corpus.NewNote{Genre: corpus.Writing, Title: "Frost"})
	for path, want := range map[string]string{
		"/admin/notes": "Garden Pump Frost", "/admin/notes?genre=wiki": "Garden Pump", "/admin/notes?state=published": "Garden",
		"/admin/notes?text=um": "Pump", "/admin/notes?tag=water": "Pump", "/admin/notes?genre=none": "Garden Pump Frost",
	} {
		body := p.get(path).Body.String()
		for _, title := range []string{"Garden", "Pump", "Frost"} {
			shown := strings.Contains(body, "Select "+title)
			equal(t, strings.Contains(want, title), shown, path+" shows "+title)
		}
	}
	contains(t, p.get("/admin/notes?text=nothing").Body.String(), "No note matches these filters")
	contains(t, p.get("/admin/notes/tree").Body.String(), "What is under Garden", ">Pump</a>")
}

func TestListLooksIntoTheTextsToo(t *testing.T) {
	t.Parallel()
	p := newPanel(t)
	n := p.put(t, wiki("Pump", "deep water"))
	p.engine.found = []search.Hit{{ID: n.ID, Version: n.Version, Excerpt: []search.Piece{{Text: "deep "}, {Text: "water", Match: true}}}}
	contains(t, p.get("/admin/notes?text=water").Body.String(), "In the texts", "deep <mark>water</mark>", "No title holds these words")
	lacks(t, p.get("/admin/notes").Body.String(), "In the texts")
	p.engine.err = errors.New("the engine is away")
	body := p.get("/admin/notes?text=um").Body.String()
	contains(t, body, "could not be loaded", "Select Pump")
	lacks(t, body, "the engine is away")
}

// No session, another site's form, ids that nobody has.
func TestWhoMayNot(t *testing.T) {
	t.Parallel()
	p := newPanel(t)
	n := p.put(t, wiki("Pump", "first"))
	id, unknown := n.ID, "0197d0f0-5f2c-7c3e-9d50-1c9a7f0a4b11"
	reads := []string{"", "/tree", "/new", "/complete?find=p", "/trash", "/import", "/" + id, "/" + id + "/place", "/" + id + "/delete"}
	writes := []string{"/new", "/preview", "/publish", "/unpublish", "/delete", "/trash/" + unknown + "/restore", "/import", "/" + id, "/" + id + "/publish", "/" + id + "/unpublish", "/" + id + "/place"}
	form := url.Values{"title": {"Taken over"}, "body": {"x"}, "version": {"1"}, "id": {id}, "confirmed": {"true"}}.Encode()
	for _, path := range reads {
		w := p.send(httptest.NewRequest(http.MethodGet, base+"/admin/notes"+path, nil))
		equal(t, http.StatusSeeOther, w.Code, path+" without a session")
		contains(t, w.Header().Get("Location"), "/login?next=")
		lacks(t, w.Body.String(), "Pump")
	}
	for _, path := range writes {
		stranger := httptest.NewRequest(http.MethodPost, base+"/admin/notes"+path, strings.NewReader(form))
		stranger.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		equal(t, http.StatusUnauthorized, p.send(stranger).Code, path+" without a session")
		crossed := httptest.NewRequest(http.MethodPost, base+"/admin/notes"+path, strings.NewReader(form))
		crossed.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		crossed.Header.Set("Origin", "https://evil.example")
		crossed.Header.Set("Sec-Fetch-Site", "cross-site")
		crossed.AddCookie(p.cookie)
		equal(t, http.StatusForbidden, p.send(crossed).Code, path+" from another site")
	}
	for _, strange := range []string{unknown, "x", "%00", "..%2f..", strings.Repeat("9", 400)} {
		for _, path := range []string{"", "/place", "/delete"} {
			equal(t, http.StatusNotFound, p.get("/admin/notes/"+strange+path).Code, strange+path)
		}
		for _, path := range []string{"", "/publish", "/unpublish", "/place"} {
			equal(t, http.StatusNotFound, p.post("/admin/notes/"+strange+path, url.Values{"title": {"x"}, "version": {"1"}}).Code, strange+path)
		}
	}
	for _, path := range []string{"/admin/notes/trash/x/restore", "/admin/notes/trash/" + unknown + "/restore"} {
		equal(t, http.StatusNotFound, p.post(path, nil).Code, path)
	}
	equal(t, http.StatusNotFound, p.get("/admin/notes/import/"+unknown).Code, "an import that is none")
	after := p.read(t, id)
	equal(t, n.Version, after.Version, "version")
	equal(t, "first", after.Body, "body")
}
