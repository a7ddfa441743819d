package webhooks

import (
	"context"
	"encoding/json"

	"github.com/gatehouse-hq/gatehouse/internal/infra/events"
)

const (
	// TestType is the event of a test delivery.
	TestType = "webhook.test"
	// NoteChangedType is the one type whose events are scoped; the corpus declares it.
	NoteChangedType = "corpus.note.changed"
)

// Types are the events of this domain.
func Types() []events.Type {
	return []events.Type{{
		Name:        TestType,
		Title:       "Test delivery",
		Description: "Somebody pressed Send test. It goes to the endpoint it names and to no other, whatever that one subscribes to.",
		Subject:     "endpoint:// and the endpoint's id",
		Example:     json.RawMessage(`{"endpoint_id":"0197d0f0-5f2c-7c3e-9d50-1c9a7f0a4b11"}`),
		Exposure:    events.Webhook,
	}}
}

type testData struct {
	EndpointID string `json:"endpoint_id"`
}

func recordTest(ctx context.Context, rec events.Recorder, ownerID, endpointID string) (eventID string, err error) {
	return rec.Record(ctx, ownerID, TestType, "endpoint://"+endpointID, testData{EndpointID: endpointID})
}
