package mcp_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-chi/chi/v5"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/gatehouse-hq/gatehouse/internal/infra/op"
	"github.com/gatehouse-hq/gatehouse/internal/infra/pg"
	"github.com/gatehouse-hq/gatehouse/internal/infra/pg/pgtest"
	"github.com/gatehouse-hq/gatehouse/internal/web/mcp"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

// house is a server with operations that tell what was done to them.
type house struct {
	*httptest.Server
	began, ended chan struct{}
	dropped      atomic.Int64
	db           *pg.DB
	revoked      atomic.Bool
	text         atomic.Pointer[string] // of thing.get
}

type dropIn struct {
	IDs []string `json:"ids"`
}

type tail struct {
	Limit int `json:"attempts_limit,omitempty" jsonschema:"at most so many; left out: all of them"`
}

type tailOut struct {
	Next int `json:"attempts_next,omitempty"`
}

type listOut struct {
	Items []string `json:"items"`
	Next  string   `json:"next,omitempty"`
}

func open(t *testing.T) *house {
	t.Helper()
	h := &house{began: make(chan struct{}), ended: make(chan struct{})}
	set, err := op.Collect(
		op.New("thing.wait", "Wait", "Waits until nobody wants it any more.", op.Read, func(ctx context.Context, _ struct{}) (struct{}, error) {
			close(h.began)
			<-ctx.Done()
			close(h.ended)
			return struct{}{}, ctx.Err()
		}),
		op.New("thing.abandon", "Abandon", "Its caller gives up in the middle.", op.Read, func(ctx context.Context, _ struct{}) (struct{}, error) {
			if giveUp, ok := ctx.Value(givesUp{}).(context.CancelFunc); ok {
				giveUp()
				<-ctx.Done()
			}
			return struct{}{}, ctx.Err()
		}),
		op.New("thing.list", "List", "Lists much.", op.Read, func(context.Context, struct{}) (listOut, error) {
			return listOut{Items: slices.Repeat([]string{strings.Repeat("ü", 1000)}, 2000), Next: "c"}, nil
		}),
		op.New("thing.get", "Get", "Reads one with a long text.", op.Read, h.get),
		op.New("thing.tail", "Tail", "Reads the newest.", op.Read, func(_ context.Context, in tail) (tailOut, error) { return tailOut{in.Limit}, nil }),
		op.New("thing.page", "Page", "Pages through large ones.", op.Read, pageOf),
		op.New("thing.write", "Write", "Answers with much.", op.Write, h.get),
		op.New("thing.break", "Break", "Breaks.", op.Read, func(context.Context, struct{}) (listOut, error) {
			return listOut{}, errors.New("secret: password=hunter2")
		}),
		op.New("thing.panic", "Panic", "Panics.", op.Read, func(context.Context, struct{}) (listOut, error) { panic("secret") }),
		op.New("thing.drop", "Drop", "Drops things.", op.Destructive, func(_ context.Context, in dropIn) (struct{}, error) {
			h.dropped.Add(int64(len(in.IDs)))
			return struct{}{}, nil
		}),
		op.New("thing.send", "Send", "Sends.", op.Egress, func(context.Context, struct{}) (struct{}, error) { return struct{}{}, nil }),
	)
	if err != nil {
		t.Fatal(err)
	}
	h.db = pgtest.New(t)
	s := mcp.New(mcp.Config{
		Ops: set, Plans: op.NewPlans(h.db, set), BaseURL: &url.URL{Scheme: "https", Host: "site.example"}, Log: slog.New(slog.DiscardHandler), Version: "test",
		RequestID: func(context.Context) string { return "r1" },
		Bearer: func(ctx context.Context, token string) (context.Context, op.Caller, error) {
			classes := map[string][]op.Class{"reader": {op.Read}, "writer": {op.Write}, "keeper": {op.Read, op.Destructive}, "other": {op.Read, op.Destructive}}[token]
			if classes == nil || h.revoked.Load() {
				return nil, op.Caller{}, op.Errorf(op.Unauthorized, "This token has been revoked.")
			}
			caller := op.Caller{Token: token, Classes: classes}
			return op.WithCaller(ctx, caller), caller, nil
		},
	})
	r := chi.NewRouter()
	s.Routes(r)
	h.Server = httptest.NewServer(r)
	t.Cleanup(h.Close)
	return h
}

type withToken string

func (token withToken) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+string(token))
	return http.DefaultTransport.RoundTrip(r)
}

func (h *house) client(t *testing.T, token string) *sdk.ClientSession {
	t.Helper()
	c := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, nil)
	session, err := c.Connect(t.Context(), &sdk.StreamableClientTransport{
		Endpoint: h.URL + mcp.Path, HTTPClient: &http.Client{Transport: withToken(token)}, MaxRetries: -1,
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = session.Close() })
	return session
}

func call(t *testing.T, s *sdk.ClientSession, name string, arguments any) (result map[string]any, text string, isError bool) {
	t.Helper()
	r, err := s.CallTool(t.Context(), &sdk.CallToolParams{Name: name, Arguments: arguments})
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	if r.StructuredContent != nil {
		result = r.StructuredContent.(map[string]any)
	}
	return result, r.Content[0].(*sdk.TextContent).Text, r.IsError
}

func TestAToolIsSeenByWhoeverMayUseIt(t *testing.T) {
	t.Parallel()
	h := open(t)
	s := h.client(t, "keeper")
	list, err := s.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, tool := range list.Tools {
		names = append(names, tool.Name)
		if tool.Name == "thing_drop" && (tool.Annotations.ReadOnlyHint || !*tool.Annotations.DestructiveHint || *tool.Annotations.OpenWorldHint) {
			t.Errorf("annotations %+v", tool.Annotations)
		}
		if tool.Name == "thing_list" && (!tool.Annotations.ReadOnlyHint || *tool.Annotations.DestructiveHint) {
			t.Errorf("annotations %+v", tool.Annotations)
		}
	}
	if want := []string{"read_more", "thing_abandon", "thing_break", "thing_drop", "thing_get", "thing_list", "thing_page", "thing_panic", "thing_tail", "thing_wait"}; !slices.Equal(names, want) {
		t.Errorf("tools %v, want %v", names, want)
	}
	if list.CacheScope == "public" {
		t.Error("what one token sees may be cached for all")
	}
	prompts, err := s.ListPrompts(t.Context(), nil)
	if err != nil || len(prompts.Prompts) != 2 {
		t.Fatalf("%+v %v", prompts, err)
	}
	for _, p := range prompts.Prompts {
		got, err := s.GetPrompt(t.Context(), &sdk.GetPromptParams{Name: p.Name})
		if err != nil || len(got.Messages) != 1 {
			t.Errorf("%s: %+v %v", p.Name, got, err)
		}
	}
	if _, text, isError := call(t, h.client(t, "reader"), "thing_drop", dropIn{IDs: []string{"a"}}); !isError || !strings.Contains(text, "class destructive") {
		t.Error(text)
	}
}

// Field case F55: rights are looked at on every call, not when a session began.
func TestRevocationBitesOnTheNextCall(t *testing.T) {
	t.Parallel()
	h := open(t)
	s := h.client(t, "reader")
	if _, _, isError := call(t, s, "thing_list", nil); isError {
		t.Fatal("it does not work before")
	}
	h.revoked.Store(true)
	if _, err := s.CallTool(t.Context(), &sdk.CallToolParams{Name: "thing_list"}); err == nil {
		t.Error("it works after")
	}
}

func TestWhatDestroysTakesTwoCalls(t *testing.T) {
	t.Parallel()
	h := open(t)
	s := h.client(t, "keeper")
	ids := []string{"a", "b"}
	plan := func() string {
		t.Helper()
		result, text, isError := call(t, s, "thing_drop", dropIn{IDs: ids})
		if isError {
			t.Fatal(text)
		}
		p := result["plan"].(map[string]any)
		if p["count"] != 2.0 || len(p["sample"].([]any)) != 2 || p["expires_at"] == "" {
			t.Errorf("plan %v", p)
		}
		return p["plan_id"].(string)
	}
	id := plan()
	refused := func(why string, session *sdk.ClientSession, arguments map[string]any, says string) {
		t.Helper()
		if _, text, isError := call(t, session, "thing_drop", arguments); !isError || !strings.Contains(text, says) {
			t.Errorf("%s: %s", why, text)
		}
		if n := h.dropped.Load(); n != 0 {
			t.Fatalf("%s: %d were dropped", why, n)
		}
	}
	refused("other arguments", s, map[string]any{"ids": []string{"a", "c"}, "plan_id": id}, "other arguments")
	refused("another token", h.client(t, "other"), map[string]any{"ids": ids, "plan_id": id}, "unknown")
	refused("a guess", s, map[string]any{"ids": ids, "plan_id": "plan_x"}, "unknown")
	refused("no text", s, map[string]any{"ids": ids, "plan_id": 7}, "plan_id")
	if _, err := h.db.Exec(t.Context(), `update plans set expires_at = clock_timestamp()`); err != nil {
		t.Fatal(err)
	}
	refused("an old plan", s, map[string]any{"ids": ids, "plan_id": id}, "expired")
	id = plan()
	if result, text, isError := call(t, s, "thing_drop", map[string]any{"ids": ids, "plan_id": id}); isError || result["result"] == nil || h.dropped.Load() != 2 {
		t.Errorf("applied: %s, %d dropped", text, h.dropped.Load())
	}
	if _, text, isError := call(t, s, "thing_drop", map[string]any{"plan_id": id}); !isError || h.dropped.Load() != 2 {
		t.Errorf("a plan works twice: %s", text)
	}
	if _, text, isError := call(t, s, "thing_drop", map[string]any{"plan_id": plan()}); isError || h.dropped.Load() != 4 {
		t.Errorf("the id alone: %s", text)
	}
}

// The SDK tells handlers of older protocol versions nothing when the client goes away.
func TestAbortedCallStops(t *testing.T) {
	t.Parallel()
	for _, version := range []string{"2025-03-26", "2025-06-18", "2025-11-25"} {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			h := open(t)
			ctx, abort := context.WithCancel(t.Context())
			defer abort()
			r, err := http.NewRequestWithContext(ctx, http.MethodPost, h.URL+mcp.Path, strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"thing_wait","arguments":{}}}`))
			if err != nil {
				t.Fatal(err)
			}
			r.Header.Set("Content-Type", "application/json")
			r.Header.Set("Accept", "application/json, text/event-stream")
			r.Header.Set("Authorization", "Bearer reader")
			r.Header.Set("Mcp-Protocol-Version", version)
			var client sync.WaitGroup
			client.Go(func() {
				if answer, err := http.DefaultClient.Do(r); err == nil {
					_ = answer.Body.Close()
					t.Errorf("the call ended by itself: %s", answer.Status)
				}
			})
			within(t, h.began, "begin")
			abort()
			within(t, h.ended, "end though nobody waits for it")
			client.Wait()
		})
	}
}

func within(t *testing.T, signal chan struct{}, what string) {
	t.Helper()
	select {
	case <-signal:
	case <-time.After(20 * time.Second):
		t.Fatalf("the call does not %s", what)
	}
}

func TestAnswersAreBoundedAndFaultsOursStayHere(t *testing.T) {
	t.Parallel()
	s := open(t).client(t, "reader")
	result, text, isError := call(t, s, "thing_list", nil)
	said, _ := result["truncated"].(string)
	if isError || len(text) > 70_000 || !strings.Contains(said, "read_more") || len(result["items"].([]any)) == 0 || result["next"] != "c" {
		t.Errorf("%d bytes, %d entries, says %q", len(text), len(result["items"].([]any)), said)
	}
	raw, err := json.Marshal(result)
	if err != nil || len(raw) > 64<<10 {
		t.Errorf("%d bytes of structure, %v", len(raw), err)
	}
	for _, name := range []string{"thing_break", "thing_panic"} {
		if _, text, isError := call(t, s, name, nil); !isError || strings.Contains(text, "secret") || !strings.Contains(text, "request r1") {
			t.Errorf("%s: %s", name, text)
		}
	}
}

func TestOnlyOurOwnNameAndPages(t *testing.T) {
	t.Parallel()
	h := open(t)
	for name, c := range map[string]struct {
		host, origin, token string
		method              string
		status              int
	}{
		"a program":               {"site.example", "", "reader", http.MethodPost, 200},
		"behind a proxy":          {"127.0.0.1:8080", "", "reader", http.MethodPost, 200},
		"our own page":            {"site.example", "https://site.example", "reader", http.MethodPost, 200},
		"another site's page":     {"site.example", "https://evil.example", "reader", http.MethodPost, 403},
		"our page over http":      {"site.example", "http://site.example", "reader", http.MethodPost, 403},
		"no origin":               {"site.example", "null", "reader", http.MethodPost, 403},
		"a name bent to us":       {"evil.example", "", "reader", http.MethodPost, 403},
		"a name like ours":        {"127.0.0.1.evil.example", "", "reader", http.MethodPost, 403},
		"no token":                {"site.example", "", "", http.MethodPost, 401},
		"a wrong token":           {"site.example", "", "guess", http.MethodPost, 401},
		"a stream nobody offers":  {"site.example", "", "reader", http.MethodGet, 405},
		"a session nobody opened": {"site.example", "", "reader", http.MethodDelete, 405},
	} {
		r, err := http.NewRequestWithContext(t.Context(), c.method, h.URL+mcp.Path, strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`))
		if err != nil {
			t.Fatal(err)
		}
		r.Host = c.host
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Accept", "application/json, text/event-stream")
		if c.origin != "" {
			r.Header.Set("Origin", c.origin)
		}
		if c.token != "" {
			r.Header.Set("Authorization", "Bearer "+c.token)
		}
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		body, _ := io.ReadAll(answer.Body)
		_ = answer.Body.Close()
		if answer.StatusCode != c.status {
			t.Errorf("%s: %d %s, want %d", name, answer.StatusCode, body, c.status)
		}
		pointer := answer.Header.Get("WWW-Authenticate")
		if c.status == 401 && !strings.Contains(pointer, `resource_metadata="https://site.example/.well-known/oauth-protected-resource/mcp"`) {
			t.Errorf("%s: points to %q", name, pointer)
		}
	}
	answer, err := http.Get(h.URL + "/.well-known/oauth-protected-resource/mcp")
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	var about struct {
		Resource string `json:"resource"`
	}
	if err := json.NewDecoder(answer.Body).Decode(&about); err != nil || about.Resource != "https://site.example/mcp" {
		t.Errorf("%+v %v", about, err)
	}
}
