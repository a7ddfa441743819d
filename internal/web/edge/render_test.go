package edge_test

import (
	"compress/gzip"
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/a-h/templ"

	"github.com/gatehouse-hq/gatehouse/internal/web/edge"
)

func page(text string, err error) templ.Component {
	return templ.ComponentFunc(func(_ context.Context, w io.Writer) error {
		if _, wrong := io.WriteString(w, text); wrong != nil {
			return wrong
		}
		return err
	})
}

func TestStatusIsWrittenAfterTheWholePageWasRendered(t *testing.T) {
	t.Parallel()
	h, _ := house(t, func(w http.ResponseWriter, r *http.Request) error {
		return edge.Render(w, r, http.StatusOK, page("half of it", errors.New("the other half")))
	})
	w := ask(h, getPage("/x"))
	if w.Code != http.StatusInternalServerError || strings.Contains(w.Body.String(), "half of it") {
		t.Errorf("%d with %q; want 500 without the half", w.Code, w.Body.String())
	}
}

func TestPagesOfThePanelAreKeptByNobody(t *testing.T) {
	t.Parallel()
	h, _ := house(t, func(w http.ResponseWriter, r *http.Request) error {
		return edge.Render(w, r, http.StatusCreated, page("hello", nil))
	})
	w := ask(h, getPage("/x"))
	if w.Code != http.StatusCreated || w.Body.String() != "hello" || w.Header().Get("Cache-Control") != "private, no-store" || w.Header().Get("Content-Length") != "5" {
		t.Errorf("%d %q %v", w.Code, w.Body.String(), w.Header())
	}
}

func TestPublicPagesAreAskedAboutEachTime(t *testing.T) {
	t.Parallel()
	text := "a published note"
	h, _ := house(t, func(w http.ResponseWriter, r *http.Request) error { return edge.RenderPublic(w, r, page(text, nil)) })
	first := ask(h, getPage("/wiki/x"))
	tag := first.Header().Get("ETag")
	if tag == "" || first.Header().Get("Cache-Control") != "private, no-cache" {
		t.Fatalf("ETag %q, Cache-Control %q", tag, first.Header().Get("Cache-Control"))
	}
	again := getPage("/wiki/x")
	again.Header.Set("If-None-Match", `"other", `+tag)
	if w := ask(h, again); w.Code != http.StatusNotModified || w.Body.Len() != 0 {
		t.Errorf("unchanged: %d with %d bytes, want 304 with none", w.Code, w.Body.Len())
	}
	text = "changed"
	if w := ask(h, again); w.Code != http.StatusOK || w.Body.String() != "changed" {
		t.Errorf("changed: %d %q", w.Code, w.Body.String())
	}
}

func TestCompressionWhereItIsSafe(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("compost ", 400)
	for _, c := range []struct {
		name, accept string
		body         string
		render       func(http.ResponseWriter, *http.Request, int, templ.Component) error
		zipped       bool
	}{
		{"a long page", "gzip", long, edge.Render, true},
		{"a client without gzip", "br", long, edge.Render, false},
		{"a short page", "gzip", "short", edge.Render, false},
		{"a page with a secret", "gzip", long, edge.RenderSecret, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			h, _ := house(t, func(w http.ResponseWriter, r *http.Request) error { return c.render(w, r, 200, page(c.body, nil)) })
			r := getPage("/x")
			r.Header.Set("Accept-Encoding", c.accept)
			w := ask(h, r)
			if got := w.Header().Get("Content-Encoding") == "gzip"; got != c.zipped {
				t.Fatalf("compressed: %v, want %v", got, c.zipped)
			}
			body := io.Reader(w.Body)
			if c.zipped {
				var err error
				if body, err = gzip.NewReader(w.Body); err != nil {
					t.Fatal(err)
				}
			}
			if text, err := io.ReadAll(body); err != nil || string(text) != c.body {
				t.Errorf("%v: %d bytes arrived of %d", err, len(text), len(c.body))
			}
		})
	}
}

func TestHeadHasHeadersOnly(t *testing.T) {
	t.Parallel()
	h, _ := house(t, func(w http.ResponseWriter, r *http.Request) error { return edge.Render(w, r, 200, page("hello", nil)) })
	r := getPage("/x")
	r.Method = http.MethodHead
	if w := ask(h, r); w.Body.Len() != 0 || w.Header().Get("Content-Length") != "5" {
		t.Errorf("%d bytes, Content-Length %q", w.Body.Len(), w.Header().Get("Content-Length"))
	}
}
