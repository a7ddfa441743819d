package mcp

import (
	"context"
	"encoding/json"
	"net"
	"net/http"
	"net/netip"
	"strings"

	"github.com/gatehouse-hq/gatehouse/internal/infra/op"
	"github.com/gatehouse-hq/gatehouse/internal/web/edge"
)

// metadataPath is where RFC 9728 puts the description of a protected resource.
const metadataPath = "/.well-known/oauth-protected-resource"

// sameSite refuses what a page of another site makes a browser send: by its
// Origin, and, should a name be bent to our address (DNS rebinding), by Host.
// Addresses of this machine pass as Host, for a proxy that does not keep it.
func (s *Server) sameSite(next http.Handler) http.Handler {
	own := s.BaseURL.Scheme + "://" + s.BaseURL.Host
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if origin := r.Header.Get("Origin"); origin != "" && !strings.EqualFold(origin, own) {
			refuseRequest(w, http.StatusForbidden, "forbidden", "Requests from pages of other sites are not answered here.")
			return
		}
		if !strings.EqualFold(r.Host, s.BaseURL.Host) && !loopback(r.Host) {
			refuseRequest(w, http.StatusForbidden, "forbidden", "This server is called by another name. Use the address that the panel shows.")
			return
		}
		next.ServeHTTP(w, r)
	})
}

func loopback(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	if strings.EqualFold(host, "localhost") {
		return true
	}
	a, err := netip.ParseAddr(strings.Trim(host, "[]"))
	return err == nil && a.IsLoopback()
}

// authenticate looks the request's token up, on every request anew.
func (s *Server) authenticate(w http.ResponseWriter, r *http.Request) (context.Context, op.Caller, bool) {
	token, carried := edge.BearerToken(r)
	pointer := `Bearer resource_metadata="` + s.address(metadataPath+Path) + `"`
	if token == "" {
		detail := "Send a token of this site as Authorization: Bearer. The owner issues one in the panel under Settings, Tokens."
		if carried {
			pointer += `, error="invalid_token"`
		}
		w.Header().Set("WWW-Authenticate", pointer)
		refuseRequest(w, http.StatusUnauthorized, "invalid_token", detail)
		return nil, op.Caller{}, false
	}
	ctx, caller, err := s.Bearer(r.Context(), token)
	switch {
	case err == nil:
		return ctx, caller, true
	case op.CodeOf(err) == op.Unauthorized:
		w.Header().Set("WWW-Authenticate", pointer+`, error="invalid_token"`)
		refuseRequest(w, http.StatusUnauthorized, "invalid_token", strings.Join(sentences(err), " "))
	default:
		s.Log.ErrorContext(r.Context(), "token cannot be checked", "request_id", s.RequestID(r.Context()), "error", err)
		refuseRequest(w, http.StatusServiceUnavailable, "temporarily_unavailable", "The token cannot be checked now. Try again in a moment.")
	}
	return nil, op.Caller{}, false
}

// refuseRequest answers as OAuth does (RFC 6749, 5.2), which is what MCP
// clients read.
func refuseRequest(w http.ResponseWriter, status int, code, detail string) {
	writeJSON(w, status, map[string]string{"error": code, "error_description": detail})
}

// metadata describes the resource (RFC 9728). There is no authorization
// server: tokens are issued in the panel.
func (s *Server) metadata(w http.ResponseWriter, _ *http.Request) {
	writeJSON(w, http.StatusOK, map[string]any{
		"resource":                 s.address(Path),
		"resource_name":            "Gatehouse",
		"bearer_methods_supported": []string{"header"},
		"scopes_supported":         op.Classes(),
	})
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	body, err := json.Marshal(v)
	if err != nil { // texts always marshal
		http.Error(w, http.StatusText(status), status)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, _ = w.Write(body) // the client may be gone
}

// address is a path of this site as the outside reaches it.
func (s *Server) address(path string) string {
	return s.BaseURL.Scheme + "://" + s.BaseURL.Host + path
}
