package notes

import (
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/go-chi/chi/v5"

	"github.com/gatehouse-hq/gatehouse/internal/domain/corpus"
	"github.com/gatehouse-hq/gatehouse/internal/infra/op"
	"github.com/gatehouse-hq/gatehouse/internal/web/edge"
	"github.com/gatehouse-hq/gatehouse/internal/web/ui"
)

// placeView asks where in the wiki a note shall stand. A raw note is promoted by it.
type placeView struct {
	note    corpus.Note
	form    *edge.Form
	parents []ui.Option
	changed bool // the note has changed since the page was opened
}

func (v placeView) promoting() bool { return v.note.Genre == corpus.Raw }

func (s *Section) place(w http.ResponseWriter, r *http.Request) error {
	n, err := s.placed(r)
	if err != nil {
		return err
	}
	above := ""
	if cut := strings.LastIndexByte(n.Path, '/'); n.Genre == corpus.Wiki && cut > 0 {
		above = n.Path[:cut]
	}
	form := edge.Filled(url.Values{"parent_id": {above}, "position": {strconv.Itoa(n.Position)}})
	return s.showPlace(w, r, http.StatusOK, placeView{note: n, form: form})
}

// placed is the note of the request, if it is one that can have a place in the tree.
func (s *Section) placed(r *http.Request) (corpus.Note, error) {
	n, err := s.corpus.Get(r.Context(), chi.URLParam(r, "id"))
	if err == nil && n.Genre == corpus.Writing {
		return n, edge.ErrNotFound
	}
	return n, err
}

func (s *Section) showPlace(w http.ResponseWriter, r *http.Request, status int, v placeView) error {
	leave := ""
	if v.note.Genre == corpus.Wiki {
		leave = v.note.Path
	}
	var err error
	if v.parents, err = s.paths(r.Context(), leave); err != nil {
		return err
	}
	return edge.Render(w, r, status, placePage(v))
}

func (s *Section) move(w http.ResponseWriter, r *http.Request) error {
	n, err := s.placed(r)
	if err != nil {
		return err
	}
	form, err := edge.ParseForm(r)
	if err != nil {
		return err
	}
	v := placeView{note: n, form: form}
	parentID, err := s.parent(r.Context(), form)
	if err != nil {
		return err
	}
	var position *int
	if !v.promoting() && form.Text("position") != "" {
		const most = 1_000_000
		p := form.Int("position", -most, most)
		position = &p
	}
	if !form.OK() {
		return s.showPlace(w, r, http.StatusUnprocessableEntity, v)
	}
	said := "note-moved"
	if v.promoting() {
		said = "note-promoted"
		_, err = s.corpus.Promote(r.Context(), n.ID, parentID, version(form))
	} else {
		_, err = s.corpus.Move(r.Context(), n.ID, parentID, position, version(form))
	}
	switch {
	case err == nil:
		edge.SetFlash(w, r, said, 0)
		return edge.SeeOther(w, r, at(n.ID))
	case form.Absorb(err):
		return s.showPlace(w, r, http.StatusUnprocessableEntity, v)
	case op.CodeOf(err) == op.Conflict:
		v.changed = true
		return s.showPlace(w, r, http.StatusConflict, v)
	}
	return err
}
