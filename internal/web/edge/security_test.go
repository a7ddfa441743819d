package edge_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
)

func TestEveryAnswerCarriesTheSecurityHeaders(t *testing.T) {
	t.Parallel()
	want := map[string]string{
		"Content-Security-Policy":    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; font-src 'self'; form-action 'self'; manifest-src 'self'; base-uri 'none'; frame-ancestors 'none'",
		"X-Content-Type-Options":     "nosniff",
		"Referrer-Policy":            "same-origin",
		"Cross-Origin-Opener-Policy": "same-origin",
		"Strict-Transport-Security":  "max-age=31536000",
	}
	refused := post("/x", nil)
	refused.Header.Set("Sec-Fetch-Site", "cross-site")
	for name, r := range map[string]*http.Request{"a page": getPage("/ok"), "an error": getPage("/bad"), "a panic": getPage("/panic"), "a refusal": refused} {
		h, _ := house(t, func(_ http.ResponseWriter, r *http.Request) error {
			switch r.URL.Path {
			case "/bad":
				return said{"conflict", "", ""}
			case "/panic":
				panic("x")
			}
			return nil
		})
		w := ask(h, r)
		for header, value := range want {
			if got := w.Header().Get(header); got != value {
				t.Errorf("%s: %s is %q, want %q", name, header, got, value)
			}
		}
		if w.Header().Get("Permissions-Policy") == "" {
			t.Errorf("%s: no Permissions-Policy", name)
		}
	}
}

func TestNoTransportSecurityOverPlainHTTP(t *testing.T) {
	t.Parallel()
	h, _ := houseAt(t, "http://127.0.0.1:8080", func(http.ResponseWriter, *http.Request) error { return nil })
	if got := ask(h, getPage("/")).Header().Get("Strict-Transport-Security"); got != "" {
		t.Errorf("HSTS over http: %q", got)
	}
}

func TestFormsOfOtherSitesAreRefused(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		headers map[string]string
		refused bool
	}{
		{"our own form", map[string]string{"Sec-Fetch-Site": "same-origin"}, false},
		{"no browser", nil, false},
		{"an old browser, our own form", map[string]string{"Origin": "https://shelf.example"}, false},
		{"another site", map[string]string{"Sec-Fetch-Site": "cross-site", "Origin": "https://evil.example"}, true},
		{"a neighbouring host", map[string]string{"Sec-Fetch-Site": "same-site", "Origin": "https://x.shelf.example"}, true},
		{"an old browser, another site", map[string]string{"Origin": "https://evil.example"}, true},
		{"a sandboxed frame", map[string]string{"Origin": "null"}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			reached := false
			h, _ := house(t, func(http.ResponseWriter, *http.Request) error { reached = true; return nil })
			r := post("/act", url.Values{"a": {"1"}})
			for name, value := range c.headers {
				r.Header.Set(name, value)
			}
			w := ask(h, r)
			if reached == c.refused {
				t.Errorf("reached the handler: %v", reached)
			}
			if c.refused && (w.Code != http.StatusForbidden || !strings.Contains(w.Body.String(), "from another site")) {
				t.Errorf("%d %s", w.Code, w.Body.String())
			}
		})
	}
}
