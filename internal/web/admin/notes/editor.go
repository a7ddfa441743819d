package notes

import (
	"context"
	"net/http"
	"net/url"
	"strconv"

	"github.com/go-chi/chi/v5"

	"github.com/gatehouse-hq/gatehouse/internal/domain/corpus"
	"github.com/gatehouse-hq/gatehouse/internal/domain/corpus/markdown"
	"github.com/gatehouse-hq/gatehouse/internal/domain/tasks"
	"github.com/gatehouse-hq/gatehouse/internal/infra/op"
	"github.com/gatehouse-hq/gatehouse/internal/web/edge"
	"github.com/gatehouse-hq/gatehouse/internal/web/ui"
)

// editorView is the editor: of a new note while note.ID is empty.
type editorView struct {
	flash     *ui.Flash
	form      *edge.Form
	note      corpus.Note
	page      markdown.Page
	parents   []ui.Option
	above     []corpus.Crumb
	backlinks []corpus.Crumb
	events    []tasks.Event
	lost      bool         // the history could not be read
	task      string       // the task that brings the last change into search
	theirs    *corpus.Note // what the note has become since the form was opened
}

func (v editorView) fresh() bool { return v.note.ID == "" }

func (s *Section) blank(w http.ResponseWriter, r *http.Request) error {
	genre, err := genreOf(r)
	if err != nil {
		return err
	}
	typed := url.Values{"parent_id": {r.URL.Query().Get("parent")}, "title": {r.URL.Query().Get("title")}}
	return s.showNew(w, r, http.StatusOK, genre, edge.Filled(typed))
}

func genreOf(r *http.Request) (corpus.Genre, error) {
	switch g := corpus.Genre(r.URL.Query().Get("genre")); g {
	case "":
		return corpus.Wiki, nil
	case corpus.Wiki, corpus.Writing, corpus.Raw:
		return g, nil
	}
	return "", edge.ErrNotFound
}

func (s *Section) showNew(w http.ResponseWriter, r *http.Request, status int, genre corpus.Genre, form *edge.Form) error {
	v := editorView{form: form, note: corpus.Note{Genre: genre}}
	var err error
	if v.page, err = s.previewOf(r.Context(), form, ""); err != nil {
		return err
	}
	if genre == corpus.Wiki {
		if v.parents, err = s.paths(r.Context(), ""); err != nil {
			return err
		}
	}
	return edge.Render(w, r, status, editorPage(v))
}

func (s *Section) create(w http.ResponseWriter, r *http.Request) error {
	genre, err := genreOf(r)
	if err != nil {
		return err
	}
	form, err := edge.ParseForm(r)
	if err != nil {
		return err
	}
	if form.Text("do") == "preview" {
		return s.showNew(w, r, http.StatusOK, genre, form)
	}
	parentID := ""
	if genre == corpus.Wiki {
		if parentID, err = s.parent(r.Context(), form); err != nil {
			return err
		}
	}
	in := newNote(form, genre, parentID, ui.EnvFrom(r.Context()).Zone)
	if !form.OK() {
		return s.showNew(w, r, http.StatusUnprocessableEntity, genre, form)
	}
	receipt, err := s.corpus.Create(r.Context(), in)
	if err != nil {
		if form.Absorb(err) {
			return s.showNew(w, r, http.StatusUnprocessableEntity, genre, form)
		}
		return err
	}
	return saved(w, r, receipt)
}

// saved tells honestly how far a change has come: found by search already, or on its way, with the task that brings it.
func saved(w http.ResponseWriter, r *http.Request, receipt corpus.Receipt) error {
	to := at(receipt.NoteID)
	switch {
	case !receipt.Changed:
		edge.SetFlash(w, r, "note-unchanged", 0)
	case receipt.Indexed:
		edge.SetFlash(w, r, "note-indexed", 0)
	default:
		edge.SetFlash(w, r, "note-saved", 0)
		if receipt.IndexJobID != 0 {
			to += "?task=" + strconv.FormatInt(int64(receipt.IndexJobID), 10)
		}
	}
	return edge.SeeOther(w, r, to)
}

func (s *Section) editor(w http.ResponseWriter, r *http.Request) error {
	n, err := s.corpus.Get(r.Context(), chi.URLParam(r, "id"))
	if err != nil {
		return err
	}
	if err := s.corpus.Viewed(r.Context(), n.ID); err != nil {
		return err
	}
	form := edge.Filled(filled(n, ui.EnvFrom(r.Context()).Zone))
	v := editorView{form: form, note: n, flash: edge.TakeFlash(w, r)}
	if _, err := strconv.ParseUint(r.URL.Query().Get("task"), 10, 63); err == nil {
		v.task = r.URL.Query().Get("task")
	}
	return s.show(w, r, http.StatusOK, v)
}

// show renders the editor of a note that is there, with everything around it.
func (s *Section) show(w http.ResponseWriter, r *http.Request, status int, v editorView) error {
	ctx := r.Context()
	var err error
	if v.page, err = s.previewOf(ctx, v.form, v.note.ID); err != nil {
		return err
	}
	if v.above, err = s.corpus.Ancestors(ctx, v.note.ID); err != nil {
		return err
	}
	if v.backlinks, err = s.corpus.Backlinks(ctx, v.note.ID); err != nil {
		return err
	}
	// A note can be edited while its history cannot be read; the page says so.
	history, err := s.stream.ListEvents(ctx, tasks.EventQuery{Subject: v.note.URI(), Limit: 20})
	v.events, v.lost = history.Events, err != nil
	return edge.Render(w, r, status, editorPage(v))
}

func (s *Section) save(w http.ResponseWriter, r *http.Request) error {
	n, err := s.corpus.Get(r.Context(), chi.URLParam(r, "id"))
	if err != nil {
		return err
	}
	form, err := edge.ParseForm(r)
	if err != nil {
		return err
	}
	v := editorView{form: form, note: n}
	if form.Text("do") == "preview" {
		return s.show(w, r, http.StatusOK, v)
	}
	c := change(form, n, ui.EnvFrom(r.Context()).Zone)
	if !form.OK() {
		return s.show(w, r, http.StatusUnprocessableEntity, v)
	}
	if c.ExpectVersion < 0 {
		return s.stale(w, r, v)
	}
	receipt, err := s.corpus.Update(r.Context(), c)
	switch {
	case err == nil:
		return saved(w, r, receipt)
	case form.Absorb(err):
		return s.show(w, r, http.StatusUnprocessableEntity, v)
	case op.CodeOf(err) == op.Conflict:
		return s.stale(w, r, v)
	}
	return err
}

// stale shows both texts: the one that was typed, in the form, and the one that is stored now. Saving again is then a
// decision, made with the newest version in view.
func (s *Section) stale(w http.ResponseWriter, r *http.Request, v editorView) error {
	now, err := s.corpus.Get(r.Context(), v.note.ID)
	if err != nil {
		return err
	}
	v.note, v.theirs = now, &now
	return s.show(w, r, http.StatusConflict, v)
}

// previewOf renders what the form holds, for the owner's eyes.
func (s *Section) previewOf(ctx context.Context, f *edge.Form, id string) (markdown.Page, error) {
	page, err := s.corpus.Preview(ctx, f.Text("title"), f.Raw("body"), id)
	if err != nil && f.Absorb(err) {
		return markdown.Page{}, nil
	}
	return page, err
}

// preview answers the editor with the preview alone.
func (s *Section) preview(w http.ResponseWriter, r *http.Request) error {
	form, err := edge.ParseForm(r)
	if err != nil {
		return err
	}
	page, err := s.previewOf(r.Context(), form, form.Text("id"))
	if err != nil {
		return err
	}
	return edge.Render(w, r, http.StatusOK, previewText(page, form.Err("body")))
}

// complete suggests notes to link to.
func (s *Section) complete(w http.ResponseWriter, r *http.Request) error {
	form := edge.Filled(url.Values{"text": {r.URL.Query().Get("find")}})
	text := form.Text("text")
	var found []corpus.Suggestion
	if text != "" {
		var err error
		if found, err = s.corpus.CompleteLink(r.Context(), text); err != nil && !form.Absorb(err) {
			return err
		}
	}
	return edge.Render(w, r, http.StatusOK, suggestions(found, text))
}
