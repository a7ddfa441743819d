package subscriber

import (
	"errors"

	"github.com/gatehouse-hq/gatehouse/internal/domain/webhooks"
	"github.com/gatehouse-hq/gatehouse/internal/infra/events"
	"github.com/gatehouse-hq/gatehouse/internal/infra/events/webhook"
)

// Wire lends the domain what package events/webhook knows of the wire format.
type Wire struct{}

var _ webhooks.Wire = Wire{}

// NewKey makes a random key.
func (Wire) NewKey(s webhooks.Scheme) (id, private, public string) {
	if s == webhooks.Ed25519 {
		k := webhook.GenerateKey()
		return k.KeyID(), k.Text(), k.Public().Text()
	}
	k := webhook.GenerateSecret()
	return k.KeyID(), k.Text(), ""
}

// CheckHeaders finds the first header that cannot be sent.
func (Wire) CheckHeaders(hs []webhooks.Header) (index int, part, reason string) {
	list := make([]webhook.Header, len(hs))
	for i, h := range hs {
		list[i] = webhook.Header{Name: h.Name, Value: h.Value}
	}
	err := webhook.CheckHeaders(list)
	var wrong *webhook.HeaderError
	if !errors.As(err, &wrong) {
		return -1, "", ""
	}
	// With an innocent value in its place the fault stays if it is the name's.
	list[wrong.Index].Value = "x"
	if errors.As(webhook.CheckHeaders(list[:wrong.Index+1]), &wrong) {
		return wrong.Index, "name", wrong.Reason
	}
	return wrong.Index, "value", wrong.Reason
}

// Body is the exact body of an event's requests.
func (Wire) Body(e events.Event) ([]byte, error) {
	return webhook.Body{Type: e.Type, Timestamp: e.OccurredAt, ID: e.ID, Seq: e.Seq, Subject: e.Subject, Data: e.Data}.Encode()
}
