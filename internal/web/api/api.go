package api

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"

	"github.com/go-chi/chi/v5"

	"github.com/gatehouse-hq/gatehouse/internal/infra/op"
	"github.com/gatehouse-hq/gatehouse/internal/web/edge"
	"github.com/gatehouse-hq/gatehouse/internal/web/session"
)

// Prefix is where the operations are mounted; the operation's name follows.
const Prefix = "/api/admin/"

// bodyLimit is what one call may send, in bytes: as much as over MCP. An import
// of notes may be 4 MiB, and JSON makes it longer.
const bodyLimit = 6 << 20

// API answers for the operations.
type API struct {
	edge   *edge.Edge
	gate   *session.Gate
	ops    *op.Set
	bearer op.Bearer
}

// New returns the projection of ops. A nil bearer accepts no token at all.
func New(e *edge.Edge, g *session.Gate, ops *op.Set, bearer op.Bearer) *API {
	return &API{edge: e, gate: g, ops: ops, bearer: bearer}
}

// Routes mounts the operations. They guard themselves.
func (a *API) Routes(r chi.Router) {
	run := a.gate.Notice(http.HandlerFunc(a.serve))
	// In this order: Handle takes every method, what follows its own.
	r.Handle(Prefix+"{operation}", a.only("POST", "An operation is run by POST, its input as the JSON body."))
	r.Method(http.MethodPost, Prefix+"{operation}", run)
	r.Handle(DescriptionPath, a.only("GET, HEAD", "The description is read by GET."))
	describe := a.gate.Notice(http.HandlerFunc(a.describe))
	r.Method(http.MethodGet, DescriptionPath, describe)
	r.Method(http.MethodHead, DescriptionPath, describe)
	r.Handle("/api/*", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { a.fail(w, r, errUnknown) }))
}

// only answers a method that an address does not take.
func (a *API) only(methods, detail string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Allow", methods)
		a.write(w, r, problem{Status: http.StatusMethodNotAllowed, Code: "method", Detail: detail})
	})
}

var errUnknown = op.Errorf(op.NotFound, "There is no such operation.")

func (a *API) serve(w http.ResponseWriter, r *http.Request) {
	out, err := a.run(w, r)
	if err != nil {
		a.fail(w, r, err)
		return
	}
	a.answer(w, r, out)
}

func (a *API) answer(w http.ResponseWriter, r *http.Request, body json.RawMessage) {
	w.Header().Set("Cache-Control", "private, no-store")
	edge.WriteBody(w, r, http.StatusOK, "application/json", append(body, '\n'))
}

// run checks the caller before it says whether an operation exists: strangers
// learn no names.
func (a *API) run(w http.ResponseWriter, r *http.Request) (json.RawMessage, error) {
	ctx, allow, err := a.caller(r)
	if err != nil {
		return nil, err
	}
	operation, ok := a.ops.Get(chi.URLParam(r, "operation"))
	if !ok {
		return nil, errUnknown
	}
	if !allow(operation.Class) {
		return nil, op.Errorf(op.Forbidden, "This token does not allow operations of class %s.", operation.Class)
	}
	in, err := readBody(w, r)
	if err != nil {
		return nil, err
	}
	out, err := operation.Run(ctx, in)
	if err != nil {
		return nil, err
	}
	return operation.Encode(out)
}

// allow says whether a caller may run operations of a class.
type allow func(op.Class) bool

// caller prefers a token when one is carried: a wrong one is refused, whatever
// cookie came along.
func (a *API) caller(r *http.Request) (context.Context, allow, error) {
	if token, carried := edge.BearerToken(r); carried {
		if a.bearer == nil || token == "" {
			return nil, nil, op.Errorf(op.Unauthorized, "The Authorization header names no token of this site.")
		}
		ctx, caller, err := a.bearer(r.Context(), token)
		return ctx, caller.Allows, err
	}
	if err := session.Unknown(r.Context()); err != nil {
		return nil, nil, err
	}
	if _, signedIn := session.Owner(r.Context()); !signedIn {
		return nil, nil, op.Errorf(op.Unauthorized, "Sign in, or send a token.")
	}
	return r.Context(), func(op.Class) bool { return true }, nil
}

func readBody(w http.ResponseWriter, r *http.Request) (json.RawMessage, error) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, bodyLimit))
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &tooLarge):
		return nil, op.Wrap(err, op.TooLarge, "At most %d bytes are taken at once here.", tooLarge.Limit)
	case err != nil:
		return nil, op.Wrap(err, op.Invalid, "The body did not arrive whole.")
	case len(body) == 0:
		return nil, nil
	}
	// A form of another site can send text/plain, never this type.
	if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || kind != "application/json" {
		return nil, errMediaType
	}
	return body, nil
}
