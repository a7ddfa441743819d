package edge

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"github.com/a-h/templ"

	"github.com/gatehouse-hq/gatehouse/internal/web/assets"
)

const htmlType = "text/html; charset=utf-8"

// Render renders c whole, then writes status and body, so that a component that fails
// leaves the answer free for an error page. The answer is not stored by any cache.
func Render(w http.ResponseWriter, r *http.Request, status int, c templ.Component) error {
	body, err := rendered(r, c)
	if err != nil {
		return err
	}
	w.Header().Set("Cache-Control", "private, no-store")
	WriteBody(w, r, status, htmlType, body)
	return nil
}

// RenderSecret is Render for a page that shows a secret once. It is never compressed: the
// size of a compressed page can betray what stands in it (BREACH).
func RenderSecret(w http.ResponseWriter, r *http.Request, status int, c templ.Component) error {
	body, err := rendered(r, c)
	if err != nil {
		return err
	}
	w.Header().Set("Cache-Control", "private, no-store")
	writeWhole(w, r, status, htmlType, body)
	return nil
}

// RenderPublic is Render with 200 for a page that visitors may keep but must ask about each
// time: the answer has an ETag, and 304 says that it is still the same. An unpublished note
// is therefore gone at once. What is shown may depend on the visitor's cookie, so shared
// caches keep nothing.
func RenderPublic(w http.ResponseWriter, r *http.Request, c templ.Component) error {
	body, err := rendered(r, c)
	if err != nil {
		return err
	}
	WriteRevalidated(w, r, htmlType, body)
	return nil
}

// WriteRevalidated writes a whole body as RenderPublic does, for feeds and the like.
func WriteRevalidated(w http.ResponseWriter, r *http.Request, contentType string, body []byte) {
	sum := sha256.Sum256(body)
	// Weak, because the compressed and the plain body share it.
	tag := `W/"` + hex.EncodeToString(sum[:12]) + `"`
	h := w.Header()
	h.Set("Cache-Control", "private, no-cache")
	h.Set("ETag", tag)
	h.Add("Vary", "Cookie")
	if tagMatches(r.Header.Get("If-None-Match"), tag) {
		h.Add("Vary", "Accept-Encoding")
		w.WriteHeader(http.StatusNotModified)
		return
	}
	WriteBody(w, r, http.StatusOK, contentType, body)
}

func tagMatches(header, tag string) bool {
	for candidate := range strings.SplitSeq(header, ",") {
		candidate = strings.TrimSpace(candidate)
		if candidate == "*" || strings.TrimPrefix(candidate, "W/") == strings.TrimPrefix(tag, "W/") {
			return candidate != ""
		}
	}
	return false
}

// WriteBody writes a whole body, compressed where the client takes it and it is worth it.
func WriteBody(w http.ResponseWriter, r *http.Request, status int, contentType string, body []byte) {
	w.Header().Add("Vary", "Accept-Encoding")
	edge := passageOf(r.Context()).edge
	// Below 1 kB the answer fits into one packet either way.
	if edge != nil && len(body) >= 1024 && assets.AcceptsGzip(r) {
		if zipped, ok := edge.compress(body); ok {
			w.Header().Set("Content-Encoding", "gzip")
			body = zipped
		}
	}
	writeWhole(w, r, status, contentType, body)
}

func writeWhole(w http.ResponseWriter, r *http.Request, status int, contentType string, body []byte) {
	w.Header().Set("Content-Type", contentType)
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	if r.Method == http.MethodHead {
		return
	}
	// A failed write means that the client went away; nobody is left to be told.
	_, _ = w.Write(body)
}

func rendered(r *http.Request, c templ.Component) ([]byte, error) {
	var body bytes.Buffer
	if err := c.Render(r.Context(), &body); err != nil {
		return nil, fmt.Errorf("rendering the page: %w", err)
	}
	return body.Bytes(), nil
}

func (e *Edge) compress(body []byte) ([]byte, bool) {
	zipper := e.zippers.Get().(*gzip.Writer)
	defer e.zippers.Put(zipper)
	var out bytes.Buffer
	zipper.Reset(&out)
	if _, err := zipper.Write(body); err != nil {
		return nil, false
	}
	if err := zipper.Close(); err != nil {
		return nil, false
	}
	return out.Bytes(), out.Len() < len(body)
}
