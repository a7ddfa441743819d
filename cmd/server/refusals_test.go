package main

import (
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"

	"github.com/gatehouse-hq/gatehouse/internal/infra/op"
)

// A way of asking that an address does not answer is 405, and says what it answers (RFC 9110, 15.5.6).
func TestWrongMethodsAreToldTheRightOnes(t *testing.T) {
	t.Parallel()
	s := serveAll(t)
	token := s.token(t, op.Read).Secret
	for _, c := range []struct{ method, path, allow string }{
		{http.MethodPost, "/", "GET, HEAD"},
		{http.MethodPut, "/wiki/a/b", "GET, HEAD"},
		{http.MethodDelete, "/search", "GET, HEAD"},
		{http.MethodPost, "/feed.xml", "GET, HEAD"},
		{http.MethodPost, "/sitemap.xml", "GET, HEAD"},
		{http.MethodPatch, "/files/a.png", "GET, HEAD"},
		{http.MethodPost, "/healthz", "GET, HEAD"},
		{http.MethodDelete, "/login", "GET, HEAD, POST"},
		{http.MethodGet, "/logout", "POST"},
		{http.MethodHead, "/logout", "POST"},
		{"PROPFIND", "/", "GET, HEAD"},
		{http.MethodPost, "/.well-known/oauth-protected-resource/mcp", "GET, HEAD"},
		{http.MethodGet, "/mcp", "POST"},
		{http.MethodDelete, "/mcp", "POST"},
		{http.MethodGet, "/api/admin/tasks.list", "POST"},
		{http.MethodPut, "/api/openapi.json", "GET, HEAD"},
		{http.MethodPost, "/no/such/page", ""},
		{http.MethodGet, "/api/no/such", ""},
	} {
		r, err := http.NewRequestWithContext(t.Context(), c.method, s.url+c.path, nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer "+token)
		r.Header.Set("Accept", "application/json, text/event-stream")
		a, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		_ = a.Body.Close()
		want := http.StatusMethodNotAllowed
		if c.allow == "" {
			want = http.StatusNotFound
		}
		if a.StatusCode != want || a.Header.Get("Allow") != c.allow {
			t.Errorf("%s %s: %d, Allow %q; want %d, %q", c.method, c.path, a.StatusCode, a.Header.Get("Allow"), want, c.allow)
		}
		if html := strings.HasPrefix(a.Header.Get("Content-Type"), "text/html"); html && strings.HasPrefix(c.path, "/api/") {
			t.Errorf("%s %s answers a program with a page", c.method, c.path)
		}
	}
}

// Whoever tries too often is told when to come back.
func TestTooManyTriesSayWhen(t *testing.T) {
	t.Parallel()
	s := serveAll(t)
	try := func() *http.Response {
		t.Helper()
		a, err := http.PostForm(s.url+"/login", url.Values{"email": {"owner@example.com"}, "password": {"a wrong password"}})
		if err != nil {
			t.Fatal(err)
		}
		_ = a.Body.Close()
		return a
	}
	for range 10 {
		if a := try(); a.StatusCode != http.StatusUnprocessableEntity {
			t.Fatalf("a wrong password: %d", a.StatusCode)
		}
	}
	a := try()
	seconds, err := strconv.Atoi(a.Header.Get("Retry-After"))
	if a.StatusCode != http.StatusTooManyRequests || err != nil || seconds < 1 || seconds > 15*60 {
		t.Errorf("the eleventh try: %d, Retry-After %q", a.StatusCode, a.Header.Get("Retry-After"))
	}
	// When that time is over the door opens again.
	if _, err := s.pool.Exec(t.Context(), `update login_failures set at = at - make_interval(secs => $1)`, seconds); err != nil {
		t.Fatal(err)
	}
	if a := try(); a.StatusCode != http.StatusUnprocessableEntity {
		t.Errorf("after the time that was said: %d", a.StatusCode)
	}
}

// Field case F35, at the door itself: signing in leads nowhere else.
func TestSigningInStaysHere(t *testing.T) {
	t.Parallel()
	s := serveAll(t)
	s.signIn(t)
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	for next, want := range map[string]string{
		"//evil.example": "/admin/", `/\evil.example`: "/admin/", "/%5Cevil.example": "/admin/", "/%09/evil.example": "/admin/",
		"/.//evil.example": "/admin/", "https:evil.example": "/admin/", "javascript:alert(7)": "/admin/",
		"/ok%0d%0aSet-Cookie:x=1": "/admin/", "/\t/evil.example": "/admin/", "": "/admin/", "/admin/tasks?state=discarded": "/admin/tasks?state=discarded",
	} {
		form := url.Values{"email": {"ada@example.com"}, "password": {"a long enough password"}, "next": {next}}
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.url+"/login", strings.NewReader(form.Encode()))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		r.Header.Set("Referer", s.url+"/login?next="+url.QueryEscape(next))
		a, err := client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		_ = a.Body.Close()
		if a.StatusCode != http.StatusSeeOther || a.Header.Get("Location") != want {
			t.Errorf("next=%q: %d to %q, want %q", next, a.StatusCode, a.Header.Get("Location"), want)
		}
	}
}
