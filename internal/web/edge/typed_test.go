package edge_test

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"strings"
	"testing"

	"github.com/gatehouse-hq/gatehouse/internal/web/assets"
	"github.com/gatehouse-hq/gatehouse/internal/web/edge"
)

// counted is a body that tells how much of it was read.
type counted struct {
	io.Reader
	read int64
}

func (c *counted) Read(p []byte) (int, error) {
	n, err := c.Reader.Read(p)
	c.read += int64(n)
	return n, err
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }

// What a stranger sends is refused before any handler bounds it: it may fill neither memory nor the disk with the
// temporary files of an upload.
func TestARefusedUploadIsNotReadWhole(t *testing.T) {
	spilled := t.TempDir()
	t.Setenv("TMPDIR", spilled)
	e := edge.New(edge.Config{Assets: assets.New(), BaseURL: &url.URL{Scheme: "https", Host: "shelf.example"}})
	closed := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { e.Fail(w, r, said{code: "unauthorized"}) })
	other := e.MethodNotAllowed(func(*http.Request) []string { return []string{http.MethodGet} })
	for name, c := range map[string]struct {
		behind http.Handler
		site   string
		status int
	}{
		"signed out":     {closed, "same-origin", http.StatusUnauthorized},
		"another method": {other, "same-origin", http.StatusMethodNotAllowed},
		"taken, but not used": {e.HandleSized(80<<20, func(_ http.ResponseWriter, r *http.Request) error {
			_, err := edge.ParseForm(r)
			return errors.Join(err, edge.ErrNotFound)
		}), "same-origin", http.StatusNotFound},
		"from another site": {closed, "cross-site", http.StatusForbidden},
	} {
		const head = "--x\r\nContent-Disposition: form-data; name=\"archive\"; filename=\"vault.zip\"\r\n\r\n"
		body := &counted{Reader: io.MultiReader(strings.NewReader(head), io.LimitReader(zeros{}, 64<<20), strings.NewReader("\r\n--x--\r\n"))}
		r := httptest.NewRequest(http.MethodPost, "/admin/notes/import", body)
		r.Header.Set("Content-Type", "multipart/form-data; boundary=x")
		r.Header.Set("Sec-Fetch-Site", c.site)
		if w := ask(e.Chain(c.behind), r); w.Code != c.status {
			t.Errorf("%s: %d, want %d", name, w.Code, c.status)
		}
		if c.status != http.StatusNotFound && body.read > 9<<20 {
			t.Errorf("%s: %d MiB were read", name, body.read>>20)
		}
		if left, err := os.ReadDir(spilled); err != nil || len(left) > 0 {
			t.Errorf("%s: %d temporary files were left, %v", name, len(left), err)
		}
	}
}
