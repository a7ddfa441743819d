package edge

import (
	"net/http"
	"strings"
)

// Policy is the content security policy of every answer: our own files and nothing else, no
// inline script or style, no frame around us.
func Policy() string {
	return strings.Join([]string{
		"default-src 'none'", "script-src 'self'", "style-src 'self'", "img-src 'self'",
		"connect-src 'self'", "font-src 'self'", "form-action 'self'", "manifest-src 'self'",
		"base-uri 'none'", "frame-ancestors 'none'",
	}, "; ")
}

// secure sets the headers that every answer carries. A handler may tighten them.
func (e *Edge) secure(h http.Header) {
	h.Set("Content-Security-Policy", Policy())
	h.Set("X-Content-Type-Options", "nosniff")
	// same-origin rather than no-referrer: Back returns to the page a form was on.
	h.Set("Referrer-Policy", "same-origin")
	h.Set("Permissions-Policy", "camera=(), display-capture=(), geolocation=(), microphone=(), payment=(), usb=()")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	if e.https() {
		h.Set("Strict-Transport-Security", "max-age=31536000")
	}
}

func (e *Edge) https() bool { return e.BaseURL != nil && e.BaseURL.Scheme == "https" }

// crossOrigin refuses what another site makes a browser send, by Sec-Fetch-Site and Origin.
// GET, HEAD and OPTIONS pass: they change nothing here.
func (e *Edge) crossOrigin(next http.Handler) http.Handler {
	protection := http.NewCrossOriginProtection()
	if e.BaseURL != nil && e.BaseURL.Host != "" {
		// A proxy may have changed Host; the base URL's origin is ours all the same.
		if err := protection.AddTrustedOrigin(e.BaseURL.Scheme + "://" + e.BaseURL.Host); err != nil {
			e.Log.Error("base URL is no origin: behind a proxy forms may be refused", "error", err)
		}
	}
	protection.SetDenyHandler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		e.writeProblem(w, r, crossOriginRefused())
	}))
	return protection.Handler(next)
}
