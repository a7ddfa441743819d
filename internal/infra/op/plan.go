package op

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
)

// SampleSize is how many of the things it would touch a preview names.
const SampleSize = 5

// Preview is what an operation would do, asked before it does it.
type Preview struct {
	Summary string   `json:"summary" jsonschema:"what would happen"`
	Count   int      `json:"count" jsonschema:"how many things would be touched"`
	AtLeast bool     `json:"at_least,omitempty" jsonschema:"the count is a lower bound"`
	Sample  []string `json:"sample" jsonschema:"some of them"`
}

// WithPlan gives o a way to say beforehand what it would do. look returns the
// preview and the input with its selection frozen: applying it touches nothing
// that came later. look changes nothing.
func WithPlan[I any](o Op, look func(context.Context, I) (Preview, I, error)) Op {
	o.plan = func(ctx context.Context, raw json.RawMessage) (Preview, json.RawMessage, error) {
		var v I
		if err := decode(raw, &v); err != nil {
			return Preview{}, nil, err
		}
		p, frozen, err := look(ctx, v)
		if err != nil {
			return Preview{}, nil, err
		}
		p.Sample = p.Sample[:min(len(p.Sample), SampleSize):min(len(p.Sample), SampleSize)]
		if p.Sample == nil {
			p.Sample = []string{}
		}
		out, err := json.Marshal(frozen)
		return p, out, err
	}
	return o
}

// Planned reports whether a program that acts for the owner has to see a plan
// first: the operation destroys, or says itself that it acts on many.
func (o Op) Planned() bool { return o.Class == Destructive || o.plan != nil }

// Plan says what the operation would do with in, and returns the input to
// apply. An operation that cannot look ahead is previewed by what its input
// names.
func (o Op) Plan(ctx context.Context, in json.RawMessage) (Preview, json.RawMessage, error) {
	if err := accept(in, o.In); err != nil {
		return Preview{}, nil, err
	}
	if o.plan != nil {
		return o.plan(ctx, in)
	}
	var fields map[string]json.RawMessage
	if err := errors.Join(o.read(in), decode(in, &fields)); err != nil {
		return Preview{}, nil, err
	}
	named := []string{}
	for _, name := range []string{"ids", "event_ids", "id", "endpoint_id"} {
		var many []json.RawMessage
		if json.Unmarshal(fields[name], &many) != nil && fields[name] != nil {
			many = []json.RawMessage{fields[name]}
		}
		for _, one := range many {
			named = append(named, strings.Trim(string(one), `"`))
		}
	}
	slices.Sort(named)
	named = slices.Compact(named)
	p := Preview{Summary: o.Title + ".", Count: len(named), Sample: named[:min(len(named), SampleSize)]}
	return p, in, nil
}
