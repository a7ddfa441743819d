package edge_test

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/gatehouse-hq/gatehouse/internal/web/edge"
)

// outside are addresses that lead, or could be read as leading, away from this host (field
// case F35).
func outside() []string {
	return []string{
		"//evil.example", `/\evil.example`, "/%5Cevil.example", "/%5cevil.example", "/%09/evil.example", "/.//evil.example",
		"https:evil.example", "https://evil.example", "javascript:alert(7)", "/ok%0d%0aSet-Cookie:x=1", "/\tevil", "/\t/evil.example",
		"/\n/evil.example", "///evil.example", "/a//evil.example", "/../evil", "/a/../..//evil.example", "/%2e%2e//evil", "/%2f/evil.example",
		`\\evil.example`, `\/evil.example`, "evil.example", "", " /ok", "/ok\x00", "/%00", "/%zz", "http:///evil", "//", "/\u200b/evil.example",
		"/ok%E2%80%AEevil", "?next=/x", "#top", "/" + strings.Repeat("a", 3000),
	}
}

func TestLocalPathStaysHere(t *testing.T) {
	t.Parallel()
	for _, next := range outside() {
		if got := edge.LocalPath(next, "/admin/"); got != "/admin/" {
			t.Errorf("next=%q leads to %q", next, got)
		}
	}
	for next, want := range map[string]string{
		"/": "/", "/admin/": "/admin/", "/admin/tasks?state=discarded&q=a%20b": "/admin/tasks?state=discarded&q=a%20b",
		"/wiki/garden/compost#heat": "/wiki/garden/compost", "/wiki/花园": "/wiki/%E8%8A%B1%E5%9B%AD",
		"/login?next=%2Fadmin%2F": "/login?next=%2Fadmin%2F", "/search?q=%5C": "/search?q=%5C",
	} {
		if got := edge.LocalPath(next, "/nowhere"); got != want {
			t.Errorf("next=%q: got %q, want %q", next, got, want)
		}
	}
}

func TestRedirectsAndBackStayHere(t *testing.T) {
	t.Parallel()
	h, _ := house(t, func(w http.ResponseWriter, r *http.Request) error {
		if _, err := edge.ParseForm(r); err != nil {
			return err
		}
		return edge.SeeOther(w, r, edge.Back(r, "/default"))
	})
	for _, next := range outside() {
		w := ask(h, post("/act", url.Values{"back": {next}}))
		if w.Code != http.StatusSeeOther || w.Header().Get("Location") != "/default" || w.Header().Get("Set-Cookie") != "" {
			t.Errorf("back=%q: %d to %q", next, w.Code, w.Header().Get("Location"))
		}
	}
	for referer, want := range map[string]string{
		"https://shelf.example/admin/tasks?state=failed": "/admin/tasks?state=failed", "https://evil.example/admin/tasks": "/default",
		`https://shelf.example/\evil.example`: "/default", "https://shelf.example//evil.example": "/default",
		"https://shelf.example@evil.example/x": "/default", "javascript:alert(7)": "/default", "//shelf.example": "/default",
	} {
		r := post("/act", nil)
		r.Header.Set("Referer", referer)
		if got := ask(h, r).Header().Get("Location"); got != want {
			t.Errorf("Referer %q leads to %q, want %q", referer, got, want)
		}
	}
}

func FuzzLocalPath(f *testing.F) {
	for _, seed := range outside() {
		f.Add(seed)
	}
	f.Add("/admin/tasks?q=1")
	base, err := url.Parse("https://shelf.example/login")
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, next string) {
		got := edge.LocalPath(next, "/fallback")
		// What a browser does first: drop tabs and line breaks, read a backslash as a slash.
		browser := strings.NewReplacer("\t", "", "\n", "", "\r", "", `\`, "/").Replace(got)
		if browser != got || !strings.HasPrefix(got, "/") || strings.HasPrefix(got, "//") {
			t.Fatalf("%q became %q", next, got)
		}
		target, err := base.Parse(got)
		if err != nil || target.Host != base.Host || target.Scheme != base.Scheme {
			t.Fatalf("%q leads to %v (%v)", next, target, err)
		}
		w := httptest.NewRecorder()
		if err := edge.SeeOther(w, httptest.NewRequest("GET", "/x", nil), next); err != nil || strings.ContainsAny(w.Header().Get("Location"), "\r\n\\") {
			t.Fatalf("Location %q", w.Header().Get("Location"))
		}
	})
}
