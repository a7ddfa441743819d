package op

import (
	"errors"
	"fmt"
	"log/slog"
	"math"
	"time"
)

// Code is the sort of an error that a caller can act on.
type Code string

const (
	Invalid      Code = "invalid"      // 400/422: the input is wrong; Field says where
	Unauthorized Code = "unauthorized" // 401
	Forbidden    Code = "forbidden"    // 403
	NotFound     Code = "not_found"    // 404
	Conflict     Code = "conflict"     // 409: somebody or something was faster
	TooLarge     Code = "too_large"    // 413
	TooMany      Code = "too_many"     // 429
	Unavailable  Code = "unavailable"  // 503
)

// Error is an error with words for the person who asked. Message never holds
// internals; Cause is only logged.
type Error struct {
	code    Code
	field   string
	message string
	cause   error
}

func (e *Error) Error() string {
	s := e.message
	if e.field != "" {
		s = e.field + ": " + s
	}
	return s
}

// LogValue is what the log shows: with the cause, which a person never sees.
func (e *Error) LogValue() slog.Value {
	if e.cause == nil {
		return slog.StringValue(e.Error())
	}
	return slog.StringValue(e.Error() + ": " + e.cause.Error())
}

// Code is the sort of error.
func (e *Error) Code() string { return string(e.code) }

// Field names the input field at fault, or is empty.
func (e *Error) Field() string { return e.field }

// Message is the sentence for a person.
func (e *Error) Message() string { return e.message }

// Unwrap returns the internal cause, which is never shown.
func (e *Error) Unwrap() error { return e.cause }

// Invalidf says that a field's value is wrong and what is allowed.
func Invalidf(field, format string, a ...any) error {
	return &Error{code: Invalid, field: field, message: fmt.Sprintf(format, a...)}
}

// Conflictf says that a field's value collides with what is there already.
func Conflictf(field, format string, a ...any) error {
	return &Error{code: Conflict, field: field, message: fmt.Sprintf(format, a...)}
}

// Errorf is an error of the given code with a sentence for a person.
func Errorf(code Code, format string, a ...any) error {
	return &Error{code: code, message: fmt.Sprintf(format, a...)}
}

// Wrap gives an internal error a code and a sentence for a person.
func Wrap(cause error, code Code, format string, a ...any) error {
	return &Error{code: code, message: fmt.Sprintf(format, a...), cause: cause}
}

// later is an Error that says when to try again.
type later struct {
	error
	after time.Duration
}

func (l later) Unwrap() error             { return l.error }
func (l later) RetryAfter() time.Duration { return l.after }

// After adds to err, an error of this package, how long to wait before the
// next try. The faces say it as Retry-After.
func After(err error, wait time.Duration) error { return later{err, wait} }

// RetryAfter is what After has said of err in whole seconds, rounded up; 0 for
// an error that does not say.
func RetryAfter(err error) int {
	var l later
	if !errors.As(err, &l) {
		return 0
	}
	return max(1, int(math.Ceil(l.after.Seconds())))
}

// CodeOf returns the code of err, or "" for an internal error.
func CodeOf(err error) Code {
	var e *Error
	if errors.As(err, &e) {
		return e.code
	}
	return ""
}
