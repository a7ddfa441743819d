package op_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gatehouse-hq/gatehouse/internal/infra/op"
)

type inner struct {
	Names []string `json:"names"`
}

type odd struct {
	List  []inner           `json:"list"`
	Map   map[string]int    `json:"map"`
	At    *time.Time        `json:"at"`
	Sub   *inner            `json:"sub"`
	Raw   json.RawMessage   `json:"raw"`
	Deep  map[string][]int  `json:"deep"`
	Words map[string]string `json:"words,omitempty"`
}

func oddOp(answer odd) op.Op {
	return op.New("odd.get", "Odd", "Answers with all that is odd.", op.Read, func(context.Context, struct{}) (odd, error) { return answer, nil })
}

// Field case F53: what is empty goes out as [] and {}, never as null, and what
// is any JSON stays as it is.
func TestEncodeKeepsThePromiseOfTheSchema(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		answer odd
		want   string
	}{
		"nothing": {odd{Raw: json.RawMessage(`null`)}, `{"list":[],"map":{},"raw":null,"deep":{}}`},
		"null inside": {odd{List: []inner{{}}, Sub: &inner{}, Raw: json.RawMessage(`{"a":null,"n":12345678901234567890.10}`), Deep: map[string][]int{"x": nil}},
			`{"list":[{"names":[]}],"map":{},"sub":{"names":[]},"raw":{"a":null,"n":12345678901234567890.10},"deep":{"x":[]}}`},
	} {
		o := oddOp(c.answer)
		raw, err := o.Encode(c.answer)
		if err != nil {
			t.Fatal(err)
		}
		var got, want any
		if err := json.Unmarshal(raw, &got); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal([]byte(c.want), &want); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		schema, err := o.Out.Resolve(nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := schema.Validate(got); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if strings.Contains(name, "inside") && !strings.Contains(string(raw), "12345678901234567890.10") {
			t.Errorf("a number was changed: %s", raw)
		}
	}
	text, err := json.Marshal(oddOp(odd{}).Out)
	if err != nil || strings.Contains(string(text), `"null"`) {
		t.Errorf("%v %s", err, text)
	}
}

type pick struct {
	IDs  []string `json:"ids"`
	Upto int      `json:"upto,omitempty"`
}

func TestPlans(t *testing.T) {
	t.Parallel()
	o := op.New("thing.drop", "Drop things", "Drops them.", op.Destructive, func(context.Context, pick) (inner, error) { return inner{}, nil })
	if !o.Planned() {
		t.Error("what destroys needs no plan")
	}
	p, frozen, err := o.Plan(t.Context(), json.RawMessage(`{"ids":["b","a","b"]}`))
	if err != nil || p.Count != 2 || len(p.Sample) != 2 || string(frozen) != `{"ids":["b","a","b"]}` {
		t.Errorf("%+v %s %v", p, frozen, err)
	}
	if _, _, err := o.Plan(t.Context(), json.RawMessage(`{"idz":[]}`)); op.CodeOf(err) != op.Invalid {
		t.Errorf("an unknown field: %v", err)
	}
	o = op.WithPlan(o, func(_ context.Context, in pick) (op.Preview, pick, error) {
		in.Upto = 7
		return op.Preview{Summary: "Drops all.", Count: 9, Sample: []string{"1", "2", "3", "4", "5", "6"}}, in, nil
	})
	p, frozen, err = o.Plan(t.Context(), json.RawMessage(`{"ids":[]}`))
	if err != nil || len(p.Sample) != op.SampleSize || string(frozen) != `{"ids":[],"upto":7}` {
		t.Errorf("%+v %s %v", p, frozen, err)
	}
}

// A day is not a moment: whoever sends one is told what a moment looks like, not that the JSON is broken.
func TestDayWithoutHourIsNamed(t *testing.T) {
	t.Parallel()
	o := op.New("odd.set", "Odd", "Takes a moment.", op.Read, func(context.Context, asked) (struct{}, error) { return struct{}{}, nil })
	_, err := o.Run(t.Context(), json.RawMessage(`{"name":"x","at":"2026-01-31"}`))
	if op.CodeOf(err) != op.Invalid || !strings.Contains(err.Error(), `at: "2026-01-31" is not a moment`) {
		t.Errorf("%v", err)
	}
	if _, err := o.Run(t.Context(), json.RawMessage(`{"name":"x","at":"2026-01-31T09:00:00Z"}`)); err != nil {
		t.Errorf("a moment: %v", err)
	}
}
