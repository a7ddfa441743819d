package edge

import (
	"net/http"
	"net/url"
	"strings"
	"unicode"
)

// maxLocalPath bounds an address to return to: browsers and proxies agree on 2,000 and more.
const maxLocalPath = 2000

// LocalPath returns next when it is an address on this host, and fallback otherwise (field
// case F35). "Begins with one slash" is not enough: browsers read a backslash as a slash and
// drop tabs and line breaks, in clear and, behind some proxies, percent-encoded, and
// url.Parse sees no host in them. So next must be a plain absolute path of non-empty
// segments with neither of those in any spelling; the fragment is dropped.
func LocalPath(next, fallback string) string {
	if next == "" || len(next) > maxLocalPath || next[0] != '/' || strings.HasPrefix(next, "//") || unsafeText(next) {
		return fallback
	}
	u, err := url.Parse(next)
	if err != nil || u.Scheme != "" || u.Host != "" || u.User != nil || u.Opaque != "" {
		return fallback
	}
	if unsafeText(u.Path) || !plainSegments(u.Path) {
		return fallback
	}
	return u.RequestURI()
}

func unsafeText(s string) bool {
	return strings.ContainsFunc(s, func(c rune) bool {
		return c == '\\' || unicode.IsControl(c) || unicode.Is(unicode.Cf, c) || c == unicode.ReplacementChar
	})
}

// plainSegments reports whether path has no "//", "." or "..": "/.//evil.example" is such a
// path, and what a browser makes of it begins with two slashes.
func plainSegments(path string) bool {
	segments := strings.Split(strings.TrimPrefix(path, "/"), "/")
	for i, s := range segments {
		last := i == len(segments)-1
		if s == "." || s == ".." || (s == "" && !last) {
			return false
		}
	}
	return !strings.HasPrefix(path, "//")
}

// SeeOther answers a form with 303 to a page of ours; anything else leads to "/". It returns
// nil, so that a handler can end with it.
func SeeOther(w http.ResponseWriter, r *http.Request, path string) error {
	w.Header().Set("Cache-Control", "no-store")
	http.Redirect(w, r, LocalPath(path, "/"), http.StatusSeeOther)
	return nil
}

// Back returns the page that a form was on, with its filters: from the form's field "back"
// (ui.BackField), else from a Referer of ours, else fallback. Read the form first.
func Back(r *http.Request, fallback string) string {
	if back := LocalPath(r.PostForm.Get("back"), ""); back != "" {
		return back
	}
	if e := passageOf(r.Context()).edge; e != nil {
		return e.ownPath(r, r.Referer(), fallback)
	}
	return fallback
}

// ownPath returns the path and query of an absolute address when its host is ours.
func (e *Edge) ownPath(r *http.Request, address, fallback string) string {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || (u.Scheme != "https" && u.Scheme != "http") {
		return fallback
	}
	if u.Host != r.Host && (e.BaseURL == nil || u.Host != e.BaseURL.Host) {
		return fallback
	}
	return LocalPath(u.RequestURI(), fallback)
}
