package egress

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
)

// MaxURLBytes is the longest address that is accepted.
const MaxURLBytes = 2000

// RefusedError says why an address is refused. Reason is written for the person who typed the address: it tells the rule,
// never whether anything listens there, and holds neither credentials nor query.
type RefusedError struct {
	Reason string
}

func (e *RefusedError) Error() string { return "address refused: " + e.Reason }

func refuse(format string, parts ...any) *RefusedError {
	return &RefusedError{Reason: fmt.Sprintf(format, parts...)}
}

// Check tells at the moment of typing whether an address can be used, so that the message stands at its field. It refuses
// by the same rules as a dial, and resolves the name to say early what a dial would say later. A name is refused if any
// of its answers is: a name with a public and a private answer is a mistake or an attack, never a plan. A name that does
// not resolve just now is refused too. What Check lets through is decided again at each dial, on the address really used.
//
// Every error is a *RefusedError, save the context's own.
func (c *Client) Check(ctx context.Context, rawURL string) error {
	if len(rawURL) > MaxURLBytes {
		return refuse("it is longer than %d bytes", MaxURLBytes)
	}
	address, err := url.Parse(rawURL)
	if err != nil {
		return refuse("it is not a complete address like https://example.org/hook") // err would print the query
	}
	if address.Fragment != "" || strings.Contains(rawURL, "#") {
		return refuse("a fragment (#…) is never sent: leave it out")
	}
	if refusal := checkURL(address); refusal != nil {
		return refusal
	}
	secure, host := address.Scheme == "https", address.Hostname()
	named, port := c.guard.allow.names(host), portOf(address)
	if ip, err := netip.ParseAddr(host); err == nil {
		return c.guard.decide(netip.AddrPortFrom(ip, port), secure, named)
	}
	if normal, err := normalHost(host); err == nil {
		host = normal
	}
	answers, err := c.resolver.LookupNetIP(ctx, "ip", host)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	var dns *net.DNSError
	if err != nil && (!errors.As(err, &dns) || !dns.IsNotFound) {
		return refuse("the name %s cannot be looked up just now; try again in a moment", host)
	}
	if len(answers) == 0 {
		return refuse("there is no host of the name %s; look for a slip in it", host)
	}
	for _, ip := range answers {
		// The resolver gives IPv4 answers in mapped form; the dialer unmaps them, so it is no spelling trick here.
		if err := c.guard.decide(netip.AddrPortFrom(ip.Unmap(), port), secure, named); err != nil {
			return err
		}
	}
	return nil
}

// checkURL holds the rules that need no name to be resolved. It is cheap, and run before every request as well.
func checkURL(address *url.URL) *RefusedError {
	if address.Scheme != "https" && address.Scheme != "http" {
		return refuse("it has to begin with https://")
	}
	host := address.Hostname()
	if host == "" || address.Opaque != "" {
		return refuse("it names no host")
	}
	if text := address.Port(); text != "" || strings.HasSuffix(address.Host, ":") {
		port, err := strconv.ParseUint(text, 10, 16)
		if err != nil || !allowedPort(uint16(port)) {
			return refuse("port %s is refused: 80, 443 and those from 1024 on are allowed", text)
		}
	}
	return checkHost(host)
}

// checkHost refuses the spellings in which an address hides: they mean one thing to one reader and another to the next
// (F13). A literal has to be a plain IPv4 or IPv6 address.
func checkHost(host string) *RefusedError {
	if ip, err := netip.ParseAddr(host); err == nil {
		if ip.Zone() != "" {
			return refuse("an address with a zone (%%…) is refused")
		}
		if ip.Is4In6() {
			return refuseAddress(ip)
		}
		return nil
	}
	if strings.Contains(host, ":") {
		return refuse("it holds no IPv6 address that can be read")
	}
	normal, err := normalHost(host)
	if err != nil {
		return refuse("it names no host that can be read")
	}
	if strings.HasSuffix(normal, ".") {
		return refuse("the host ends in a dot: leave the dot out")
	}
	last := normal[strings.LastIndexByte(normal, '.')+1:]
	if _, err := netip.ParseAddr(normal); err != nil && endsInNumber(last) {
		// The URL standard's rule: such a host is an IPv4 address in decimal, octal, hexadecimal or short form.
		return refuse("an IP address has to be written as four decimal numbers")
	}
	return nil
}

func endsInNumber(label string) bool {
	if hex, ok := strings.CutPrefix(strings.ToLower(label), "0x"); ok {
		return strings.Trim(hex, "0123456789abcdef") == ""
	}
	return label != "" && strings.Trim(label, "0123456789") == ""
}

func portOf(address *url.URL) uint16 {
	if port, err := strconv.ParseUint(address.Port(), 10, 16); err == nil {
		return uint16(port)
	}
	if address.Scheme == "https" {
		return 443
	}
	return 80
}

// Redact shortens an address for everything but its owner's form: userinfo, query and the tail of the path may hold
// tokens. It leaves scheme, host, port and the first part of a path: "https://example.org/hooks/…". What cannot be read
// as an address becomes "(unreadable address)".
func Redact(rawURL string) string {
	address, err := url.Parse(rawURL)
	if err != nil || address.Host == "" || address.Opaque != "" {
		return "(unreadable address)"
	}
	first, rest, more := strings.Cut(strings.TrimPrefix(address.EscapedPath(), "/"), "/")
	out := address.Scheme + "://" + address.Host + "/"
	switch {
	case first == "" && !more:
		if address.RawQuery != "" {
			out += "…"
		}
	case !more:
		// A path of one part may itself be the token, as in https://example.org/T0KEN.
		out += "…"
	default:
		out += first + "/"
		if rest != "" || address.RawQuery != "" {
			out += "…"
		}
	}
	return out
}
