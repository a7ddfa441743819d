package op_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/gatehouse-hq/gatehouse/internal/infra/op"
)

type colour string

func (colour) Words() []string { return []string{"red", "green"} }

type asked struct {
	Name    string            `json:"name"`
	Public  bool              `json:"public,omitempty"`
	At      *time.Time        `json:"at,omitempty"`
	Colour  colour            `json:"colour,omitempty"`
	Colours []colour          `json:"colours,omitempty"`
	Parts   []part            `json:"parts,omitempty"`
	Args    map[string]string `json:"args,omitempty"`
	Raw     json.RawMessage   `json:"raw,omitempty"`
	Number  int64             `json:"number,omitempty"`
}

type part struct {
	Path string `json:"path"`
	Keep bool   `json:"keep"`
}

// Go's decoder lets much pass that its sender did not mean; each is refused here, by its field.
func TestInputIsTakenAsItWasMeantOrNotAtAll(t *testing.T) {
	t.Parallel()
	ran := 0
	o := op.New("thing.ask", "Ask", "Asks.", op.Read, func(context.Context, asked) (struct{}, error) {
		ran++
		return struct{}{}, nil
	})
	for _, c := range []struct{ in, field, says string }{
		{`{}`, "name", "is missing"},
		{``, "name", "is missing"},
		{`{"name":null}`, "name", "is missing"},
		{`{"Name":"x"}`, "Name", "is not a field"},
		{`{"name":"x","name":"y"}`, "name", "twice"},
		{`{"name":"x","n\u0061me":"y"}`, "name", "twice"},
		{`{"name":5}`, "name", "must be text, not a whole number"},
		{`{"name":"a\u0000b"}`, "name", "cannot be stored"},
		{"{\"name\":\"a\xff\"}", "name", "UTF-8"},
		{`{"name":"a\ud800"}`, "name", "half of a character"},
		{`{"name":"x","public":"yes"}`, "public", "true or false"},
		{`{"name":"x","at":"2026-02-30T00:00:00Z"}`, "at", "not a moment"},
		{`{"name":"x","at":7}`, "at", "must be text"},
		{`{"name":"x","colour":"blue"}`, "colour", `"blue" is none of red, green`},
		{`{"name":"x","colours":["red","blue"]}`, "colours[1]", "none of red, green"},
		{`{"name":"x","colours":"red"}`, "colours", "must be a list"},
		{`{"name":"x","colours":[null]}`, "colours[0]", "must be text"},
		{`{"name":"x","parts":[{"path":"a","keep":true},{"path":"b"}]}`, "parts[1].keep", "is missing"},
		{`{"name":"x","parts":[{"path":"a","keep":true,"more":1}]}`, "parts[0].more", "is not a field"},
		{`{"name":"x","args":{"a":1}}`, "args", "must be text"},
		{`{"name":"x","args":{"a":"1","a":"2"}}`, "args", "twice"},
		{`{"name":"x","args":{"a\u0000":"1"}}`, "args", "cannot be stored"},
		{`{"name":"x","number":9223372036854775808}`, "number", "whole number"},
		{`{"name":"x","number":1.5}`, "number", "whole number"},
		{`{"name":"x","raw":` + strings.Repeat("[", 100) + strings.Repeat("]", 100) + `}`, "raw", "nested"},
		{`{"name":"x","raw":` + strings.Repeat("[", 300_000), "raw", "nested"},
		{`{"name":"x","raw":{"a":1,"a":2}}`, "raw", "twice"},
		{`{"name":"x"}{}`, "", "more than one"},
		{`{"name":"x"`, "", "not one whole JSON object"},
		{`{"name":"x",}`, "", "not one whole JSON object"},
		{`[]`, "", "must be an object"},
		{`null`, "", "must be an object"},
	} {
		_, err := o.Run(t.Context(), json.RawMessage(c.in))
		var at interface{ Field() string }
		if !errors.As(err, &at) || op.CodeOf(err) != op.Invalid || !strings.HasPrefix(at.Field(), c.field) || (c.field == "") != (at.Field() == "") || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%.80s: %.200v; want %q at %q", c.in, err, c.says, c.field)
		}
		if _, _, planned := o.Plan(t.Context(), json.RawMessage(c.in)); planned == nil {
			t.Errorf("%.80s: a plan is made for it", c.in)
		}
	}
	if ran != 0 {
		t.Errorf("%d of them were run", ran)
	}
	for _, in := range []string{
		`{"name":""}`,
		`{"name":"\ufffd � \ud83d\ude00","public":null,"at":null,"colour":"","colours":[],"number":9223372036854775807}`,
		`{"name":"x","raw":{"big":12345678901234567890.10},"args":{"any name":"x"},"parts":[{"path":"a","keep":false}]}`,
	} {
		if _, err := o.Run(t.Context(), json.RawMessage(in)); err != nil {
			t.Errorf("%s: %v", in, err)
		}
	}
	if words, err := json.Marshal(o.In.Properties["colours"]); err != nil || !strings.Contains(string(words), `"enum":["red","green"]`) {
		t.Errorf("the schema does not say the words: %s %v", words, err)
	}
	if o.In.Properties["at"].Format != "date-time" {
		t.Error("the schema does not say that it is a moment")
	}
}
