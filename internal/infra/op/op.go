package op

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"reflect"

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
	enumerate(in, reflect.TypeFor[I]())
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

// Repeatable says of an operation that a second call with the same input
// changes nothing more.
func Repeatable(o Op) Op {
	o.Idempotent = true
	return o
}

// Run runs the operation on in. What does not keep to the schema is refused
// first, by the field's name. The caller has already checked rights.
func (o Op) Run(ctx context.Context, in json.RawMessage) (any, error) {
	if err := accept(in, o.In); err != nil {
		return nil, err
	}
	return o.run(ctx, in)
}

// decode reads what accept has let pass.
func decode(raw json.RawMessage, v any) error {
	if len(bytes.TrimSpace(raw)) == 0 {
		return nil
	}
	if err := json.Unmarshal(raw, v); err != nil {
		return Wrap(err, Invalid, "The input is not what this operation takes; its description says what is.")
	}
	return nil
}
