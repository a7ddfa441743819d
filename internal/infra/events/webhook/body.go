package webhook

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// MaxBodyBytes bounds a body. Standard Webhooks asks for "below 20 kB".
const MaxBodyBytes = 20_000

// ErrBodyTooLarge says that an event's data does not fit a body.
var ErrBodyTooLarge = errors.New("webhook body too large")

// Body is what a receiver gets. Its fields are written in this order.
type Body struct {
	Type string
	// Timestamp is the time of the event, not of the attempt.
	Timestamp time.Time
	ID        string
	// Seq rises per subject: a receiver can tell an older fact that arrives late.
	Seq     int64
	Subject string
	// Data is the event's payload, any JSON value; empty is {}.
	Data json.RawMessage
}

// Encode writes the body. The same Body gives the same bytes; they are what is signed and what is sent, so keep them. It
// fails if Data is no JSON, or with ErrBodyTooLarge.
func (b Body) Encode() ([]byte, error) {
	data := b.Data
	if len(data) == 0 {
		data = json.RawMessage("{}")
	}
	var out bytes.Buffer
	out.Grow(256 + len(data))
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false) // "<" is a letter like any other to a receiver
	err := encoder.Encode(struct {
		Type      string          `json:"type"`
		Timestamp string          `json:"timestamp"`
		ID        string          `json:"id"`
		Seq       int64           `json:"seq"`
		Subject   string          `json:"subject"`
		Data      json.RawMessage `json:"data"`
	}{b.Type, b.Timestamp.UTC().Format(time.RFC3339Nano), b.ID, b.Seq, b.Subject, data})
	if err != nil {
		return nil, fmt.Errorf("encoding webhook body of %s: %w", b.ID, err)
	}
	raw := bytes.TrimSuffix(out.Bytes(), []byte("\n"))
	if len(raw) > MaxBodyBytes {
		return nil, fmt.Errorf("event %s: %d bytes: %w", b.ID, len(raw), ErrBodyTooLarge)
	}
	return raw, nil
}
