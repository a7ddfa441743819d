package public

import (
	"bytes"
	"mime"
	"net/http"
	"strings"
	"time"

	"github.com/gatehouse-hq/gatehouse/internal/domain/corpus"
	"github.com/gatehouse-hq/gatehouse/internal/web/session"
)

// file serves an attachment to whoever may read a note that uses it. Its rights can end at any moment, so no cache
// may answer without asking.
func (s *Site) file(w http.ResponseWriter, r *http.Request) error {
	rest, err := below(r, "/files/")
	if err != nil {
		return err
	}
	id, _, _ := strings.Cut(rest, "/")
	_, owner := session.Owner(r.Context())
	a, err := s.notes.Attachment(r.Context(), id, owner)
	if err != nil {
		return err
	}
	if address := corpus.FileAddress(a.ID, a.Name); r.URL.Path != unescaped(address) {
		return redirect(w, r, address)
	}
	kind, how := served(a.MediaType)
	h := w.Header()
	h.Set("Content-Type", kind)
	h.Set("Content-Disposition", mime.FormatMediaType(how, map[string]string{"filename": a.Name}))
	h.Set("Cache-Control", "private, no-cache")
	h.Add("Vary", "Cookie")
	h.Set("ETag", `"`+a.Hash+`"`)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Content-Security-Policy", filePolicy(kind))
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(a.Data))
	return nil
}

// served says as what type a file goes out, and whether the browser opens it or saves it. Types that are neither
// pictures, sound, film, PDF nor plain text are saved: a page or a script from a vault is never opened on our origin.
func served(mediaType string) (kind, how string) {
	base, _, err := mime.ParseMediaType(mediaType)
	if err != nil {
		return "application/octet-stream", "attachment"
	}
	switch {
	case base == "text/plain", base == "text/markdown", base == "text/csv":
		return "text/plain; charset=utf-8", "inline"
	case strings.HasPrefix(base, "image/"), strings.HasPrefix(base, "audio/"), strings.HasPrefix(base, "video/"), base == "application/pdf":
		return base, "inline"
	}
	return "application/octet-stream", "attachment"
}

// filePolicy: whatever a file holds, it runs nothing, asks nobody and is not of our origin. Browsers show no PDF in a
// sandbox; their viewer runs it apart from the page anyhow.
func filePolicy(kind string) string {
	if kind == "application/pdf" {
		return "frame-ancestors 'none'"
	}
	return "default-src 'none'; style-src 'unsafe-inline'; sandbox; frame-ancestors 'none'"
}
