// Package egress holds the one HTTP client for addresses that a person typed.
//
// Such an address may lead anywhere, so the decision is taken on the concrete IP of every dial, after the name was
// resolved and before a packet leaves: a name that changes its answer (rebinding) gains nothing by it. Redirects are not
// followed, nothing is repeated, environment proxies are ignored, no cookies are kept, and no error prints more of the
// address than its host. What is refused besides is listed in rules.go; what the operator allows all the same, a receiver
// in the own network above all, comes from an AllowList.
package egress

import (
	"context"
	"crypto/tls"
	"encoding/base64"
	"net"
	"net/http"
	"time"
)

// MaxResponseHeaderBytes is how many bytes of response header are read. It is far above any use because past it net/http
// gives an error without a status, and a delivery that was accepted would be sent again (field case F17).
const MaxResponseHeaderBytes = 2 << 20

// Options configure a Client. The zero value allows public https addresses only.
type Options struct {
	Allow AllowList
	// Resolver answers names; nil is the system's. Tests give one whose answers they choose.
	Resolver *net.Resolver
	// TLS is cloned; nil is Go's default. Tests give one with their own root.
	TLS *tls.Config
}

// Client sends requests to addresses a person typed. It is safe for concurrent use and keeps connections for reuse.
type Client struct {
	guard    guard
	resolver *net.Resolver
	secure   *http.Transport
	plain    *http.Transport
}

// New makes a client. Close gives its idle connections up.
func New(options Options) *Client {
	c := &Client{guard: newGuard(options.Allow), resolver: options.Resolver}
	if c.resolver == nil {
		c.resolver = net.DefaultResolver
	}
	// http and https have transports of their own because the guard is stricter for http: only allowed addresses.
	c.secure, c.plain = c.transport(true), c.transport(false)
	if options.TLS != nil {
		c.secure.TLSClientConfig = options.TLS.Clone()
	}
	return c
}

func (c *Client) transport(secure bool) *http.Transport {
	return &http.Transport{
		Proxy:                  nil, // HTTP_PROXY would dial in our place, past the guard (F13)
		DialContext:            c.dial(secure),
		ForceAttemptHTTP2:      secure, // a custom DialContext switches it off otherwise
		MaxIdleConns:           2000,
		MaxIdleConnsPerHost:    128, // many endpoints may live on one host, each with one request at a time
		IdleConnTimeout:        60 * time.Second,
		TLSHandshakeTimeout:    10 * time.Second,
		MaxResponseHeaderBytes: MaxResponseHeaderBytes,
		// A connection whose other end has vanished is found out by pings; HTTP/2 would keep sending into it.
		HTTP2: &http.HTTP2Config{SendPingTimeout: 15 * time.Second, PingTimeout: 5 * time.Second},
	}
}

func (c *Client) dial(secure bool) func(ctx context.Context, network, address string) (net.Conn, error) {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		host, _, err := net.SplitHostPort(address)
		if err != nil {
			return nil, err
		}
		dialer := net.Dialer{Timeout: 10 * time.Second, Resolver: c.resolver, Control: c.guard.control(secure, host)}
		return dialer.DialContext(ctx, network, address)
	}
}

// Allow is the list the client was made with.
func (c *Client) Allow() AllowList { return c.guard.allow }

// Close gives idle connections up. Requests under way go on.
func (c *Client) Close() {
	c.secure.CloseIdleConnections()
	c.plain.CloseIdleConnections()
}

// Do sends one request, once. Every error is an *Error and prints nothing of the address but its host. A redirect is an
// answer like any other. The caller closes the body. The request's context bounds the whole exchange.
func (c *Client) Do(request *http.Request) (*http.Response, error) {
	if refusal := checkURL(request.URL); refusal != nil {
		closeBody(request)
		return nil, asError(refusal)
	}
	// http.Client would do this, but it also follows, keeps cookies, and puts the address into its errors.
	if user := request.URL.User; user != nil && request.Header.Get("Authorization") == "" {
		password, _ := user.Password()
		request.Header.Set("Authorization", "Basic "+base64.StdEncoding.EncodeToString([]byte(user.Username()+":"+password)))
	}
	transport := c.secure
	if request.URL.Scheme == "http" {
		transport = c.plain
	}
	response, err := transport.RoundTrip(request)
	if err != nil {
		return nil, asError(err)
	}
	return response, nil
}

func closeBody(request *http.Request) {
	if request.Body != nil {
		_ = request.Body.Close()
	}
}
