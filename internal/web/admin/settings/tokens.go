package settings

import (
	"net/http"
	"net/url"

	"github.com/go-chi/chi/v5"

	"github.com/gatehouse-hq/gatehouse/internal/domain/owner"
	"github.com/gatehouse-hq/gatehouse/internal/infra/op"
	"github.com/gatehouse-hq/gatehouse/internal/web/edge"
	"github.com/gatehouse-hq/gatehouse/internal/web/ui"
)

const tokensPath = home + "/tokens"

// tokensView is the page of tokens. secret is there once, on the page that
// answers the form.
type tokensView struct {
	form   *edge.Form
	tokens []owner.Token
	secret string
	issued owner.Token
	flash  *ui.Flash
}

// Tokens lists the tokens of programs that act for the owner.
func (s *Section) Tokens(w http.ResponseWriter, r *http.Request) error {
	return s.showTokens(w, r, http.StatusOK, tokensView{flash: edge.TakeFlash(w, r)})
}

func (s *Section) showTokens(w http.ResponseWriter, r *http.Request, status int, v tokensView) error {
	var err error
	if v.tokens, err = s.owner.AllTokens(r.Context()); err != nil {
		return err
	}
	if v.form == nil {
		v.form = edge.Filled(url.Values{"classes": {string(op.Read)}, "days": {"90"}})
	}
	if v.secret != "" {
		return edge.RenderSecret(w, r, status, tokensPage(v))
	}
	return edge.Render(w, r, status, tokensPage(v))
}

// IssueToken answers with the page that shows the secret: an address that
// shows it again does not exist.
func (s *Section) IssueToken(w http.ResponseWriter, r *http.Request) error {
	form, err := edge.ParseForm(r)
	if err != nil {
		return err
	}
	in := owner.IssueTokenIn{Name: form.Text("name"), Days: form.Int("days", 0, 3650)}
	for _, c := range form.List("classes") {
		in.Classes = append(in.Classes, op.Class(c))
	}
	if err := in.Check(r.Context()); err != nil && !form.Absorb(err) {
		return err
	}
	var out owner.IssueTokenOut
	if form.OK() {
		if out, err = s.owner.IssueToken(r.Context(), in); err != nil && !form.Absorb(err) {
			return err
		}
	}
	if !form.OK() {
		return s.showTokens(w, r, http.StatusUnprocessableEntity, tokensView{form: form})
	}
	return s.showTokens(w, r, http.StatusOK, tokensView{secret: out.Secret, issued: out.Token})
}

// ConfirmRevoke asks before a token is ended: the program that uses it stops
// at once, and nothing brings the secret back.
func (s *Section) ConfirmRevoke(w http.ResponseWriter, r *http.Request) error {
	list, err := s.owner.AllTokens(r.Context())
	if err != nil {
		return err
	}
	for _, t := range list {
		if t.ID == chi.URLParam(r, "id") && t.State != owner.TokenRevoked {
			return edge.Render(w, r, http.StatusOK, confirmRevoke(t))
		}
	}
	edge.SetFlash(w, r, "token-gone", 0)
	return edge.SeeOther(w, r, tokensPath)
}

// RevokeToken ends a token.
func (s *Section) RevokeToken(w http.ResponseWriter, r *http.Request) error {
	if _, err := edge.ParseForm(r); err != nil {
		return err
	}
	_, err := s.owner.RevokeToken(r.Context(), owner.RevokeTokenIn{ID: chi.URLParam(r, "id")})
	switch {
	case op.CodeOf(err) == op.NotFound:
		edge.SetFlash(w, r, "token-gone", 0)
	case err != nil:
		return err
	default:
		edge.SetFlash(w, r, "token-revoked", 0)
	}
	return edge.SeeOther(w, r, tokensPath)
}

// classField offers the classes in words.
func (v tokensView) classField() ui.Field {
	f := ui.Field{Name: "classes", Label: "What it may do", Required: true, Options: []ui.Option{
		{Value: string(op.Read), Label: "Read", Hint: "Look at notes, tasks, events and deliveries, private ones too."},
		{Value: string(op.Write), Label: "Write", Hint: "Create, change and publish notes; retry tasks; change endpoints."},
		{Value: string(op.Destructive), Label: "Destroy", Hint: "Delete notes and endpoints, cancel tasks. A program sees a plan before it acts."},
		{Value: string(op.Credential), Label: "Credentials", Hint: "Make and revoke tokens, no stronger than itself; see new signing secrets."},
		{Value: string(op.Egress), Label: "Send", Hint: "Make this server send to outside addresses: deliver again, recover, test."},
	}}
	return v.form.Field(f)
}

func className(c op.Class) string {
	switch c {
	case op.Read:
		return "Read"
	case op.Write:
		return "Write"
	case op.Destructive:
		return "Destroy"
	case op.Credential:
		return "Credentials"
	case op.Egress:
		return "Send"
	}
	return string(c)
}
