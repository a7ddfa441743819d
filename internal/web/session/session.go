package session

import (
	"context"
	"net/http"

	"github.com/gatehouse-hq/gatehouse/internal/domain"
	"github.com/gatehouse-hq/gatehouse/internal/domain/owner"
	"github.com/gatehouse-hq/gatehouse/internal/infra/op"
	"github.com/gatehouse-hq/gatehouse/internal/infra/pg"
	"github.com/gatehouse-hq/gatehouse/internal/web/edge"
	"github.com/gatehouse-hq/gatehouse/internal/web/ui"
)

// Gate tells the owner's browser from a stranger's.
type Gate struct {
	owner  *owner.Domain
	edge   *edge.Edge
	secure bool
}

// New returns a gate; secure marks the cookie for https only.
func New(o *owner.Domain, e *edge.Edge, secure bool) *Gate {
	return &Gate{owner: o, edge: e, secure: secure}
}

type (
	ownerKey   struct{}
	unknownKey struct{}
)

// Unknown is why it could not be told whether the owner asks, such as a database that does not answer; nil when it
// could. A face that would send strangers away must not do so then: the owner would take it for a lost session.
func Unknown(ctx context.Context) error {
	err, _ := ctx.Value(unknownKey{}).(error)
	return err
}

// Owner is the signed-in owner. Behind the gate it is always there.
func Owner(ctx context.Context) (owner.Owner, bool) {
	o, ok := ctx.Value(ownerKey{}).(owner.Owner)
	return o, ok
}

// cookieName has the __Host- prefix under https: such a cookie cannot be
// planted by a neighbouring host (RFC 6265bis).
func (g *Gate) cookieName() string {
	if g.secure {
		return "__Host-gatehouse"
	}
	return "gatehouse"
}

// Token is the session token that r carries, or "".
func (g *Gate) Token(r *http.Request) string {
	c, err := r.Cookie(g.cookieName())
	if err != nil {
		return ""
	}
	return c.Value
}

func (g *Gate) keep(w http.ResponseWriter, token string) {
	http.SetCookie(w, &http.Cookie{Name: g.cookieName(), Value: token, Path: "/", MaxAge: int(owner.SessionLife.Seconds()),
		HttpOnly: true, Secure: g.secure, SameSite: http.SameSiteLaxMode})
}

func (g *Gate) drop(w http.ResponseWriter) {
	http.SetCookie(w, &http.Cookie{Name: g.cookieName(), Path: "/", MaxAge: -1,
		HttpOnly: true, Secure: g.secure, SameSite: http.SameSiteLaxMode})
}

// Still tells whether the sender of a request that was let through may go on: the answer to it may take minutes.
func (g *Gate) Still(r *http.Request) (bool, error) {
	_, err := g.identify(r)
	if op.CodeOf(err) == op.Unauthorized {
		return false, nil
	}
	return err == nil, err
}

// Require lets the owner through. A page asked for by a stranger leads to the
// sign-in page and back; anything else is 401.
func (g *Gate) Require(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx, err := g.identify(r)
		if err == nil {
			w.Header().Set("Cache-Control", "no-store")
			next.ServeHTTP(w, r.WithContext(ctx))
			return
		}
		g.edge.Fail(w, r, err)
	})
}

// Notice puts the owner into the context when there is one, and lets
// strangers pass as strangers. When it could not be told who asks, Unknown says why.
func (g *Gate) Notice(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx, err := g.identify(r)
		switch {
		case err == nil:
			r = r.WithContext(ctx)
		case op.CodeOf(err) != op.Unauthorized:
			r = r.WithContext(context.WithValue(r.Context(), unknownKey{}, err))
		}
		next.ServeHTTP(w, r)
	})
}

func (g *Gate) identify(r *http.Request) (context.Context, error) {
	token := g.Token(r)
	if token == "" {
		return nil, op.Errorf(op.Unauthorized, "Sign in to see this page.")
	}
	o, err := g.owner.Session(r.Context(), token)
	if err != nil {
		return nil, err
	}
	ctx := context.WithValue(r.Context(), ownerKey{}, o)
	ctx = pg.WithCause(ctx, pg.Cause{Request: edge.RequestID(ctx), Actor: "owner"})
	ctx = domain.WithZone(ctx, o.Location())
	return ui.WithKeys(ui.WithZone(ctx, o.Location()), o.SingleKeys), nil
}
