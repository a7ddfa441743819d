package op

import (
	"context"
	"slices"
)

// Classes are all classes, the most harmless first.
func Classes() []Class { return []Class{Read, Write, Destructive, Credential, Egress} }

// Words are the classes, for the schema of what takes one.
func (Class) Words() []string {
	var out []string
	for _, c := range Classes() {
		out = append(out, string(c))
	}
	return out
}

// Caller is who runs operations by a bearer token.
type Caller struct {
	Token   string // the token's id, never the token
	Classes []Class
}

// Allows reports whether the caller may run operations of class c.
func (c Caller) Allows(class Class) bool { return slices.Contains(c.Classes, class) }

// Bearer looks a token up. The context that comes back carries the caller and
// names it as the cause of what is written. An unknown, expired or revoked
// token is an Unauthorized error.
type Bearer func(ctx context.Context, token string) (context.Context, Caller, error)

type callerKey struct{}

// WithCaller returns ctx carrying c.
func WithCaller(ctx context.Context, c Caller) context.Context {
	return context.WithValue(ctx, callerKey{}, c)
}

// CallerFrom returns the caller with a token; false means the owner's own
// browser, or the program itself.
func CallerFrom(ctx context.Context) (Caller, bool) {
	c, ok := ctx.Value(callerKey{}).(Caller)
	return c, ok
}
