package sink

import (
	"encoding/json"
	"fmt"
	"time"
)

// Recording says how much of each request is kept. The lean forms exist so that a benchmark's receiver costs little.
type Recording string

const (
	// RecordFull keeps headers and body of every request.
	RecordFull Recording = "full"
	// RecordIDs keeps only each webhook-id and how often it came.
	RecordIDs Recording = "ids"
	// RecordCount only counts.
	RecordCount Recording = "count"
)

// Plan is what a hook answers: its steps in order, the last one for ever if its count is 0, and 200 once all are spent.
type Plan struct {
	Steps  []Step    `json:"steps"`
	Record Recording `json:"record,omitempty"`
}

// Step is one way to answer, used Count times (0: from here on for ever).
type Step struct {
	Status int `json:"status,omitempty"`
	Count  int `json:"count,omitempty"`
	// Delay passes before the status line is sent.
	Delay Duration `json:"delay,omitempty"`
	// RetryAfter is sent as it stands, so that nonsense can be sent too.
	RetryAfter string `json:"retry_after,omitempty"`
	// RetryAfterIn is sent as an HTTP date that far from the moment of the answer.
	RetryAfterIn Duration          `json:"retry_after_in,omitempty"`
	Location     string            `json:"location,omitempty"`
	Headers      map[string]string `json:"headers,omitempty"`
	// HeaderBytes adds that much filler in headers.
	HeaderBytes int    `json:"header_bytes,omitempty"`
	Body        string `json:"body,omitempty"`
	// BodyBase64 carries bytes that JSON cannot, such as broken UTF-8.
	BodyBase64 []byte `json:"body_base64,omitempty"`
	// BodySize answers that many bytes of filler.
	BodySize int64 `json:"body_size,omitempty"`
	// GzipSize answers gzip that opens to that many zero bytes.
	GzipSize int64 `json:"gzip_size,omitempty"`
	// Drip sends the body one byte at each interval, and goes on with filler until the caller leaves.
	Drip Duration `json:"drip,omitempty"`
	// Endless streams zero bytes until the caller leaves.
	Endless bool `json:"endless,omitempty"`
	// Drop closes the connection without an answer, once the request has been read.
	Drop bool `json:"drop,omitempty"`
}

// ParsePlan reads a plan from JSON and refuses fields it does not know, so that a typing slip is not a silent 200.
func ParsePlan(raw []byte) (Plan, error) {
	var plan Plan
	if err := strictJSON(raw, &plan); err != nil {
		return Plan{}, fmt.Errorf("reading plan: %w", err)
	}
	for i, step := range plan.Steps {
		if step.Status != 0 && (step.Status < 200 || step.Status > 599) {
			return Plan{}, fmt.Errorf("step %d: status %d is not between 200 and 599", i+1, step.Status)
		}
		if step.Count == 0 && i != len(plan.Steps)-1 {
			return Plan{}, fmt.Errorf("step %d: only the last step may have no count", i+1)
		}
	}
	switch plan.Record {
	case "", RecordFull, RecordIDs, RecordCount:
	default:
		return Plan{}, fmt.Errorf("record is %q, not full, ids or count", plan.Record)
	}
	return plan, nil
}

// at returns the step that answers the n-th request, counted from 0.
func (p Plan) at(n int) Step {
	for i, step := range p.Steps {
		if n < step.Count || (step.Count == 0 && i == len(p.Steps)-1) {
			return step
		}
		n -= step.Count
	}
	return Step{}
}

// Duration is a time.Duration written in JSON as Go writes it ("250ms") or as a number of milliseconds.
type Duration time.Duration

// UnmarshalJSON reads either spelling.
func (d *Duration) UnmarshalJSON(raw []byte) error {
	var ms float64
	if err := json.Unmarshal(raw, &ms); err == nil {
		*d = Duration(ms * float64(time.Millisecond))
		return nil
	}
	var text string
	if err := json.Unmarshal(raw, &text); err != nil {
		return fmt.Errorf("duration: %w", err)
	}
	parsed, err := time.ParseDuration(text)
	if err != nil {
		return fmt.Errorf("duration: %w", err)
	}
	*d = Duration(parsed)
	return nil
}

// MarshalJSON writes the Go spelling.
func (d Duration) MarshalJSON() ([]byte, error) {
	return json.Marshal(time.Duration(d).String())
}
