package edge_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/gatehouse-hq/gatehouse/internal/infra/op"
	"github.com/gatehouse-hq/gatehouse/internal/infra/pg"
	"github.com/gatehouse-hq/gatehouse/internal/web/edge"
)

// said is an error that speaks of itself as the operations' errors do.
type said struct{ code, message, field string }

func (e said) Error() string             { return "internal detail of " + e.code }
func (e said) Code() string              { return e.code }
func (e said) Message() string           { return e.message }
func (e said) Field() string             { return e.field }
func (e said) RetryAfter() time.Duration { return 90 * time.Second }

func TestErrorsBecomeStatuses(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		err    error
		status int
		words  string
		logged bool
	}{
		{fmt.Errorf("commit: %w: %w", pg.ErrUnsure, context.DeadlineExceeded), 503, "Perhaps saved", true},
		{fmt.Errorf("read session: %w", io.ErrUnexpectedEOF), 503, "Not just now", true},
		{said{"invalid", "The name is taken.", "name"}, 422, "The name is taken.", false},
		{said{"not_found", "note 7 is private", ""}, 404, "There is no page here", false},
		{said{"conflict", "The task is running now.", ""}, 409, "The task is running now.", false},
		{said{"forbidden", "", ""}, 403, "This is not open to you", false},
		{said{"too_many", "", ""}, 429, "Too many tries", false},
		{said{"unavailable", "The mail server is away.", ""}, 503, "The mail server is away.", true},
		{fmt.Errorf("opening: %w", said{"conflict", "Deep inside.", ""}), 409, "Deep inside.", false},
		{said{"internal", "never shown", ""}, 500, "Something went wrong here", true},
		{fmt.Errorf("finding: %w", edge.ErrNotFound), 404, "There is no page here", false},
		{fmt.Errorf("storing: %w", &pgconn.PgError{Code: "53100", Message: "No space left on device"}), 503, "The disk is full", true},
		{&pgconn.PgError{Code: "57P01"}, 503, "Not just now", true},
		{&pgconn.PgError{Code: "57014"}, 503, "Not just now", true},
		{&pgconn.PgError{Code: "42P01"}, 500, "Something went wrong here", true},
		{context.DeadlineExceeded, 503, "Not just now", true},
		{errors.New("secret detail"), 500, "Something went wrong here", true},
	} {
		t.Run(fmt.Sprint(c.err), func(t *testing.T) {
			t.Parallel()
			h, book := house(t, func(http.ResponseWriter, *http.Request) error { return c.err })
			w := ask(h, getPage("/x"))
			page := w.Body.String()
			if w.Code != c.status {
				t.Errorf("status %d, want %d", w.Code, c.status)
			}
			wants(t, page, c.words)
			for _, leak := range []string{"secret detail", "internal detail", "No space left", "note 7 is private", "never shown"} {
				if strings.Contains(page, leak) {
					t.Errorf("the page says %q", leak)
				}
			}
			id := w.Header().Get("X-Request-Id")
			if got := strings.Contains(book.String(), id); got != c.logged {
				t.Errorf("logged: %v, want %v", got, c.logged)
			}
			if got := strings.Contains(page, id); got != c.logged {
				t.Errorf("request id on the page: %v, want %v", got, c.logged)
			}
			if c.status == 429 && w.Header().Get("Retry-After") != "90" {
				t.Errorf("Retry-After %q, want 90", w.Header().Get("Retry-After"))
			}
		})
	}
}

func TestPrivateAndMissingLookTheSame(t *testing.T) {
	t.Parallel()
	private, _ := house(t, func(http.ResponseWriter, *http.Request) error { return said{"not_found", "it is private", ""} })
	missing, _ := house(t, func(http.ResponseWriter, *http.Request) error { return edge.ErrNotFound })
	a, b := ask(private, getPage("/x")), ask(missing, getPage("/x"))
	if a.Body.String() != b.Body.String() || a.Code != b.Code {
		t.Error("a private page can be told from a missing one")
	}
}

func TestSignedOutIsLedToTheSignInAndBack(t *testing.T) {
	t.Parallel()
	h, _ := house(t, func(http.ResponseWriter, *http.Request) error { return said{"unauthorized", "", ""} })
	w := ask(h, getPage("/admin/tasks?state=failed"))
	if got := w.Header().Get("Location"); w.Code != 303 || got != "/login?next=%2Fadmin%2Ftasks%3Fstate%3Dfailed" {
		t.Errorf("%d to %q", w.Code, got)
	}
	part := getPage("/admin/tasks")
	part.Header.Set("HX-Request", "true")
	if w := ask(h, part); w.Code != 401 {
		t.Errorf("a part of a page: %d, want 401", w.Code)
	}
	if w := ask(h, post("/admin/notes", url.Values{"body": {"a long text that must not be lost"}})); w.Code != 401 {
		t.Errorf("a form: %d, want 401", w.Code)
	} else {
		wants(t, w.Body.String(), "a long text that must not be lost", `href="/login"`)
	}
}

func TestTypedTextIsKeptWhenItCannotBeStored(t *testing.T) {
	t.Parallel()
	full := &pgconn.PgError{Code: "53100"}
	form := url.Values{"body": {"<b>Compost</b>, a first\nlong draft of it"}, "expected": {"3"}, "password": {"hunter2-hunter2"}, "api_key": {"k-123"}}
	for name, h := range map[string]edge.Handler{
		"before the form was read": func(http.ResponseWriter, *http.Request) error { return full },
		"after it was read": func(_ http.ResponseWriter, r *http.Request) error {
			if _, err := edge.ParseForm(r); err != nil {
				return err
			}
			return full
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			site, _ := house(t, h)
			w := ask(site, post("/admin/notes/7?tab=text", form))
			page := w.Body.String()
			wants(t, page, "The disk is full", "&lt;b&gt;Compost&lt;/b&gt;, a first\nlong draft of it", `action="/admin/notes/7?tab=text"`, `name="expected"`, "Try again")
			if strings.Contains(page, "hunter2") || strings.Contains(page, "k-123") {
				t.Error("a secret is on the page")
			}
		})
	}
}

func TestAClientThatLeftIsNoFault(t *testing.T) {
	t.Parallel()
	h, book := house(t, func(_ http.ResponseWriter, r *http.Request) error {
		return fmt.Errorf("reading: %w", r.Context().Err())
	})
	ctx, leave := context.WithCancel(context.Background())
	leave()
	ask(h, getPage("/x").WithContext(ctx))
	if book.String() != "" {
		t.Errorf("logged %s", book.String())
	}
}

// The operations' errors are known by their methods alone: this holds the two together.
func TestErrorsOfOperationsAreUnderstood(t *testing.T) {
	t.Parallel()
	for code, status := range map[op.Code]int{
		op.Invalid: 422, op.NotFound: 404, op.Conflict: 409, op.Forbidden: 403, op.TooLarge: 413, op.TooMany: 429, op.Unavailable: 503,
	} {
		h, _ := house(t, func(http.ResponseWriter, *http.Request) error {
			return fmt.Errorf("running the operation: %w", op.Errorf(code, "Words of %s.", code))
		})
		w := ask(h, getPage("/x"))
		if w.Code != status {
			t.Errorf("%s: %d, want %d", code, w.Code, status)
		}
		if code != op.NotFound {
			wants(t, w.Body.String(), fmt.Sprintf("Words of %s.", code))
		}
	}
}
