package webhook

import (
	"net/http"
	"strings"
	"time"

	"github.com/gatehouse-hq/gatehouse/internal/infra/egress"
)

// MaxRetryAfter caps what a receiver can ask for. Anything longer would outlive the event or the owner's patience.
const MaxRetryAfter = 10 * time.Hour

// Class says what an attempt means for its delivery.
type Class string

// The classes.
const (
	// Delivered: a 2xx, whatever the body did afterwards.
	Delivered Class = "delivered"
	// Redirected: a 3xx, a failure that is never followed. The owner has to edit the address.
	Redirected Class = "redirected"
	// Snoozed: the receiver named a time. No attempt is spent; its endpoint gets nothing until then.
	Snoozed Class = "snoozed"
	// Retryable: worth another attempt on the usual backoff.
	Retryable Class = "retryable"
	// Gone: a 410. The endpoint is to be switched off.
	Gone Class = "gone"
	// Rejected: the receiver will never take this delivery.
	Rejected Class = "rejected"
	// Refused: our own guard did not allow the address; nothing was sent, and it is no failure of the receiver.
	Refused Class = "refused"
	// Interrupted: our own side gave up, as when the process stops. It says nothing about the receiver.
	Interrupted Class = "interrupted"
)

// Outcome is a class with, for Snoozed, how long to wait from the end of the attempt.
type Outcome struct {
	Class Class
	Wait  time.Duration
}

// Failure reports whether the outcome counts against the endpoint. A cooldown does, a refusal of ours does not.
func (o Outcome) Failure() bool {
	return o.Class != Delivered && o.Class != Refused && o.Class != Interrupted
}

// Classify says what a result means.
func Classify(result Result) Outcome {
	switch {
	case result.Status == 0:
		return classifyKind(result.Kind)
	case result.Status >= 200 && result.Status < 300:
		return Outcome{Class: Delivered}
	case result.Status >= 300 && result.Status < 400:
		return Outcome{Class: Redirected}
	}
	switch result.Status {
	case http.StatusTooManyRequests, http.StatusServiceUnavailable:
		if wait, ok := retryAfter(result.retryAfter, result.Finished()); ok {
			return Outcome{Class: Snoozed, Wait: wait}
		}
		return Outcome{Class: Retryable}
	case http.StatusRequestTimeout:
		return Outcome{Class: Retryable}
	case http.StatusGone:
		return Outcome{Class: Gone}
	}
	if result.Status >= 400 && result.Status < 500 {
		return Outcome{Class: Rejected}
	}
	return Outcome{Class: Retryable} // 5xx, and what is no final status at all
}

func classifyKind(kind egress.Kind) Outcome {
	switch kind {
	case egress.KindAddress:
		return Outcome{Class: Refused}
	case egress.KindCanceled:
		return Outcome{Class: Interrupted}
	case egress.KindDNS, egress.KindTimeout, egress.KindTLS, egress.KindRefused, egress.KindReset, egress.KindUnreachable, egress.KindOther:
	}
	return Outcome{Class: Retryable}
}

// retryAfter reads Retry-After (RFC 9110 §10.2.3): whole seconds, or an HTTP date. A time that is not ahead is nonsense:
// obeying it would ask again at once, which is the opposite of what a 429 means.
func retryAfter(text string, now time.Time) (time.Duration, bool) {
	text = strings.TrimSpace(text)
	if text == "" {
		return 0, false
	}
	if strings.Trim(text, "0123456789") == "" {
		seconds := int64(0)
		for _, digit := range text {
			if seconds = seconds*10 + int64(digit-'0'); seconds > int64(MaxRetryAfter/time.Second) {
				return MaxRetryAfter, true // more digits could only overflow
			}
		}
		return time.Duration(seconds) * time.Second, seconds > 0
	}
	at, err := http.ParseTime(text)
	if err != nil || !at.After(now) {
		return 0, false
	}
	return min(at.Sub(now), MaxRetryAfter), true
}
