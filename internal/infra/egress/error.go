package egress

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"syscall"
)

// Kind tells why there is no answer.
type Kind string

// The kinds of failure.
const (
	KindAddress     Kind = "address"     // refused by the guard; no packet was sent
	KindDNS         Kind = "dns"         // the name has no answer
	KindTimeout     Kind = "timeout"     // the deadline passed
	KindTLS         Kind = "tls"         // no trusted connection
	KindRefused     Kind = "refused"     // nobody listens there
	KindReset       Kind = "reset"       // the connection was cut
	KindUnreachable Kind = "unreachable" // no way leads there
	KindCanceled    Kind = "canceled"    // our own side gave up
	KindOther       Kind = "other"       // what came was no HTTP, or more headers than are read
)

// Error is a request without an answer. Its text is safe to show and to log.
type Error struct {
	Kind  Kind
	text  string
	cause error
}

func (e *Error) Error() string { return e.text }

// Unwrap gives the cause, for errors.Is and errors.As. Its text is not safe to show.
func (e *Error) Unwrap() error { return e.cause }

// KindOf is the kind of an error that came from Do or from reading its answer's body.
func KindOf(err error) Kind {
	var known *Error
	if errors.As(err, &known) {
		return known.Kind
	}
	return kindOf(err)
}

func asError(err error) *Error {
	kind := kindOf(err)
	return &Error{Kind: kind, text: textOf(kind, err), cause: err}
}

func kindOf(err error) Kind {
	var (
		refusal     *RefusedError
		dns         *net.DNSError
		network     net.Error
		certificate *tls.CertificateVerificationError
		record      tls.RecordHeaderError
		alert       tls.AlertError
		hostname    x509.HostnameError
		authority   x509.UnknownAuthorityError
	)
	switch {
	case errors.As(err, &refusal):
		return KindAddress
	case errors.As(err, &dns):
		return KindDNS
	case errors.Is(err, context.Canceled):
		return KindCanceled
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, os.ErrDeadlineExceeded), errors.As(err, &network) && network.Timeout():
		return KindTimeout
	case errors.As(err, &certificate), errors.As(err, &record), errors.As(err, &alert), errors.As(err, &hostname), errors.As(err, &authority):
		return KindTLS
	case errors.Is(err, syscall.ECONNREFUSED):
		return KindRefused
	case errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE), errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return KindReset
	case errors.Is(err, syscall.EHOSTUNREACH), errors.Is(err, syscall.ENETUNREACH):
		return KindUnreachable
	}
	return kindByText(err.Error())
}

// kindByText knows the failures for which net/http and crypto/tls have no type.
func kindByText(text string) Kind {
	switch {
	case strings.Contains(text, "server gave HTTP response to HTTPS client"), strings.HasPrefix(text, "tls: "), strings.Contains(text, "remote error: tls: "):
		return KindTLS
	case strings.Contains(text, "server closed idle connection"), strings.Contains(text, "connection broken"):
		return KindReset
	}
	return KindOther
}

func textOf(kind Kind, err error) string {
	switch kind {
	case KindAddress:
		var refusal *RefusedError
		errors.As(err, &refusal)
		return refusal.Error()
	case KindDNS:
		var dns *net.DNSError
		errors.As(err, &dns)
		if dns.IsNotFound {
			return "there is no host of this name"
		}
		return "the name could not be looked up"
	case KindTimeout:
		return "no answer in time"
	case KindTLS:
		return "no trusted TLS connection: " + printable(err.Error())
	case KindRefused:
		return "connection refused"
	case KindReset:
		return "the connection was closed without an answer"
	case KindUnreachable:
		return "no route to the address"
	case KindCanceled:
		return "given up before there was an answer"
	case KindOther:
	}
	return fmt.Sprintf("no usable answer: %s", printable(err.Error()))
}

// printable bounds a text that may hold bytes of the other side, and drops what a database or a terminal chokes on.
func printable(text string) string {
	const most = 200
	clean := strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r == '\uFFFD' {
			return -1
		}
		return r
	}, strings.ToValidUTF8(text[:min(len(text), most)], ""))
	return clean
}
