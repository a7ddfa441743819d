// Package settings is where the owner looks after the account and the site's
// name.
package settings

import (
	"net/http"
	"net/url"
	"strconv"

	"github.com/go-chi/chi/v5"

	"github.com/gatehouse-hq/gatehouse/internal/domain/owner"
	"github.com/gatehouse-hq/gatehouse/internal/infra/op"
	"github.com/gatehouse-hq/gatehouse/internal/web/edge"
	"github.com/gatehouse-hq/gatehouse/internal/web/session"
	"github.com/gatehouse-hq/gatehouse/internal/web/ui"
)

const home = "/admin/settings"

// Section holds the handlers.
type Section struct {
	owner *owner.Domain
	gate  *session.Gate
}

// New returns the section.
func New(d *owner.Domain, g *session.Gate) *Section { return &Section{owner: d, gate: g} }

// Messages are what the section's actions say when they are done.
func Messages() map[string]edge.Message {
	return map[string]edge.Message{
		"settings-saved":   {Tone: ui.Done, One: "The settings are saved."},
		"password-changed": {Tone: ui.Done, One: "The password is changed. Every other browser was signed out."},
		"session-ended":    {Tone: ui.Done, One: "That browser is signed out."},
		"session-gone":     {Tone: ui.Told, One: "That session had already ended."},
		"token-revoked":    {Tone: ui.Done, One: "The token is revoked. It opens nothing from now on."},
		"token-gone":       {Tone: ui.Told, One: "That token is not there, or was revoked already."},
	}
}

// view is the page: two forms and a list.
type view struct {
	owner    owner.Owner
	settings *edge.Form
	password *edge.Form
	sessions []owner.Session
	flash    *ui.Flash
}

// Page shows the settings.
func (s *Section) Page(w http.ResponseWriter, r *http.Request) error {
	return s.show(w, r, http.StatusOK, view{flash: edge.TakeFlash(w, r)})
}

// show fills in what the handler left out.
func (s *Section) show(w http.ResponseWriter, r *http.Request, status int, v view) error {
	o, err := s.owner.Owner(r.Context())
	if err != nil {
		return err
	}
	v.owner = o
	if v.settings == nil {
		v.settings = edge.Filled(url.Values{"name": {o.Name}, "title": {o.Title}, "tagline": {o.Tagline}, "zone": {o.Zone}, "single_keys": {strconv.FormatBool(o.SingleKeys)}})
	}
	if v.password == nil {
		v.password = edge.Filled(url.Values{})
	}
	if v.sessions, err = s.owner.Sessions(r.Context(), s.gate.Token(r)); err != nil {
		return err
	}
	return edge.Render(w, r, status, page(v))
}

// Save stores the settings, or shows the form again with what is wrong.
func (s *Section) Save(w http.ResponseWriter, r *http.Request) error {
	form, err := edge.ParseForm(r)
	if err != nil {
		return err
	}
	in := owner.Settings{Name: form.Text("name"), Title: form.Text("title"), Tagline: form.Text("tagline"), Zone: form.Text("zone"), SingleKeys: form.Bool("single_keys")}
	if form.OK() {
		if err := s.owner.SaveSettings(r.Context(), in); err != nil && !form.Absorb(err) {
			return err
		}
	}
	if !form.OK() {
		return s.show(w, r, http.StatusUnprocessableEntity, view{settings: form})
	}
	edge.SetFlash(w, r, "settings-saved", 0)
	return edge.SeeOther(w, r, home)
}

// ChangePassword asks for the old one and signs every other browser out.
func (s *Section) ChangePassword(w http.ResponseWriter, r *http.Request) error {
	form, err := edge.ParseForm(r)
	if err != nil {
		return err
	}
	if form.Raw("password") != form.Raw("again") {
		form.Fail("again", "The two passwords differ.")
	}
	if form.OK() {
		err := s.owner.ChangePassword(r.Context(), s.gate.Token(r), form.Raw("old"), form.Raw("password"))
		if err != nil && !form.Absorb(err) {
			return err
		}
	}
	if !form.OK() {
		return s.show(w, r, http.StatusUnprocessableEntity, view{password: form})
	}
	edge.SetFlash(w, r, "password-changed", 0)
	return edge.SeeOther(w, r, home)
}

// EndSession signs one browser out.
func (s *Section) EndSession(w http.ResponseWriter, r *http.Request) error {
	if _, err := edge.ParseForm(r); err != nil {
		return err
	}
	switch err := s.owner.EndSession(r.Context(), chi.URLParam(r, "id")); {
	case op.CodeOf(err) == op.NotFound:
		edge.SetFlash(w, r, "session-gone", 0)
	case err != nil:
		return err
	default:
		edge.SetFlash(w, r, "session-ended", 0)
	}
	return edge.SeeOther(w, r, home)
}
