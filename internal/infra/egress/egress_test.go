package egress

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// receiver is a server on loopback that counts.
func receiver(t *testing.T, handle http.HandlerFunc) (*httptest.Server, *atomic.Int64) {
	t.Helper()
	var hits atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		hits.Add(1)
		_, _ = io.Copy(io.Discard, r.Body) // unread, it would hide that the caller left
		handle(w, r)
	}))
	t.Cleanup(server.Close)
	return server, &hits
}

func ok(http.ResponseWriter, *http.Request) {}

func client(t *testing.T, options Options) *Client {
	t.Helper()
	c := New(options)
	t.Cleanup(c.Close)
	return c
}

func post(t *testing.T, c *Client, address string) (*http.Response, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	t.Cleanup(cancel)
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, address, strings.NewReader(`{}`))
	if err != nil {
		t.Fatal(err)
	}
	response, err := c.Do(request)
	if err == nil {
		t.Cleanup(func() { _ = response.Body.Close() })
	}
	return response, err
}

// port is the port of a loopback server.
func port(t *testing.T, server *httptest.Server) string {
	t.Helper()
	_, port, err := net.SplitHostPort(server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	return port
}

// Field case F13: every spelling of an inner address, and not one packet.
func TestLoopbackIsRefusedInEverySpellingAndNothingArrives(t *testing.T) {
	t.Parallel()
	server, hits := receiver(t, ok)
	at := port(t, server)
	c := client(t, Options{Resolver: resolver(t, map[string][][]string{"localhost": {{"127.0.0.1"}}, "inner.test": {{"127.0.0.1"}}, "inner6.test": {{"::1"}}})})
	for _, host := range []string{"127.0.0.1", "localhost", "localhost.", "127.1", "2130706433", "0.0.0.0", "0x7f000001", "0177.0.0.1",
		"[::1]", "[::]", "[::ffff:127.0.0.1]", "[64:ff9b::7f00:1]", "[::7f00:1]", "[2002:7f00:1::1]", "[fe80::1%25lo]", "inner.test", "inner6.test"} {
		for _, scheme := range []string{"http://", "https://"} {
			_, err := post(t, c, scheme+host+":"+at+"/?SECRET")
			if KindOf(err) != KindAddress || strings.Contains(err.Error(), "SECRET") {
				t.Errorf("%s%s: %v", scheme, host, err)
			}
		}
	}
	if hits.Load() != 0 {
		t.Errorf("%d requests arrived", hits.Load())
	}
}

// Field case F13: a refusal is no way to scan ports.
func TestRefusalDoesNotTellOpenPortsFromClosed(t *testing.T) {
	t.Parallel()
	server, _ := receiver(t, ok)
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_ = closed.Close()
	c := client(t, Options{})
	_, toOpen := post(t, c, "https://"+server.Listener.Addr().String())
	_, toClosed := post(t, c, "https://"+closed.Addr().String())
	if toOpen == nil || toClosed == nil || toOpen.Error() != toClosed.Error() {
		t.Errorf("open %v, closed %v", toOpen, toClosed)
	}
}

// Field case F13: a name that answers with a public address first and an inner one later.
func TestANameThatChangesItsAnswerIsRefusedAtTheDial(t *testing.T) {
	t.Parallel()
	server, hits := receiver(t, ok)
	c := client(t, Options{Resolver: resolver(t, map[string][][]string{"rebind.test": {{"93.184.216.34"}, {"127.0.0.1"}}})})
	address := "https://rebind.test:" + port(t, server) + "/"
	if err := c.Check(t.Context(), address); err != nil {
		t.Fatalf("at typing it was public: %v", err)
	}
	if _, err := post(t, c, address); KindOf(err) != KindAddress {
		t.Errorf("at the dial: %v", err)
	}
	if hits.Load() != 0 {
		t.Error("a request arrived")
	}
}

// Field case F13: a name with a public and a private answer.
func TestOfTwoAnswersOnlyTheAllowedOneIsDialled(t *testing.T) {
	t.Parallel()
	server, hits := receiver(t, ok)
	at := port(t, server)
	other, err := net.Listen("tcp", "127.0.0.2:"+at)
	if err != nil {
		t.Skipf("this machine has no second loopback address: %v", err)
	}
	second := &httptest.Server{Listener: other, Config: &http.Server{Handler: http.HandlerFunc(ok)}}
	second.Start()
	t.Cleanup(second.Close)
	c := client(t, Options{Allow: parse(t, "127.0.0.2"), Resolver: resolver(t, map[string][][]string{"two.test": {{"127.0.0.1", "127.0.0.2"}}})})
	response, err := post(t, c, "http://two.test:"+at+"/")
	if err != nil || response.StatusCode != http.StatusOK {
		t.Fatalf("%v, %v", response, err)
	}
	if hits.Load() != 0 {
		t.Error("the refused address was reached")
	}
	if err := c.Check(t.Context(), "http://two.test:"+at+"/"); err == nil {
		t.Error("at typing one refused answer is enough")
	}
}

func TestALANReceiverIsReachedByConfiguration(t *testing.T) {
	t.Parallel()
	server, hits := receiver(t, ok)
	at := port(t, server)
	answers := resolver(t, map[string][][]string{"n8n.lan": {{"127.0.0.1"}}, "other.lan": {{"127.0.0.1"}}})
	byHost := client(t, Options{Allow: parse(t, "n8n.lan"), Resolver: answers})
	byNetwork := client(t, Options{Allow: parse(t, "127.0.0.0/8"), Resolver: answers})
	for _, test := range []struct {
		client  *Client
		host    string
		allowed bool
	}{{byHost, "n8n.lan", true}, {byHost, "other.lan", false}, {byHost, "127.0.0.1", false}, {byNetwork, "n8n.lan", true}, {byNetwork, "127.0.0.1", true}} {
		before := hits.Load()
		_, err := post(t, test.client, "http://"+test.host+":"+at+"/")
		if (err == nil) != test.allowed || (hits.Load() > before) != test.allowed {
			t.Errorf("%s: %v", test.host, err)
		}
	}
}

func TestRedirectsAreAnswersAndCookiesAreForgotten(t *testing.T) {
	t.Parallel()
	var cookies atomic.Int64
	server, hits := receiver(t, func(w http.ResponseWriter, r *http.Request) {
		cookies.Add(int64(len(r.Cookies())))
		http.SetCookie(w, &http.Cookie{Name: "c", Value: "1"})
		http.Redirect(w, r, "/login", http.StatusTemporaryRedirect)
	})
	c := client(t, Options{Allow: parse(t, "127.0.0.1")})
	for range 2 {
		response, err := post(t, c, server.URL)
		if err != nil || response.StatusCode != http.StatusTemporaryRedirect || response.Header.Get("Location") != "/login" {
			t.Fatalf("%v, %v", response, err)
		}
	}
	if hits.Load() != 2 || cookies.Load() != 0 {
		t.Errorf("%d requests, %d cookies", hits.Load(), cookies.Load())
	}
}

// Field case F13: a proxy of the environment would dial in our place.
func TestEnvironmentProxiesAreIgnored(t *testing.T) {
	proxy, proxied := receiver(t, ok)
	server, hits := receiver(t, ok)
	for _, name := range []string{"HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "ALL_PROXY"} {
		t.Setenv(name, proxy.URL)
	}
	// A name, since Go never proxies loopback literals.
	c := client(t, Options{Allow: parse(t, "hook.test"), Resolver: resolver(t, map[string][][]string{"hook.test": {{"127.0.0.1"}}})})
	if _, err := post(t, c, "http://hook.test:"+port(t, server)+"/"); err != nil {
		t.Fatal(err)
	}
	if proxied.Load() != 0 || hits.Load() != 1 {
		t.Errorf("proxy %d, receiver %d", proxied.Load(), hits.Load())
	}
}

func TestFailuresHaveAKindAndASafeText(t *testing.T) {
	t.Parallel()
	dropper, _ := receiver(t, func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })
	sleeper, _ := receiver(t, func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	untrusted := httptest.NewTLSServer(http.HandlerFunc(ok))
	untrusted.Config.ErrorLog = nil
	t.Cleanup(untrusted.Close)
	plain, _ := receiver(t, ok)
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_ = closed.Close()
	c := client(t, Options{Allow: parse(t, "127.0.0.1"), Resolver: resolver(t, nil)})
	for name, test := range map[string]struct {
		address string
		want    Kind
	}{
		"drop":         {dropper.URL, KindReset},
		"slow":         {sleeper.URL, KindTimeout},
		"certificate":  {untrusted.URL, KindTLS},
		"http on 443":  {"https://" + plain.Listener.Addr().String(), KindTLS},
		"closed":       {"http://" + closed.Addr().String(), KindRefused},
		"unknown name": {"https://nowhere.test", KindDNS},
		"refused":      {"https://127.0.0.9:9999", KindAddress},
	} {
		patience := time.Minute
		if test.want == KindTimeout {
			patience = 300 * time.Millisecond
		}
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		request, err := http.NewRequestWithContext(ctx, http.MethodPost, test.address+"/first/SECRET?SECRET", strings.NewReader("{}"))
		if err != nil {
			t.Fatal(err)
		}
		request.URL.User = nil
		_, err = c.Do(request)
		var failure *Error
		if !errors.As(err, &failure) || failure.Kind != test.want {
			t.Errorf("%s: %v (%s)", name, err, KindOf(err))
		} else if strings.Contains(err.Error(), "SECRET") || failure.Error() == "" {
			t.Errorf("%s: text %q", name, err)
		}
		cancel()
	}
}

func TestHTTP2IsUsedAndTimesAreTaken(t *testing.T) {
	t.Parallel()
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, r.Proto)
	}))
	server.EnableHTTP2 = true
	server.StartTLS()
	t.Cleanup(server.Close)
	roots := x509.NewCertPool()
	roots.AddCert(server.Certificate())
	c := client(t, Options{Allow: parse(t, "127.0.0.1,example.com"), TLS: &tls.Config{RootCAs: roots},
		Resolver: resolver(t, map[string][][]string{"example.com": {{"127.0.0.1"}}})})
	address := "https://example.com:" + port(t, server) // the name in httptest's certificate
	for i := range 2 {
		ctx, timing := Trace(t.Context())
		request, err := http.NewRequestWithContext(ctx, http.MethodPost, address, strings.NewReader("{}"))
		if err != nil {
			t.Fatal(err)
		}
		response, err := c.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		proto, err := io.ReadAll(response.Body)
		_ = response.Body.Close()
		if err != nil || string(proto) != "HTTP/2.0" {
			t.Errorf("spoke %q, %v", proto, err)
		}
		times := timing.Times()
		if times.Reused != (i == 1) || times.FirstByte <= 0 || times.Remote.String() != "127.0.0.1" {
			t.Errorf("times %+v", times)
		}
		if fresh := times.DNS > 0 && times.Connect > 0 && times.TLS > 0; fresh != (i == 0) {
			t.Errorf("request %d: times %+v", i, times)
		}
	}
}

func TestCredentialsInTheAddressBecomeAHeader(t *testing.T) {
	t.Parallel()
	var user, password atomic.Value
	server, _ := receiver(t, func(_ http.ResponseWriter, r *http.Request) {
		u, p, _ := r.BasicAuth()
		user.Store(u)
		password.Store(p)
	})
	c := client(t, Options{Allow: parse(t, "127.0.0.1")})
	if _, err := post(t, c, strings.Replace(server.URL, "http://", "http://me:s%20t@", 1)); err != nil {
		t.Fatal(err)
	}
	if user.Load() != "me" || password.Load() != "s t" {
		t.Errorf("%v %v", user.Load(), password.Load())
	}
}

func TestAMegabyteOfHeadersIsStillAnAnswer(t *testing.T) {
	t.Parallel()
	server, _ := receiver(t, func(w http.ResponseWriter, _ *http.Request) {
		for n := range 256 {
			w.Header().Add("X-Filler", strings.Repeat("f", 4<<10-n%2))
		}
	})
	c := client(t, Options{Allow: parse(t, "127.0.0.1")})
	response, err := post(t, c, server.URL)
	if err != nil || response.StatusCode != http.StatusOK {
		t.Fatalf("%v", err)
	}
}
