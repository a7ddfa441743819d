package main

import (
	"net/http"
	"testing"
)

// Monitors ask with HEAD.
func TestMonitorsMayAskWithHead(t *testing.T) {
	t.Parallel()
	s := serveAll(t)
	for _, path := range []string{"/healthz", "/readyz", "/login", "/"} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodHead, s.url+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		a, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		_ = a.Body.Close()
		if a.StatusCode != http.StatusOK {
			t.Errorf("HEAD %s: %d", path, a.StatusCode)
		}
	}
}
