package op

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
)

// Class says what an operation may do; tokens are issued for classes.
type Class string

const (
	Read        Class = "read"
	Write       Class = "write"
	Destructive Class = "destructive"
	Credential  Class = "credential" // shows or changes a secret
	Egress      Class = "egress"     // makes the server talk to an outside address
)

// Op is one operation with its types erased.
type Op struct {
	Name        string // "tasks.retry": noun, dot, verb
	Title       string
	Description string
	Class       Class
	Idempotent  bool
	In, Out     *jsonschema.Schema

	read func(in json.RawMessage) error
	run  func(ctx context.Context, in json.RawMessage) (any, error)
	plan func(ctx context.Context, in json.RawMessage) (Preview, json.RawMessage, error)
}

// New declares an operation. It panics on types that have no JSON schema:
// a mistake of the program, found at boot by any test that builds the ops.
func New[I, O any](name, title, description string, class Class, run func(context.Context, I) (O, error)) Op {
	in, err := schemaOf(reflect.TypeFor[I]())
	if err != nil {
		panic(fmt.Sprintf("operation %s: input schema: %v", name, err))
	}
	out, err := schemaOf(reflect.TypeFor[O]())
	if err != nil {
		panic(fmt.Sprintf("operation %s: output schema: %v", name, err))
	}
	return Op{Name: name, Title: title, Description: description, Class: class, In: in, Out: out,
		read: func(raw json.RawMessage) error {
			var v I
			return decode(raw, &v)
		},
		run: func(ctx context.Context, raw json.RawMessage) (any, error) {
			var v I
			if err := decode(raw, &v); err != nil {
				return nil, err
			}
			return run(ctx, v)
		}}
}

// Run decodes in, refuses unknown and badly typed fields by name, and runs the
// operation. The caller has already checked rights.
func (o Op) Run(ctx context.Context, in json.RawMessage) (any, error) { return o.run(ctx, in) }

func decode(raw json.RawMessage, v any) error {
	if len(bytes.TrimSpace(raw)) == 0 {
		raw = json.RawMessage("{}")
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		var te *json.UnmarshalTypeError
		if errors.As(err, &te) {
			return Invalidf(te.Field, "must be %s, not %s", te.Type, te.Value)
		}
		// Types that read themselves are not named by their field; the value tells which it is.
		var moment *time.ParseError
		if errors.As(err, &moment) {
			return Invalidf("", "%.60s is not a moment: write it like \"2026-01-31T09:00:00Z\"", moment.Value)
		}
		const unknown = "json: unknown field "
		if s := err.Error(); len(s) > len(unknown) && s[:len(unknown)] == unknown {
			return Invalidf(s[len(unknown)+1:len(s)-1], "is not a field of this operation")
		}
		return Invalidf("", "the body is not a JSON object of this operation")
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return Invalidf("", "the body holds more than one JSON value")
	}
	return nil
}
