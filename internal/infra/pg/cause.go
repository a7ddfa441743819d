package pg

import (
	"context"
	"encoding/json"
	"strings"
)

// Cause says what led to a write: the request or job it happened in and who
// asked. It is stored with events and jobs, so that the panel can show the
// chain request → event → task → delivery.
type Cause struct {
	Request string `json:"request,omitempty"` // request id of the HTTP call
	Actor   string `json:"actor,omitempty"`   // "owner", "token:<id>", "visitor", "cli"
	Job     int64  `json:"job,omitempty"`     // id of the job whose handler wrote
	Event   string `json:"event,omitempty"`   // id of the event that job handled
}

type causeKey struct{}

// WithCause returns ctx carrying c. It is request-scoped data about the call,
// not a way to pass a transaction.
func WithCause(ctx context.Context, c Cause) context.Context {
	return context.WithValue(ctx, causeKey{}, c)
}

// CauseFrom returns the cause that ctx carries, or the zero Cause.
func CauseFrom(ctx context.Context) Cause {
	c, _ := ctx.Value(causeKey{}).(Cause)
	return c
}

// JSON is the stored form of c, or "" for the zero Cause.
func (c Cause) JSON() string {
	if c == (Cause{}) {
		return ""
	}
	b, err := json.Marshal(c)
	if err != nil { // strings and an int64 always marshal
		return ""
	}
	return string(b)
}

// beginQuery opens the transaction and sets gatehouse.cause in the same round
// trip. The events table's default reads it.
func beginQuery(ctx context.Context) string {
	j := CauseFrom(ctx).JSON()
	if j == "" || strings.ContainsRune(j, 0) {
		return "begin"
	}
	// E'' with both quote and backslash doubled is safe whatever
	// standard_conforming_strings says.
	quoted := strings.NewReplacer(`\`, `\\`, `'`, `''`).Replace(j)
	return "begin; set local gatehouse.cause = E'" + quoted + "'"
}
