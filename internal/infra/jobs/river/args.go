package river

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/gatehouse-hq/gatehouse/internal/infra/jobs"
)

// args is one value type for every kind: the library takes the name from the
// value, so that kinds can be data. Pinned by TestStringKinds.
type args struct {
	kind string
	raw  json.RawMessage
}

func (a args) Kind() string                  { return a.kind }
func (a args) MarshalJSON() ([]byte, error)  { return a.raw, nil }
func (a *args) UnmarshalJSON(b []byte) error { a.raw = bytes.Clone(b); return nil }

// canonical returns v as a JSON object with sorted keys and no spaces, the
// form that uniqueness compares. It refuses what PostgreSQL's jsonb would
// refuse at insert, or alter: NUL characters and numbers out of its range.
func canonical(v any) (json.RawMessage, error) {
	raw, isRaw := v.(json.RawMessage)
	if !isRaw {
		b, err := json.Marshal(v)
		if err != nil {
			return nil, fmt.Errorf("%w: %v", jobs.ErrBadArgs, err)
		}
		raw = b
	}
	if len(raw) == 0 || string(raw) == "null" {
		return json.RawMessage("{}"), nil
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	var o map[string]any
	if err := dec.Decode(&o); err != nil {
		return nil, fmt.Errorf("%w: a JSON object is needed: %v", jobs.ErrBadArgs, err)
	}
	if _, err := dec.Token(); err != io.EOF {
		return nil, fmt.Errorf("%w: something follows the JSON object", jobs.ErrBadArgs)
	}
	if err := storable(o); err != nil {
		return nil, fmt.Errorf("%w: %v", jobs.ErrBadArgs, err)
	}
	return json.Marshal(o)
}

func storable(v any) error {
	switch v := v.(type) {
	case string:
		if strings.ContainsRune(v, 0) {
			return fmt.Errorf("a text holds a NUL character")
		}
	case json.Number:
		return storableNumber(v.String())
	case []any:
		for _, e := range v {
			if err := storable(e); err != nil {
				return err
			}
		}
	case map[string]any:
		for k, e := range v {
			if strings.ContainsRune(k, 0) {
				return fmt.Errorf("a key holds a NUL character")
			}
			if err := storable(e); err != nil {
				return fmt.Errorf("%s: %w", k, err)
			}
		}
	}
	return nil
}

// storableNumber keeps well inside of numeric's 131,072 digits before and
// 16,383 after the point.
func storableNumber(s string) error {
	const most = 4000
	digits, exp, ok := strings.Cut(strings.ToLower(s), "e")
	if len(digits) > most {
		return fmt.Errorf("a number has more than %d digits", most)
	}
	if ok {
		if n, err := strconv.Atoi(exp); err != nil || n > most || n < -most {
			return fmt.Errorf("the number %.40s is out of range", s)
		}
	}
	return nil
}
