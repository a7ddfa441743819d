package op

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/google/jsonschema-go/jsonschema"
)

// maxDepth is how deep an input may be nested; none that is declared comes near.
const maxDepth = 64

// accept refuses input that does not keep to the schema, and names the field.
// Go's decoder alone would let pass what its reader did not mean: of a field
// that is given twice it takes the last, it does not mind the case of names,
// puts U+FFFD where text is broken, and takes a missing "published" for false.
func accept(raw json.RawMessage, s *jsonschema.Schema) error {
	if len(bytes.TrimSpace(raw)) == 0 {
		raw = json.RawMessage("{}")
	}
	r := reader{raw: raw, d: json.NewDecoder(bytes.NewReader(raw))}
	r.d.UseNumber()
	err := r.value("", s, true, 0)
	switch {
	case err != nil && CodeOf(err) == "":
		return Invalidf("", "The input is not one whole JSON object.")
	case err != nil:
		return err
	}
	if _, err := r.d.Token(); !errors.Is(err, io.EOF) {
		return Invalidf("", "The input holds more than one JSON value.")
	}
	return nil
}

// Fields are the fields of an input by name, for a face that takes some for
// itself. What is broken in any is refused by its name, as Run would.
func Fields(raw json.RawMessage) (map[string]json.RawMessage, error) {
	fields := map[string]json.RawMessage{}
	if len(bytes.TrimSpace(raw)) == 0 {
		return fields, nil
	}
	if err := accept(raw, &jsonschema.Schema{Type: "object"}); err != nil {
		return nil, err
	}
	return fields, json.Unmarshal(raw, &fields)
}

type reader struct {
	raw json.RawMessage
	d   *json.Decoder
}

// value reads one value at a place in the input. A nil schema allows anything.
func (r reader) value(at string, s *jsonschema.Schema, required bool, depth int) error {
	if depth > maxDepth {
		return Invalidf(at, "is nested deeper than %d", maxDepth)
	}
	token, written, err := r.token()
	if err != nil {
		return err
	}
	if token == nil && (!required || s == nil || s.Type == "array" || s.Type == "") {
		return nil // as if it were left out
	}
	if got := typeOf(token); s != nil && s.Type != "" && got != s.Type && (s.Type != "number" || got != "integer") {
		if token == nil && at != "" && !strings.HasSuffix(at, "]") {
			return missing(at)
		}
		if s.Type == "integer" && got == "number" {
			return Invalidf(at, "must be a whole number below 2^63")
		}
		return Invalidf(at, "must be %s, not %s", spoken(s.Type), spoken(got))
	}
	switch token := token.(type) {
	case json.Delim:
		if token == '{' {
			return r.object(at, s, depth)
		}
		return r.list(at, s, depth)
	case string:
		return text(at, token, written, s)
	}
	return nil
}

// token is the next token and how it was written.
func (r reader) token() (json.Token, []byte, error) {
	from := r.d.InputOffset()
	token, err := r.d.Token()
	if err != nil {
		return nil, nil, err
	}
	return token, r.raw[from:r.d.InputOffset()], nil
}

func (r reader) object(at string, s *jsonschema.Schema, depth int) error {
	seen := map[string]bool{}
	for r.d.More() {
		token, written, err := r.token()
		if err != nil {
			return err
		}
		name, _ := token.(string) // the decoder lets nothing else pass as a name
		place, inner, err := member(at, name, s)
		if err == nil {
			err = text(place, name, written, nil)
		}
		if err == nil && seen[name] {
			err = Invalidf(place, "is given twice")
		}
		if err != nil {
			return err
		}
		seen[name] = true
		if err := r.value(place, inner, s != nil && slices.Contains(s.Required, name), depth+1); err != nil {
			return err
		}
	}
	if s != nil {
		for _, name := range s.Required {
			if !seen[name] {
				return missing(under(at, name))
			}
		}
	}
	_, err := r.d.Token()
	return err
}

// member is where a name of an object stands, and what is allowed there.
func member(at, name string, s *jsonschema.Schema) (string, *jsonschema.Schema, error) {
	if s == nil || (s.Properties == nil && s.AdditionalProperties == nil) {
		if at == "" {
			at = short(name)
		}
		return at, nil, nil
	}
	if inner, known := s.Properties[name]; known {
		return under(at, name), inner, nil
	}
	if s.AdditionalProperties == nil || s.AdditionalProperties.Not != nil {
		return at, nil, Invalidf(under(at, short(name)), "is not a field of this operation")
	}
	return at, s.AdditionalProperties, nil // the caller's own name: it says less than the field
}

// short is a name that the caller chose, fit to be shown.
func short(name string) string {
	return strings.ToValidUTF8(strings.ReplaceAll(fmt.Sprintf("%.60s", name), "\x00", ""), "")
}

func under(at, name string) string {
	if at == "" {
		return name
	}
	return at + "." + name
}

func missing(at string) error { return Invalidf(at, "is missing; it is required") }

func (r reader) list(at string, s *jsonschema.Schema, depth int) error {
	var items *jsonschema.Schema
	if s != nil {
		items = s.Items
	}
	for i := 0; r.d.More(); i++ {
		if err := r.value(fmt.Sprintf("%s[%d]", at, i), items, true, depth+1); err != nil {
			return err
		}
	}
	_, err := r.d.Token()
	return err
}

// text refuses what cannot be kept as it was sent, and words that are none of
// those allowed. An empty one is left to the operation: it may mean "any".
func text(at, value string, written []byte, s *jsonschema.Schema) error {
	switch {
	case strings.ContainsRune(value, 0):
		return Invalidf(at, `holds the character \u0000, which cannot be stored`)
	case !utf8.Valid(written):
		return Invalidf(at, "is not UTF-8 text")
	case strings.ContainsRune(value, utf8.RuneError) && !bytes.ContainsRune(written, utf8.RuneError) && !bytes.Contains(bytes.ToLower(written), []byte(`\ufffd`)):
		return Invalidf(at, `holds half of a character: \ud800 to \udfff come in pairs`)
	case s == nil:
		return nil
	case s.Format == moment:
		if _, err := time.Parse(time.RFC3339, value); err != nil {
			return Invalidf(at, "%.60q is not a moment: write it like \"2026-01-31T09:00:00Z\"", value)
		}
	case len(s.Enum) > 0 && value != "" && !slices.Contains(s.Enum, any(value)):
		return Invalidf(at, "%.60q is none of %s", value, listed(s.Enum))
	}
	return nil
}

func listed(words []any) string {
	var out []string
	for _, w := range words {
		out = append(out, fmt.Sprint(w))
	}
	return strings.Join(out, ", ")
}

// typeOf is the schema's word for a token. A number that is no whole one, or
// beyond what is counted with, is no integer.
func typeOf(t json.Token) string {
	switch t := t.(type) {
	case json.Delim:
		if t == '{' {
			return "object"
		}
		return "array"
	case string:
		return "string"
	case bool:
		return "boolean"
	case json.Number:
		if _, err := strconv.ParseInt(string(t), 10, 64); err == nil {
			return "integer"
		}
		return "number"
	}
	return "null"
}

func spoken(t string) string {
	switch t {
	case "object":
		return "an object"
	case "array":
		return "a list"
	case "string":
		return "text"
	case "boolean":
		return "true or false"
	case "integer":
		return "a whole number"
	case "number":
		return "a number"
	}
	return t
}
