package subscriber_test

import (
	"encoding/json"
	"maps"
	"os"
	"slices"
	"testing"

	"github.com/gatehouse-hq/gatehouse/internal/domain/webhooks"
)

// What a receiver of a test delivery gets has the fields of the golden form, no more and no fewer.
func TestGoldenTestEvent(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	c := h.endpoint("a", "**")
	if _, err := h.domain.SendTest(t.Context(), webhooks.TestIn{ID: c.Endpoint.ID}); err != nil {
		t.Fatal(err)
	}
	received := h.sink.Received("a")
	if len(received) != 1 {
		t.Fatalf("%d requests", len(received))
	}
	var sent struct {
		Type    string         `json:"type"`
		Subject string         `json:"subject"`
		Data    map[string]any `json:"data"`
	}
	if err := json.Unmarshal(received[0].Body, &sent); err != nil {
		t.Fatal(err)
	}
	if sent.Type != webhooks.TestType || sent.Subject != "endpoint://"+c.Endpoint.ID || sent.Data["endpoint_id"] != c.Endpoint.ID {
		t.Errorf("sent %+v", sent)
	}
	raw, err := os.ReadFile("../testdata/events/" + webhooks.TestType + ".json")
	if err != nil {
		t.Fatal(err)
	}
	var golden map[string]any
	if err := json.Unmarshal(raw, &golden); err != nil {
		t.Fatal(err)
	}
	if got, want := slices.Sorted(maps.Keys(sent.Data)), slices.Sorted(maps.Keys(golden)); !slices.Equal(got, want) {
		t.Errorf("data has the fields %v, the golden form %v", got, want)
	}
}
