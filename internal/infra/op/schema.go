package op

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
)

// moment is the format of a point in time: RFC 3339, such as 2026-01-31T09:00:00Z.
const moment = "date-time"

// Words is a type of text that allows some words only. They stand in the
// schema of an input, and others are refused.
type Words interface{ Words() []string }

// enumerate writes the words of t, and of what it holds, into its schema.
func enumerate(s *jsonschema.Schema, t reflect.Type) {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if w, ok := reflect.Zero(t).Interface().(Words); ok {
		for _, word := range w.Words() {
			s.Enum = append(s.Enum, word)
		}
		return
	}
	switch {
	case t.Kind() == reflect.Struct:
		for _, field := range reflect.VisibleFields(t) {
			name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
			if inner := s.Properties[name]; inner != nil {
				enumerate(inner, field.Type)
			}
		}
	case t.Kind() == reflect.Slice && s.Items != nil:
		enumerate(s.Items, t.Elem())
	case t.Kind() == reflect.Map && s.AdditionalProperties != nil:
		enumerate(s.AdditionalProperties, t.Elem())
	}
}

// schemaOf derives the schema of a Go type and makes it plain: one type where
// Go says "or null". Some clients drop every tool of a server for a list of
// types (field case F53); Encode sees to it that no null goes out.
func schemaOf(t reflect.Type) (*jsonschema.Schema, error) {
	s, err := jsonschema.ForType(t, &jsonschema.ForOptions{TypeSchemas: map[reflect.Type]*jsonschema.Schema{
		// Derived from its Go type it would be a list of numbers.
		reflect.TypeFor[json.RawMessage](): {Description: "any JSON value"},
		reflect.TypeFor[time.Time]():       {Type: "string", Format: moment},
	}})
	if err != nil {
		return nil, err
	}
	plain(s)
	if s.Type == "object" && s.Properties == nil {
		s.Properties = map[string]*jsonschema.Schema{}
	}
	return s, nil
}

func plain(s *jsonschema.Schema) {
	if s == nil {
		return
	}
	nullable := map[string]bool{}
	for name, p := range s.Properties {
		nullable[name] = slices.Contains(p.Types, "null") && !emptied(p)
		plain(p)
	}
	s.Required = slices.DeleteFunc(s.Required, func(name string) bool { return nullable[name] })
	plain(s.Items)
	plain(s.AdditionalProperties)
	if slices.Contains(s.Types, "null") {
		rest := slices.DeleteFunc(slices.Clone(s.Types), func(t string) bool { return t == "null" })
		if len(rest) == 1 {
			s.Type, s.Types = rest[0], nil
		}
	}
}

// emptied reports whether Encode writes an empty value instead of null.
func emptied(s *jsonschema.Schema) bool {
	return s.Type == "array" || slices.Contains(s.Types, "array") || (s.AdditionalProperties != nil && s.Properties == nil)
}

// Encode is an answer of the operation as its Out schema promises it: an empty
// list is [], an empty map {}, and what is not there is left out.
func (o Op) Encode(answer any) (json.RawMessage, error) {
	raw, err := json.Marshal(answer)
	if err != nil {
		return nil, fmt.Errorf("encode the answer of %s: %w", o.Name, err)
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber() // numbers of any size pass unharmed
	var v any
	if err := d.Decode(&v); err != nil {
		return nil, fmt.Errorf("read the answer of %s again: %w", o.Name, err)
	}
	return json.Marshal(withoutNull(v, o.Out))
}

func withoutNull(v any, s *jsonschema.Schema) any {
	if s == nil {
		return v
	}
	switch v := v.(type) {
	case nil:
		switch {
		case s.Type == "array":
			return []any{}
		case s.Type == "object":
			return map[string]any{}
		}
	case []any:
		for i := range v {
			v[i] = withoutNull(v[i], s.Items)
		}
	case map[string]any:
		for name, value := range v {
			inner, known := s.Properties[name]
			switch {
			case !known:
				v[name] = withoutNull(value, s.AdditionalProperties)
			case value == nil && inner.Type != "" && !emptied(inner):
				delete(v, name)
			default:
				v[name] = withoutNull(value, inner)
			}
		}
	}
	return v
}
