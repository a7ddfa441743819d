package web

import (
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/go-chi/chi/v5"

	"github.com/gatehouse-hq/gatehouse/internal/infra/op"
	"github.com/gatehouse-hq/gatehouse/internal/web/admin"
	"github.com/gatehouse-hq/gatehouse/internal/web/admin/notes"
	"github.com/gatehouse-hq/gatehouse/internal/web/api"
	"github.com/gatehouse-hq/gatehouse/internal/web/assets"
	"github.com/gatehouse-hq/gatehouse/internal/web/edge"
	"github.com/gatehouse-hq/gatehouse/internal/web/mcp"
	"github.com/gatehouse-hq/gatehouse/internal/web/public"
	"github.com/gatehouse-hq/gatehouse/internal/web/session"
)

// walked lists the addresses that e2e/specs/walk.spec.ts opens in a browser, or says of why it does not.
const walked = "../../e2e/routes.txt"

// A page that nobody looks at is where ugliness and faults stay. The browser tests fail for each line of the file that they
// do not walk; this test fails for each address that has no line.
func TestEveryAddressIsKnownToTheBrowserTests(t *testing.T) {
	t.Parallel()
	set, err := op.Collect()
	if err != nil {
		t.Fatal(err)
	}
	base := &url.URL{Scheme: "http", Host: "site.example"}
	e := edge.New(edge.Config{Assets: assets.New(), Log: slog.New(slog.DiscardHandler), BaseURL: base})
	gate := session.New(nil, e, false)
	// Nothing is asked of the parts, so that most of them may be missing.
	router := Faces{
		Edge: e, Gate: gate, Assets: assets.New(),
		Admin:  admin.Routes(e, admin.Sections{Live: struct{ admin.Stream }{}, Notes: notes.New(nil, nil, nil, e)}),
		API:    api.New(e, gate, set, nil).Routes,
		MCP:    mcp.New(mcp.Config{Ops: set, BaseURL: base}).Routes,
		Public: public.New(nil, e, gate.Notice).Routes,
	}.routes()
	var have []string
	err = chi.Walk(router, func(method, route string, _ http.Handler, _ ...func(http.Handler) http.Handler) error {
		if method == http.MethodGet {
			have = append(have, route)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(have)
	have = slices.Compact(have)
	text, err := os.ReadFile(walked)
	if err != nil {
		t.Fatal(err)
	}
	if want := strings.Fields(string(text)); !slices.Equal(have, want) {
		t.Errorf("%s should be:\n%s", walked, strings.Join(have, "\n"))
	}
}
