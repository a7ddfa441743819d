package webhook

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	"golang.org/x/net/http/httpguts"
)

// Bounds of the headers an owner may add to an endpoint.
const (
	MaxHeaders          = 20
	MaxHeaderNameBytes  = 100
	MaxHeaderValueBytes = 4096
)

// Header is a header an owner added to an endpoint's requests.
type Header struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// HeaderError says which of the owner's headers cannot be sent, and why. It never holds the value, which may be a token.
type HeaderError struct {
	Index  int // position in the list
	Name   string
	Reason string
}

func (e *HeaderError) Error() string { return fmt.Sprintf("header %q: %s", e.Name, e.Reason) }

// ownHeaders are not the owner's to set: they belong to one connection (RFC 9110 §7.6.1), to the message's framing, or to us.
var ownHeaders = []string{
	"connection", "keep-alive", "proxy-connection", "proxy-authenticate", "proxy-authorization", "te", "trailer", "trailers",
	"transfer-encoding", "upgrade", "host", "expect", "accept-encoding", "user-agent",
	// With one of these net/http holds a POST for repeatable and sends it again by itself after a cut connection.
	"idempotency-key", "x-idempotency-key",
}

// CheckHeaders refuses, with a *HeaderError, names and values that cannot or must not be sent.
func CheckHeaders(headers []Header) error {
	seen := make(map[string]bool, len(headers))
	for i, header := range headers {
		reason := headerProblem(header)
		lower := strings.ToLower(header.Name)
		if reason == "" && seen[lower] {
			reason = "it is there twice (upper and lower case are the same)"
		}
		if reason == "" && i >= MaxHeaders {
			reason = fmt.Sprintf("more than %d headers", MaxHeaders)
		}
		if reason != "" {
			return &HeaderError{Index: i, Name: header.Name, Reason: reason}
		}
		seen[lower] = true
	}
	return nil
}

func headerProblem(header Header) string {
	name := strings.ToLower(header.Name)
	switch {
	case name == "":
		return "the name is empty"
	case len(name) > MaxHeaderNameBytes:
		return fmt.Sprintf("the name is longer than %d bytes", MaxHeaderNameBytes)
	case !httpguts.ValidHeaderFieldName(name):
		return "a name is made of letters, digits and hyphens"
	case slices.Contains(ownHeaders, name):
		return "this header is set by the connection"
	case strings.HasPrefix(name, "content-"), strings.HasPrefix(name, "webhook-"):
		return "this header is part of the delivery itself"
	case len(header.Value) > MaxHeaderValueBytes:
		return fmt.Sprintf("the value is longer than %d bytes", MaxHeaderValueBytes)
	case strings.ContainsAny(header.Value, "\r\n"):
		return "the value holds a line break"
	case !httpguts.ValidHeaderFieldValue(header.Value):
		return "the value holds a control character"
	case header.Value != strings.TrimSpace(header.Value):
		return "the value begins or ends with a space"
	}
	return ""
}

// secretHeaders are answers' headers whose values are not kept, and secretParts words that make a name one of them.
var (
	secretHeaders = []string{"Set-Cookie", "Set-Cookie2", "Authorization", "Proxy-Authorization", "Www-Authenticate", "Proxy-Authenticate", "Authentication-Info"}
	secretParts   = []string{"token", "secret", "cookie", "password", "api-key", "apikey", "session"}
)

// hidden stands for the value of a header that is not kept.
const hidden = "(hidden)"

// MaxKeptHeaderBytes is how much of an answer's headers is kept, names and values counted.
const MaxKeptHeaderBytes = 32 << 10

// keepHeaders returns an answer's headers for the log: secrets hidden, text clean, and whole headers left out past the
// bound. Those that fit are chosen by name, so that the same answer gives the same log.
func keepHeaders(from http.Header, location string) (kept http.Header, truncated bool) {
	names := make([]string, 0, len(from))
	for name := range from {
		names = append(names, name)
	}
	slices.Sort(names)
	kept, left := make(http.Header, len(names)), MaxKeptHeaderBytes
	for _, name := range names {
		values := keepValues(name, from[name], location)
		size := len(name)
		for _, value := range values {
			size += len(value)
		}
		if size > left {
			truncated = true
			continue
		}
		left -= size
		kept[cleanText(name)] = values
	}
	return kept, truncated
}

func keepValues(name string, values []string, location string) []string {
	switch {
	case name == "Location" || name == "Content-Location" || name == "Refresh":
		return []string{location} // the other side may have put our own token into it
	case isSecret(name):
		return []string{hidden}
	}
	for i, value := range values {
		values[i] = cleanText(value)
	}
	return values
}

func isSecret(name string) bool {
	if slices.Contains(secretHeaders, name) {
		return true
	}
	lower := strings.ToLower(name)
	return slices.ContainsFunc(secretParts, func(part string) bool { return strings.Contains(lower, part) })
}
