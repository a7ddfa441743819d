package webhooks

import (
	"context"
	"encoding/json"
	"time"

	"github.com/gatehouse-hq/gatehouse/internal/infra/events"
)

// EventType is a type of event that endpoints can select.
type EventType struct {
	Name        string          `json:"name"`
	Title       string          `json:"title"`
	Description string          `json:"description"`
	Subject     string          `json:"subject"`
	Example     json.RawMessage `json:"example" jsonschema:"example of its data"`
	Body        string          `json:"body" jsonschema:"example of a whole body"`
}

// EventTypesOut is every type that can be sent, by name.
type EventTypesOut struct {
	Types []EventType `json:"types"`
}

// EventTypes lists the types that endpoints can select, each with an example.
func (d *Domain) EventTypes(_ context.Context, _ None) (EventTypesOut, error) {
	out := EventTypesOut{Types: []EventType{}}
	for _, t := range d.types {
		body, err := d.Wire.Body(events.Event{ID: "0197d0f0-5f2c-7c3e-9d50-1c9a7f0a4b11", Seq: 1, Type: t.Name, Subject: t.Subject,
			Data: t.Example, OccurredAt: time.Date(2026, 1, 2, 15, 4, 5, 0, time.UTC)})
		if err != nil {
			return out, err
		}
		out.Types = append(out.Types, EventType{Name: t.Name, Title: t.Title, Description: t.Description, Subject: t.Subject, Example: t.Example, Body: string(body)})
	}
	return out, nil
}
