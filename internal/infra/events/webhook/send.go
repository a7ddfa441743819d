package webhook

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
	"time"

	"github.com/gatehouse-hq/gatehouse/internal/infra/egress"
)

const (
	// Deadline covers a whole exchange, from before the dial to the last byte that is read.
	Deadline = 10 * time.Second
	// BodyTime is how long an answer's body is read once its status is there: a dripper must not hold its endpoint's lease.
	BodyTime = time.Second
)

// Doer sends one request, without following or repeating. An *egress.Client is one.
type Doer interface {
	Do(*http.Request) (*http.Response, error)
}

// Request is one attempt.
type Request struct {
	URL string
	// ID is the event's: the same at every attempt.
	ID string
	// At is the time of this attempt; receivers refuse one more than five minutes off.
	At time.Time
	// Body is sent and signed as it is.
	Body []byte
	// Keys sign, each for itself: two during the overlap of a rotation.
	Keys []Signer
	// Headers are the owner's, checked by CheckHeaders.
	Headers   []Header
	UserAgent string
}

// Result is what one attempt came to. Everything in it is safe to store and to show: text is clean UTF-8, secrets in
// headers are hidden, addresses are redacted.
type Result struct {
	Started time.Time
	Times   egress.Times
	Total   time.Duration
	Remote  netip.Addr // invalid if there was no connection

	Status int   // 0 if there was no answer
	Err    error // why there was none; nil otherwise. Its text is safe.
	Kind   egress.Kind

	Headers          http.Header
	HeadersTruncated bool
	Excerpt          string
	ExcerptTruncated bool
	Location         string // where a redirect pointed, redacted

	KeyIDs     []string
	retryAfter string
}

// Finished is when the attempt was over.
func (r Result) Finished() time.Time { return r.Started.Add(r.Total) }

// errRequest hides the cause of a request that cannot be built: net/http's error would print the address.
var errRequest = errors.New("the address cannot be used")

// Send makes one attempt: one POST, never more. It returns within Deadline, or BodyTime after the status came, whichever
// is first, or when ctx ends. A status decides the attempt whatever the body does afterwards.
func Send(ctx context.Context, client Doer, attempt Request) Result {
	result := Result{Started: time.Now()}
	ctx, cancel := context.WithTimeout(ctx, Deadline)
	defer cancel()
	traced, timing := egress.Trace(ctx)
	request, err := attempt.build(traced, &result)
	if err != nil {
		result.Err, result.Kind, result.Total = err, egress.KindOther, time.Since(result.Started)
		if errors.Is(err, errRequest) {
			result.Kind = egress.KindAddress
		}
		return result
	}
	response, err := client.Do(request)
	if err != nil {
		result.Err, result.Kind = err, egress.KindOf(err)
	} else {
		// Cancelling is what ends a read that waits; the timer is stopped on the usual path, long before it fires.
		timer := time.AfterFunc(BodyTime, cancel)
		result.take(response)
		timer.Stop()
	}
	result.Total = time.Since(result.Started)
	result.Times = timing.Times()
	result.Remote = result.Times.Remote
	return result
}

func (a Request) build(ctx context.Context, result *Result) (*http.Request, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, a.URL, bytes.NewReader(a.Body))
	if err != nil {
		return nil, errRequest
	}
	signatures := make([]string, len(a.Keys))
	result.KeyIDs = make([]string, len(a.Keys))
	for i, key := range a.Keys {
		if signatures[i], err = key.Signature(a.ID, a.At, a.Body); err != nil {
			return nil, fmt.Errorf("signing with key %s: %w", key.KeyID(), err)
		}
		result.KeyIDs[i] = key.KeyID()
	}
	head := request.Header
	for _, header := range a.Headers {
		head.Set(header.Name, header.Value)
	}
	head["Content-Type"] = []string{"application/json"}
	head["User-Agent"] = []string{a.UserAgent}
	head["Webhook-Id"] = []string{a.ID}
	head["Webhook-Timestamp"] = []string{strconv.FormatInt(a.At.Unix(), 10)}
	head["Webhook-Signature"] = []string{strings.Join(signatures, " ")}
	return request, nil
}

// take reads an answer into the result and closes it.
func (r *Result) take(response *http.Response) {
	defer func() { _ = response.Body.Close() }()
	r.Status = response.StatusCode
	r.retryAfter = response.Header.Get("Retry-After")
	if location := response.Header.Get("Location"); location != "" {
		r.Location = pointedAt(response, location)
	}
	r.Headers, r.HeadersTruncated = keepHeaders(response.Header, r.Location)
	if response.ContentLength != 0 {
		r.Excerpt, r.ExcerptTruncated = readExcerpt(response.Body, response.ContentLength)
	}
}

func pointedAt(response *http.Response, location string) string {
	if response.Request == nil || response.Request.URL == nil {
		return egress.Redact(location)
	}
	target, err := response.Request.URL.Parse(location)
	if err != nil {
		return egress.Redact(location)
	}
	return egress.Redact(target.String())
}
