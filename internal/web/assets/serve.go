package assets

import (
	"net/http"
	"strconv"
	"strings"
)

// Handler serves the set below Prefix. Names carry a hash of the content, so answers may
// be kept for a year without asking again; a name with an old hash is 404, never newer
// content under an old name. Bodies were compressed when the set was built.
func (s *Set) Handler() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		f, ok := s.byPath[r.URL.Path]
		if !ok {
			w.Header().Set("Cache-Control", "no-store")
			http.Error(w, "not found", http.StatusNotFound)
			return
		}
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			w.Header().Set("Allow", "GET, HEAD")
			http.Error(w, "method not allowed", http.StatusMethodNotAllowed)
			return
		}
		f.write(w, r)
	})
}

func (f *file) write(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Content-Type", f.contentType)
	h.Set("Cache-Control", "public, max-age=31536000, immutable")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("ETag", f.etag)
	h.Add("Vary", "Accept-Encoding")
	if r.Header.Get("If-None-Match") == f.etag {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	body := f.plain
	if f.gzipped != nil && AcceptsGzip(r) {
		body = f.gzipped
		h.Set("Content-Encoding", "gzip")
	}
	h.Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(http.StatusOK)
	if r.Method == http.MethodHead {
		return
	}
	// A failed write means that the browser went away; nobody is left to be told.
	_, _ = w.Write(body)
}

// AcceptsGzip reports whether the request's Accept-Encoding allows gzip (RFC 9110, section
// 12.5.3): named or covered by *, and not with a weight of 0.
func AcceptsGzip(r *http.Request) bool {
	wildcard := false
	for _, line := range r.Header.Values("Accept-Encoding") {
		for part := range strings.SplitSeq(line, ",") {
			coding, params, _ := strings.Cut(strings.TrimSpace(part), ";")
			switch strings.ToLower(strings.TrimSpace(coding)) {
			case "gzip", "x-gzip":
				return !refused(params)
			case "*":
				wildcard = !refused(params)
			}
		}
	}
	return wildcard
}

func refused(params string) bool {
	name, value, found := strings.Cut(strings.TrimSpace(params), "=")
	if !found || !strings.EqualFold(strings.TrimSpace(name), "q") {
		return false
	}
	weight, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
	return err == nil && weight == 0
}
