package assets_test

import (
	"bytes"
	"compress/gzip"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"testing"

	"github.com/gatehouse-hq/gatehouse/internal/web/assets"
)

func get(t *testing.T, set *assets.Set, path string, headers ...string) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequest(http.MethodGet, path, nil)
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	set.Handler().ServeHTTP(w, r)
	return w
}

func TestBundlesStayWithinTheirBudget(t *testing.T) {
	t.Parallel()
	set := assets.New()
	for _, budget := range []struct {
		what  string
		names []string
		bytes int
	}{
		{"stylesheets", []string{"house.css", "panel.css", "public.css"}, 10_000},
		{"scripts", []string{"panel.js"}, 20_000},
		{"icons", []string{"icons.svg", "callouts.svg", "favicon.svg"}, 6_000},
	} {
		total := 0
		for _, name := range budget.names {
			total += get(t, set, set.Path(name), "Accept-Encoding", "gzip").Body.Len()
		}
		t.Logf("%s: %d bytes gzipped", budget.what, total)
		if total > budget.bytes {
			t.Errorf("%s are %d bytes gzipped, the budget is %d", budget.what, total, budget.bytes)
		}
	}
}

func TestAssetMayBeKeptForEver(t *testing.T) {
	t.Parallel()
	set := assets.New()
	path := set.Path("house.css")
	if !regexp.MustCompile(`^/assets/house\.[0-9a-f]{10}\.css$`).MatchString(path) {
		t.Fatalf("path %q does not carry a hash of the content", path)
	}
	w := get(t, set, path)
	for header, want := range map[string]string{
		"Cache-Control":          "public, max-age=31536000, immutable",
		"Content-Type":           "text/css; charset=utf-8",
		"X-Content-Type-Options": "nosniff",
		"Vary":                   "Accept-Encoding",
		"Content-Encoding":       "",
	} {
		if got := w.Header().Get(header); got != want {
			t.Errorf("%s: got %q, want %q", header, got, want)
		}
	}
	again := get(t, set, path, "If-None-Match", w.Header().Get("ETag"))
	if again.Code != http.StatusNotModified || again.Body.Len() != 0 {
		t.Errorf("asked again with its ETag: %d with %d bytes, want 304 with none", again.Code, again.Body.Len())
	}
}

func TestCompressedAndPlainAreTheSame(t *testing.T) {
	t.Parallel()
	set := assets.New()
	plain := get(t, set, set.Path("panel.js"))
	zipped := get(t, set, set.Path("panel.js"), "Accept-Encoding", "br;q=1, gzip;q=0.5")
	if zipped.Header().Get("Content-Encoding") != "gzip" {
		t.Fatal("not compressed for a client that accepts gzip")
	}
	reader, err := gzip.NewReader(zipped.Body)
	if err != nil {
		t.Fatal(err)
	}
	unzipped, err := io.ReadAll(reader)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(unzipped, plain.Body.Bytes()) {
		t.Error("the compressed script differs from the plain one")
	}
}

func TestUnknownAndOutdatedNamesAreNotServed(t *testing.T) {
	t.Parallel()
	set := assets.New()
	for _, path := range []string{"/assets/house.css", "/assets/house.0000000000.css", "/assets/../assets.go", "/assets/"} {
		w := get(t, set, path)
		if w.Code != http.StatusNotFound || w.Header().Get("Cache-Control") != "no-store" {
			t.Errorf("%s: %d, Cache-Control %q; want 404 that nobody keeps", path, w.Code, w.Header().Get("Cache-Control"))
		}
	}
	r := httptest.NewRequest(http.MethodPost, set.Path("house.css"), nil)
	w := httptest.NewRecorder()
	set.Handler().ServeHTTP(w, r)
	if w.Code != http.StatusMethodNotAllowed {
		t.Errorf("POST: %d, want 405", w.Code)
	}
}

func TestHeadHasNoBody(t *testing.T) {
	t.Parallel()
	set := assets.New()
	w := httptest.NewRecorder()
	set.Handler().ServeHTTP(w, httptest.NewRequest(http.MethodHead, set.Path("icons.svg"), nil))
	if w.Code != http.StatusOK || w.Body.Len() != 0 || w.Header().Get("Content-Length") == "" {
		t.Errorf("HEAD: %d, %d bytes, Content-Length %q", w.Code, w.Body.Len(), w.Header().Get("Content-Length"))
	}
}

func TestPathPanicsOnANameNobodyServes(t *testing.T) {
	t.Parallel()
	defer func() {
		if recover() == nil {
			t.Error("a mistyped name went unnoticed")
		}
	}()
	assets.New().Path("panell.css")
}

// A stylesheet that reached outside would be blocked by the policy, and one that names an
// asset must name it with its hash.
func TestStylesheetsReachOnlyOurOwnFiles(t *testing.T) {
	t.Parallel()
	set := assets.New()
	links := regexp.MustCompile(`url\(([^)]*)\)|@import`)
	for _, name := range []string{"house.css", "panel.css", "public.css"} {
		for _, link := range links.FindAllStringSubmatch(get(t, set, set.Path(name)).Body.String(), -1) {
			if get(t, set, link[1]).Code != http.StatusOK {
				t.Errorf("%s links to %q, which is not served", name, link[0])
			}
		}
	}
}

func TestAcceptsGzip(t *testing.T) {
	t.Parallel()
	for header, want := range map[string]bool{
		"": false, "gzip": true, "GZIP": true, "br, gzip;q=0.1": true, "gzip;q=0": false,
		"gzip; q=0.0": false, "*": true, "*;q=0": false, "*, gzip;q=0": false, "identity": false,
	} {
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.Header.Set("Accept-Encoding", header)
		if got := assets.AcceptsGzip(r); got != want {
			t.Errorf("Accept-Encoding %q: got %v, want %v", header, got, want)
		}
	}
}
