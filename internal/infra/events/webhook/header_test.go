package webhook

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
)

func TestOwnersHeaders(t *testing.T) {
	t.Parallel()
	many := make([]Header, MaxHeaders+1)
	for i := range many {
		many[i] = Header{fmt.Sprint("X-", i), "v"}
	}
	tests := map[string]struct {
		headers []Header
		reason  string // empty: accepted
		index   int
	}{
		"token":          {[]Header{{"Authorization", "Bearer abc"}, {"X-Tenant", "ü"}}, "", 0},
		"none":           {nil, "", 0},
		"no name":        {[]Header{{"", "v"}}, "empty", 0},
		"space in name":  {[]Header{{"X-A", "v"}, {"X A", "v"}}, "letters", 1},
		"colon":          {[]Header{{"X:A", "v"}}, "letters", 0},
		"break in name":  {[]Header{{"X\r\nY", "v"}}, "letters", 0},
		"unicode name":   {[]Header{{"X-Ü", "v"}}, "letters", 0},
		"long name":      {[]Header{{strings.Repeat("x", 101), "v"}}, "longer", 0},
		"break in value": {[]Header{{"X-A", "SECRET\r\nX-B: c"}}, "line break", 0},
		"bare newline":   {[]Header{{"X-A", "SECRET\nb"}}, "line break", 0},
		"NUL":            {[]Header{{"X-A", "SECRET\x00"}}, "control", 0},
		"long value":     {[]Header{{"X-A", strings.Repeat("v", 4097)}}, "longer", 0},
		"edge space":     {[]Header{{"X-A", " SECRET"}}, "space", 0},
		"host":           {[]Header{{"hOsT", "v"}}, "connection", 0},
		"connection":     {[]Header{{"Connection", "close"}}, "connection", 0},
		"te":             {[]Header{{"TE", "trailers"}}, "connection", 0},
		"chunked":        {[]Header{{"Transfer-Encoding", "chunked"}}, "connection", 0},
		"repeatable":     {[]Header{{"Idempotency-Key", "v"}}, "connection", 0},
		"content":        {[]Header{{"Content-Length", "1"}}, "delivery", 0},
		"content-x":      {[]Header{{"content-md5", "1"}}, "delivery", 0},
		"webhook":        {[]Header{{"Webhook-Signature", "v1,x"}}, "delivery", 0},
		"twice by case":  {[]Header{{"X-A", "1"}, {"x-a", "2"}}, "twice", 1},
		"too many":       {many, "more than", MaxHeaders},
	}
	for name, test := range tests {
		err := CheckHeaders(test.headers)
		if test.reason == "" {
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		var problem *HeaderError
		if !errors.As(err, &problem) || !strings.Contains(problem.Reason, test.reason) || problem.Index != test.index {
			t.Errorf("%s: %v", name, err)
		} else if strings.Contains(err.Error(), "SECRET") {
			t.Errorf("%s: the value is in the error: %v", name, err)
		}
	}
}

// FuzzHeaders: what is accepted can be written to the wire, and is one line there.
func FuzzHeaders(f *testing.F) {
	f.Add("X-A", "v")
	f.Add("X\r\nY", "a\nb")
	f.Fuzz(func(t *testing.T, name, value string) {
		if CheckHeaders([]Header{{name, value}}) != nil {
			return
		}
		var out strings.Builder
		head := http.Header{}
		head.Set(name, value)
		if err := head.Write(&out); err != nil {
			t.Fatal(err)
		}
		if strings.Count(out.String(), "\n") != 1 || !strings.Contains(out.String(), value) {
			t.Errorf("written as %q", out.String())
		}
	})
}

func TestKeptHeadersAreCleanBoundedAndWithoutSecrets(t *testing.T) {
	t.Parallel()
	kept, truncated := keepHeaders(http.Header{
		"Content-Type": {"text/plain"}, "Set-Cookie": {"sid=SECRET", "b=SECRET"}, "X-Auth-Token": {"SECRET"}, "Www-Authenticate": {"SECRET"},
		"Location": {"https://example.org/a/SECRET?SECRET"}, "X-Odd": {"a\x00b\xffc"},
	}, "https://example.org/a/…")
	if truncated || strings.Contains(fmt.Sprint(kept), "SECRET") {
		t.Errorf("%v %v", truncated, kept)
	}
	if kept.Get("Content-Type") != "text/plain" || kept.Get("X-Odd") != "ab\uFFFDc" || kept.Get("Set-Cookie") != hidden || kept.Get("Location") != "https://example.org/a/…" {
		t.Errorf("%q", kept)
	}
	huge := http.Header{"A": {"kept"}}
	for n := range 100 {
		huge[fmt.Sprint("B", n)] = []string{strings.Repeat("v", 1000)}
	}
	kept, truncated = keepHeaders(huge, "")
	if size := len(fmt.Sprint(kept)); !truncated || size > MaxKeptHeaderBytes+2000 || len(kept) < 30 || kept.Get("A") != "kept" {
		t.Errorf("truncated %v, %d headers, %d bytes", truncated, len(kept), size)
	}
}
