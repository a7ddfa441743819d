package main

import (
	"context"
	"net/http"
	"testing"
	"time"

	"github.com/gatehouse-hq/gatehouse/internal/domain/owner"
)

// Monitors ask with HEAD.
func TestMonitorsMayAskWithHead(t *testing.T) {
	t.Parallel()
	s := serveAll(t)
	for _, path := range []string{"/healthz", "/readyz", "/healthz/tasks", "/login", "/", "/search", "/robots.txt"} {
		if a := s.head(t, path, nil); a.StatusCode != http.StatusOK {
			t.Errorf("HEAD %s: %d", path, a.StatusCode)
		}
	}
	// Whoever is not signed in is sent the same way as with GET.
	if a := s.head(t, "/admin/tasks", nil); a.StatusCode != http.StatusSeeOther {
		t.Errorf("HEAD /admin/tasks without a session: %d", a.StatusCode)
	}
}

// Whatever answers GET answers HEAD with the same status (RFC 9110, 9.1), and
// an event stream does not keep the asker waiting.
func TestThePanelAnswersHead(t *testing.T) {
	t.Parallel()
	s := serveAll(t)
	cookie := s.signIn(t)
	for _, path := range []string{
		"/admin/", "/admin/tasks", "/admin/periodic", "/admin/events", "/admin/webhooks", "/admin/notes",
		"/admin/settings", "/admin/settings/tokens", "/admin/live",
	} {
		if a := s.head(t, path, cookie); a.StatusCode != http.StatusOK {
			t.Errorf("HEAD %s: %d", path, a.StatusCode)
		}
	}
	if a := s.head(t, "/admin/tasks/99", cookie); a.StatusCode != http.StatusNotFound {
		t.Errorf("HEAD of a task that is not there: %d", a.StatusCode)
	}
	if kind := s.head(t, "/admin/live", cookie).Header.Get("Content-Type"); kind != "text/event-stream" {
		t.Errorf("HEAD /admin/live is a %q", kind)
	}
}

func (s served) head(t *testing.T, path string, cookie *http.Cookie) *http.Response {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodHead, s.url+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	if cookie != nil {
		r.AddCookie(cookie)
	}
	a, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		t.Fatalf("HEAD %s: %v", path, err)
	}
	_ = a.Body.Close()
	return a
}

// signIn sets the owner up and returns the session's cookie.
func (s served) signIn(t *testing.T) *http.Cookie {
	t.Helper()
	link, err := s.owner.SetupLink(t.Context(), false)
	if err != nil {
		t.Fatal(err)
	}
	token, err := s.owner.SetUp(t.Context(), link, "ada@example.com", "a long enough password", owner.Visit{Address: "192.0.2.1", UserAgent: "test"})
	if err != nil {
		t.Fatal(err)
	}
	return &http.Cookie{Name: "gatehouse", Value: token}
}
