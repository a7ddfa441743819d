package mcp_test

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/gatehouse-hq/gatehouse/internal/web/mcp"
)

const listTools = `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`

// ask sends one request as a client would, with headers changed; an empty value takes a header away.
func (h *house) ask(t *testing.T, method, body string, headers map[string]string) (*http.Response, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, h.URL+mcp.Path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Host = "site.example"
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	r.Header.Set("Authorization", "Bearer reader")
	for name, value := range headers {
		r.Header.Del(name)
		if value != "" {
			r.Header.Set(name, value)
		}
	}
	a, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Body.Close()
	out, err := io.ReadAll(a.Body)
	if err != nil {
		t.Fatal(err)
	}
	return a, string(out)
}

// What clients send wrongly is refused with the status that says what is wrong, and what they may send is answered.
func TestProtocol(t *testing.T) {
	t.Parallel()
	h := open(t)
	initialize := func(version string) string {
		return `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"` + version + `","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`
	}
	for _, c := range []struct {
		name, method, body string
		headers            map[string]string
		status             int
		holds              string
	}{
		{"the oldest version with streaming", "POST", initialize("2025-03-26"), nil, 200, `"protocolVersion":"2025-03-26"`},
		{"a later one", "POST", initialize("2025-06-18"), nil, 200, `"protocolVersion":"2025-06-18"`},
		{"the one before last", "POST", initialize("2025-11-25"), nil, 200, `"protocolVersion":"2025-11-25"`},
		{"a version of the future is answered with one that we speak", "POST", initialize("2999-01-01"), nil, 200, `"protocolVersion":"20`},
		{"a header with a version that is none", "POST", listTools, map[string]string{"Mcp-Protocol-Version": "1"}, 400, ""},
		{"without initialize: nothing is remembered, so nothing is missing", "POST", listTools, nil, 200, `"thing_list"`},
		{"a session of a server that is gone", "POST", listTools, map[string]string{"Mcp-Session-Id": "FROM-BEFORE"}, 200, `"thing_list"`},
		{"a notification", "POST", `{"jsonrpc":"2.0","method":"notifications/initialized"}`, nil, 202, ""},
		{"ping", "POST", `{"jsonrpc":"2.0","id":7,"method":"ping"}`, nil, 200, `"id":7`},
		{"a method nobody has", "POST", `{"jsonrpc":"2.0","id":1,"method":"no/such"}`, nil, 400, "no/such"},
		{"a tool nobody has", "POST", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"no_such","arguments":{}}}`, nil, 200, `"error"`},
		{"a stream", "GET", "", nil, 405, ""},
		{"the end of a session", "DELETE", "", map[string]string{"Mcp-Session-Id": "FROM-BEFORE"}, 405, ""},
		{"another verb", "PUT", listTools, nil, 405, ""},
		{"an Accept that takes no answer", "POST", listTools, map[string]string{"Accept": "text/html"}, 400, "Accept"},
		{"an Accept that takes anything", "POST", listTools, map[string]string{"Accept": "*/*"}, 200, `"thing_list"`},
		{"a form", "POST", "method=tools/list", map[string]string{"Content-Type": "application/x-www-form-urlencoded"}, 415, ""},
		{"text", "POST", listTools, map[string]string{"Content-Type": "text/plain"}, 415, ""},
		{"no type", "POST", listTools, map[string]string{"Content-Type": ""}, 415, ""},
		{"broken JSON", "POST", `{"jsonrpc":`, nil, 400, ""},
		{"no JSON-RPC", "POST", `{"hello":1}`, nil, 400, ""},
		{"nothing", "POST", ``, nil, 400, ""},
		{"a batch", "POST", `[` + listTools + `,` + listTools + `]`, map[string]string{"Mcp-Protocol-Version": "2025-06-18"}, 400, ""},
		{"too much", "POST", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"thing_list","arguments":{"a":"` + strings.Repeat("a", 7<<20) + `"}}}`, nil, 413, ""},
	} {
		a, body := h.ask(t, c.method, c.body, c.headers)
		if a.StatusCode != c.status || !strings.Contains(body, c.holds) {
			t.Errorf("%s: %d %.300s; want %d and %s", c.name, a.StatusCode, body, c.status, c.holds)
		}
		if c.status == 200 && (!json.Valid([]byte(body)) || a.Header.Get("Cache-Control") != "private, no-store") {
			t.Errorf("%s: %q %.100s", c.name, a.Header.Get("Cache-Control"), body)
		}
		if id := a.Header.Get("Mcp-Session-Id"); id != "" { // field case F55: none is opened, so none is left behind
			t.Errorf("%s: session %q", c.name, id)
		}
		if c.status == 405 && a.Header.Get("Allow") != "POST" {
			t.Errorf("%s: Allow %q", c.name, a.Header.Get("Allow"))
		}
	}
}
