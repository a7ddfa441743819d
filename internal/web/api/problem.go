package api

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"

	"github.com/gatehouse-hq/gatehouse/internal/infra/op"
	"github.com/gatehouse-hq/gatehouse/internal/infra/pg"
	"github.com/gatehouse-hq/gatehouse/internal/web/edge"
)

// problem is a problem document (RFC 9457). Its type is about:blank: the title
// is the status's phrase, and Code says what a program needs to know.
type problem struct {
	Type      string  `json:"type"`
	Title     string  `json:"title"`
	Status    int     `json:"status"`
	Detail    string  `json:"detail"`
	Code      string  `json:"code"`
	Errors    []fault `json:"errors,omitempty"`
	RequestID string  `json:"request_id,omitempty"`
}

// fault is what is wrong with one field of the input.
type fault struct {
	Field  string `json:"field"`
	Detail string `json:"detail"`
}

var errMediaType = errors.New("the body is not of type application/json")

// fail answers with what err means. Faults of ours are logged here and nowhere
// else, and their text never leaves.
func (a *API) fail(w http.ResponseWriter, r *http.Request, err error) {
	if errors.Is(err, context.Canceled) && r.Context().Err() != nil {
		return // the client is gone
	}
	p := explain(err)
	if p.Status >= http.StatusInternalServerError {
		a.edge.Log.ErrorContext(r.Context(), "operation failed", "request_id", edge.RequestID(r.Context()),
			"path", r.URL.Path, "status", p.Status, "error", err)
	}
	if wait := op.RetryAfter(err); wait > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(wait))
	}
	a.write(w, r, p)
}

func (a *API) write(w http.ResponseWriter, r *http.Request, p problem) {
	p.Type, p.Title, p.RequestID = "about:blank", http.StatusText(p.Status), edge.RequestID(r.Context())
	body, err := json.Marshal(p)
	if err != nil { // strings and numbers always marshal
		http.Error(w, p.Title, p.Status)
		return
	}
	if p.Status == http.StatusUnauthorized {
		w.Header().Set("WWW-Authenticate", "Bearer")
	}
	w.Header().Set("Cache-Control", "private, no-store")
	edge.WriteBody(w, r, p.Status, "application/problem+json", append(body, '\n'))
}

func explain(err error) problem {
	if errors.Is(err, errMediaType) {
		return problem{Status: http.StatusUnsupportedMediaType, Code: "media_type", Detail: "Send the input as application/json."}
	}
	var e *op.Error
	if errors.As(err, &e) {
		p := problem{Status: statusOf(op.Code(e.Code())), Code: e.Code(), Detail: e.Error()}
		p.Errors = faults(err)
		return p
	}
	if errors.Is(err, pg.ErrUnsure) {
		return problem{Status: http.StatusServiceUnavailable, Code: string(op.Unavailable), Detail: "The connection to the database broke at the moment of saving: it may have been done or not. Look before you try again."}
	}
	if pg.Unavailable(err) || pg.DiskFull(err) {
		return problem{Status: http.StatusServiceUnavailable, Code: string(op.Unavailable), Detail: "The database did not answer, or has no room. Try again in a moment."}
	}
	return problem{Status: http.StatusInternalServerError, Code: "internal", Detail: "The fault is ours and has been logged."}
}

// faults lists every field that is wrong; a use case may join several.
func faults(err error) []fault {
	var many interface{ Unwrap() []error }
	if errors.As(err, &many) {
		var out []fault
		for _, one := range many.Unwrap() {
			out = append(out, faults(one)...)
		}
		return out
	}
	var e *op.Error
	if errors.As(err, &e) && e.Field() != "" {
		return []fault{{Field: e.Field(), Detail: e.Message()}}
	}
	return nil
}

func statusOf(c op.Code) int {
	switch c {
	case op.Invalid:
		return http.StatusUnprocessableEntity
	case op.Unauthorized:
		return http.StatusUnauthorized
	case op.Forbidden:
		return http.StatusForbidden
	case op.NotFound:
		return http.StatusNotFound
	case op.Conflict:
		return http.StatusConflict
	case op.TooLarge:
		return http.StatusRequestEntityTooLarge
	case op.TooMany:
		return http.StatusTooManyRequests
	case op.Unavailable:
		return http.StatusServiceUnavailable
	}
	return http.StatusInternalServerError
}
