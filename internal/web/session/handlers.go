package session

import (
	"net/http"
	"net/url"
	"strconv"

	"github.com/gatehouse-hq/gatehouse/internal/domain/owner"
	"github.com/gatehouse-hq/gatehouse/internal/infra/op"
	"github.com/gatehouse-hq/gatehouse/internal/web/edge"
	"github.com/gatehouse-hq/gatehouse/internal/web/ui"
)

// Home is where a sign-in without a next page leads.
const Home = "/admin/"

// Routes adds the pages of the door.
func (g *Gate) Routes(mux interface {
	Method(method, pattern string, h http.Handler)
}) {
	mux.Method("GET", "/login", g.edge.Handle(g.loginPage))
	mux.Method("POST", "/login", g.edge.Handle(g.login))
	mux.Method("GET", "/setup", g.edge.Handle(g.setupPage))
	mux.Method("POST", "/setup", g.edge.Handle(g.setup))
	mux.Method("POST", "/logout", g.edge.Handle(g.logout))
}

func visit(r *http.Request) owner.Visit {
	return owner.Visit{Address: edge.ClientIP(r.Context()).String(), UserAgent: r.UserAgent()}
}

func (g *Gate) loginPage(w http.ResponseWriter, r *http.Request) error {
	o, err := g.owner.Owner(r.Context())
	if err != nil {
		return err
	}
	form := edge.Filled(url.Values{"next": {r.URL.Query().Get("next")}})
	return edge.Render(w, r, http.StatusOK, loginView(form, edge.TakeFlash(w, r), o.SetUp))
}

func (g *Gate) login(w http.ResponseWriter, r *http.Request) error {
	form, err := edge.ParseForm(r)
	if err != nil {
		return err
	}
	token, err := g.owner.SignIn(r.Context(), form.Text("email"), form.Raw("password"), visit(r))
	switch {
	case op.CodeOf(err) == op.TooMany:
		if wait := op.RetryAfter(err); wait > 0 {
			w.Header().Set("Retry-After", strconv.Itoa(wait))
		}
		return edge.Render(w, r, http.StatusTooManyRequests, loginView(form, &ui.Flash{Tone: ui.Wrong, Text: err.Error()}, true))
	case err != nil && form.Absorb(err):
		return edge.Render(w, r, http.StatusUnprocessableEntity, loginView(form, nil, true))
	case err != nil:
		return err
	}
	g.keep(w, token)
	return edge.SeeOther(w, r, edge.LocalPath(form.Text("next"), Home))
}

func (g *Gate) setupPage(w http.ResponseWriter, r *http.Request) error {
	token := r.URL.Query().Get("token")
	if err := g.owner.CheckLink(r.Context(), token); err != nil {
		return err
	}
	// The address bar holds the token: no referrer may carry it on.
	w.Header().Set("Referrer-Policy", "no-referrer")
	return edge.RenderSecret(w, r, http.StatusOK, setupView(edge.Filled(url.Values{"token": {token}})))
}

func (g *Gate) setup(w http.ResponseWriter, r *http.Request) error {
	form, err := edge.ParseForm(r)
	if err != nil {
		return err
	}
	if form.Raw("password") != form.Raw("again") {
		form.Fail("again", "The two passwords differ.")
	}
	var token string
	if form.OK() {
		token, err = g.owner.SetUp(r.Context(), form.Raw("token"), form.Text("email"), form.Raw("password"), visit(r))
		if err != nil && !form.Absorb(err) {
			return err
		}
	}
	if !form.OK() {
		return edge.RenderSecret(w, r, http.StatusUnprocessableEntity, setupView(form))
	}
	g.keep(w, token)
	return edge.SeeOther(w, r, Home)
}

func (g *Gate) logout(w http.ResponseWriter, r *http.Request) error {
	if err := g.owner.SignOut(r.Context(), g.Token(r)); err != nil {
		return err
	}
	g.drop(w)
	edge.SetFlash(w, r, "signed-out", 0)
	return edge.SeeOther(w, r, "/login")
}

// Messages are what the door says on the next page.
func Messages() map[string]edge.Message {
	return map[string]edge.Message{"signed-out": {Tone: ui.Done, One: "You are signed out."}}
}
