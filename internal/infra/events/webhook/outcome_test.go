package webhook

import (
	"net/http"
	"testing"
	"time"

	"github.com/gatehouse-hq/gatehouse/internal/infra/egress"
)

func TestClassify(t *testing.T) {
	t.Parallel()
	started := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	date := func(d time.Duration) string { return started.Add(time.Second + d).Format(http.TimeFormat) }
	tests := []struct {
		name       string
		status     int
		kind       egress.Kind
		retryAfter string
		want       Class
		wait       time.Duration
	}{
		{name: "200", status: 200, want: Delivered},
		{name: "204", status: 204, want: Delivered},
		{name: "299 with Retry-After", status: 299, retryAfter: "9", want: Delivered},
		{name: "301", status: 301, want: Redirected},
		{name: "302", status: 302, want: Redirected},
		{name: "304", status: 304, want: Redirected},
		{name: "308", status: 308, want: Redirected},
		{name: "400", status: 400, want: Rejected},
		{name: "401", status: 401, want: Rejected},
		{name: "404", status: 404, want: Rejected},
		{name: "413 with Retry-After", status: 413, retryAfter: "9", want: Rejected},
		{name: "408", status: 408, want: Retryable},
		{name: "410", status: 410, want: Gone},
		{name: "429", status: 429, want: Retryable},
		{name: "429 seconds", status: 429, retryAfter: "120", want: Snoozed, wait: 2 * time.Minute},
		{name: "429 padded", status: 429, retryAfter: " 120 ", want: Snoozed, wait: 2 * time.Minute},
		{name: "503 seconds", status: 503, retryAfter: "1", want: Snoozed, wait: time.Second},
		{name: "429 date", status: 429, retryAfter: date(90 * time.Second), want: Snoozed, wait: 90 * time.Second},
		{name: "429 RFC 850 date", status: 429, retryAfter: started.Add(61 * time.Second).Format(time.RFC850), want: Snoozed, wait: time.Minute},
		{name: "429 far date", status: 429, retryAfter: date(900 * time.Hour), want: Snoozed, wait: MaxRetryAfter},
		{name: "429 past date", status: 429, retryAfter: date(-time.Minute), want: Retryable},
		{name: "429 huge", status: 429, retryAfter: "999999999", want: Snoozed, wait: MaxRetryAfter},
		{name: "429 overflow", status: 429, retryAfter: "99999999999999999999999999", want: Snoozed, wait: MaxRetryAfter},
		{name: "429 negative", status: 429, retryAfter: "-1", want: Retryable},
		{name: "429 zero", status: 429, retryAfter: "0", want: Retryable},
		{name: "429 fraction", status: 429, retryAfter: "1.5", want: Retryable},
		{name: "429 words", status: 429, retryAfter: "soon", want: Retryable},
		{name: "500 with Retry-After", status: 500, retryAfter: "120", want: Retryable},
		{name: "502", status: 502, want: Retryable},
		{name: "599", status: 599, want: Retryable},
		{name: "101", status: 101, want: Retryable},
		{name: "timeout", kind: egress.KindTimeout, want: Retryable},
		{name: "tls", kind: egress.KindTLS, want: Retryable},
		{name: "dns", kind: egress.KindDNS, want: Retryable},
		{name: "refused", kind: egress.KindRefused, want: Retryable},
		{name: "reset", kind: egress.KindReset, want: Retryable},
		{name: "unreachable", kind: egress.KindUnreachable, want: Retryable},
		{name: "no HTTP", kind: egress.KindOther, want: Retryable},
		{name: "guard", kind: egress.KindAddress, want: Refused},
		{name: "shutdown", kind: egress.KindCanceled, want: Interrupted},
	}
	for _, test := range tests {
		got := Classify(Result{Started: started, Total: time.Second, Status: test.status, Kind: test.kind, retryAfter: test.retryAfter})
		if got != (Outcome{test.want, test.wait}) {
			t.Errorf("%s: %+v", test.name, got)
		}
		counts := test.want != Delivered && test.want != Refused && test.want != Interrupted
		if got.Failure() != counts {
			t.Errorf("%s: counts as failure: %v", test.name, got.Failure())
		}
	}
}

func FuzzRetryAfter(f *testing.F) {
	for _, seed := range []string{"120", "-1", "99999999999999999999", "Sun, 06 Nov 1994 08:49:37 GMT", "", "٣"} {
		f.Add(seed)
	}
	now := time.Now()
	f.Fuzz(func(t *testing.T, text string) {
		wait, ok := retryAfter(text, now)
		if wait < 0 || wait > MaxRetryAfter || (ok && wait == 0) {
			t.Errorf("%q: %v", text, wait)
		}
	})
}
