package api_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/gatehouse-hq/gatehouse/internal/domain/owner"
	"github.com/gatehouse-hq/gatehouse/internal/infra/events"
	"github.com/gatehouse-hq/gatehouse/internal/infra/op"
	"github.com/gatehouse-hq/gatehouse/internal/infra/pg/pgtest"
	"github.com/gatehouse-hq/gatehouse/internal/web/api"
	"github.com/gatehouse-hq/gatehouse/internal/web/webtest"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

type echo struct {
	Word   string          `json:"word"`
	Number json.RawMessage `json:"number,omitempty"`
}

func ops(t *testing.T) *op.Set {
	t.Helper()
	set, err := op.Collect(
		op.New("test.echo", "Echo", "Says it again.", op.Read, func(_ context.Context, in echo) (echo, error) { return in, nil }),
		op.New("test.drop", "Drop", "Destroys.", op.Destructive, func(context.Context, struct{}) (struct{}, error) { return struct{}{}, nil }),
		op.New("test.wrong", "Wrong", "Refuses two fields.", op.Read, func(context.Context, struct{}) (echo, error) {
			return echo{}, errors.Join(op.Invalidf("word", "is rude"), op.Invalidf("number", "is odd"))
		}),
		op.New("test.changed", "Changed", "Conflicts.", op.Write, func(context.Context, struct{}) (echo, error) {
			return echo{}, op.Wrap(errors.New("secret cause"), op.Conflict, "It has changed.")
		}),
		op.New("test.broken", "Broken", "Breaks.", op.Read, func(context.Context, struct{}) (echo, error) {
			return echo{}, errors.New("secret: pq password=hunter2")
		}),
	)
	if err != nil {
		t.Fatal(err)
	}
	return set
}

// readOnly is a token of one class.
func readOnly(ctx context.Context, token string) (context.Context, op.Caller, error) {
	if token != "good" {
		return nil, op.Caller{}, op.Errorf(op.Unauthorized, "This token is unknown, expired or revoked.")
	}
	return ctx, op.Caller{Token: "t1", Classes: []op.Class{op.Read}}, nil
}

func house(t *testing.T, bearer op.Bearer) *webtest.House {
	t.Helper()
	h := webtest.New(t, owner.New(pgtest.New(t), events.NewRecorder(owner.Types(), events.NewBell())), nil)
	api.New(h.Edge, h.Gate, ops(t), bearer).Routes(h.Router)
	return h
}

func call(name, body string) *http.Request {
	r := httptest.NewRequest(http.MethodPost, api.Prefix+name, strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	return r
}

func with(r *http.Request, name, value string) *http.Request {
	r.Header.Set(name, value)
	return r
}

func TestAnswers(t *testing.T) {
	t.Parallel()
	h := house(t, readOnly)
	for _, c := range []struct {
		name   string
		r      *http.Request
		signed bool
		status int
		holds  string
	}{
		{"the owner", call("test.echo", `{"word":"hi"}`), true, 200, `{"word":"hi"}`},
		{"numbers as they were written", call("test.echo", `{"word":"","number":12345678901234567890.10}`), true, 200, `"number":12345678901234567890.10`},
		{"no body", call("test.drop", ""), true, 200, `{}`},
		{"a stranger", call("test.echo", `{"word":"hi"}`), false, 401, `"code":"unauthorized"`},
		{"a stranger learns no names", call("no.such", `{}`), false, 401, `"code":"unauthorized"`},
		{"unknown operation", call("no.such", `{}`), true, 404, `"code":"not_found"`},
		{"deeper path", call("test.echo/x", `{}`), true, 404, `"code":"not_found"`},
		{"not by GET", httptest.NewRequest(http.MethodGet, api.Prefix+"test.echo", nil), true, 405, `"code":"method"`},
		{"unknown field", call("test.echo", `{"wrod":"hi"}`), true, 422, `"field":"wrod"`},
		{"wrong type", call("test.echo", `{"word":5}`), true, 422, `"field":"word"`},
		{"two values", call("test.echo", `{"word":"a"}{}`), true, 422, `"code":"invalid"`},
		{"not JSON", call("test.echo", `word=hi`), true, 422, `"code":"invalid"`},
		{"a form's type", with(call("test.echo", `{"word":"hi"}`), "Content-Type", "text/plain"), true, 415, `"code":"media_type"`},
		{"too large", call("test.echo", `{"word":"`+strings.Repeat("a", 6<<20)+`"}`), true, 413, `"code":"too_large"`},
		{"several fields", call("test.wrong", ""), true, 422, `"errors":[{"field":"word","detail":"is rude"},{"field":"number","detail":"is odd"}]`},
		{"conflict", call("test.changed", ""), true, 409, `"detail":"It has changed."`},
		{"a fault of ours", call("test.broken", ""), true, 500, `"code":"internal"`},
		{"another site's form", with(call("test.drop", ""), "Sec-Fetch-Site", "cross-site"), true, 403, ""},
		{"a token", with(call("test.echo", `{"word":"hi"}`), "Authorization", "Bearer good"), false, 200, `{"word":"hi"}`},
		{"a token beyond its class", with(call("test.drop", ""), "Authorization", "Bearer good"), false, 403, `"code":"forbidden"`},
		{"a wrong token beside a good session", with(call("test.echo", `{"word":"hi"}`), "Authorization", "Bearer bad"), true, 401, `"code":"unauthorized"`},
		{"another scheme", with(call("test.echo", `{"word":"hi"}`), "Authorization", "Basic good"), true, 401, `"code":"unauthorized"`},
	} {
		send := h.Stranger
		if c.signed {
			send = h.Owner
		}
		w := send(c.r)
		body := w.Body.String()
		if w.Code != c.status || !strings.Contains(body, c.holds) {
			t.Errorf("%s: %d %s; want %d and %s", c.name, w.Code, body, c.status, c.holds)
		}
		if strings.Contains(body, "secret") {
			t.Errorf("%s: an internal error left the house: %s", c.name, body)
		}
		if c.holds == "" {
			continue
		}
		wantType := "application/problem+json"
		if c.status == 200 {
			wantType = "application/json"
		}
		if got := w.Header().Get("Content-Type"); got != wantType || !json.Valid(w.Body.Bytes()) {
			t.Errorf("%s: %s %s is not %s", c.name, got, body, wantType)
		}
	}
	if !strings.Contains(h.Log.String(), "hunter2") {
		t.Error("the fault of ours was not logged")
	}
}

func TestWithoutTokensNoneIsAccepted(t *testing.T) {
	t.Parallel()
	h := house(t, nil)
	if w := h.Owner(with(call("test.echo", `{"word":"hi"}`), "Authorization", "Bearer good")); w.Code != http.StatusUnauthorized {
		t.Errorf("status %d", w.Code)
	}
}

// While the database does not answer nobody knows who asks: telling the owner to sign in would be untrue.
func TestOwnerIsNotAStrangerWhileTheDatabaseIsAway(t *testing.T) {
	t.Parallel()
	h := house(t, readOnly)
	late, cancel := context.WithDeadline(t.Context(), time.Now().Add(-time.Second))
	defer cancel()
	w := h.Owner(call("test.echo", `{"word":"hi"}`).WithContext(late))
	if w.Code != http.StatusServiceUnavailable || w.Header().Get("Content-Type") != "application/problem+json" {
		t.Errorf("owner: status %d, %s", w.Code, w.Body)
	}
	if w := h.Stranger(call("test.echo", `{"word":"hi"}`).WithContext(late)); w.Code != http.StatusUnauthorized {
		t.Errorf("stranger: status %d, %s", w.Code, w.Body)
	}
}
