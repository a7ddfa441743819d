package meili

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// filter is a parsed filter expression; nil lets every document through.
type filter struct {
	attributes []string
	test       func(document map[string]any) bool
}

func (f *filter) matches(document map[string]any) bool { return f == nil || f.test(document) }

// filterable reports the first attribute that was not declared filterable: the engine refuses such a filter.
func (ix *index) filterable(f *filter) error {
	if f == nil {
		return nil
	}
	allowed := ix.list("filterableAttributes")
	for _, attribute := range f.attributes {
		if slices.Contains(allowed, attribute) || slices.Contains(allowed, "*") {
			continue
		}
		if len(allowed) == 0 {
			return worded("Index `%s`: Attribute `%s` is not filterable. This index does not have configured filterable attributes.", ix.uid, attribute)
		}
		return worded("Index `%s`: Attribute `%s` is not filterable. Available filterable attribute patterns are: `%s`.", ix.uid, attribute, strings.Join(allowed, "`, `"))
	}
	return nil
}

// usableFilter parses a filter and checks it against the index.
func (ix *index) usableFilter(raw any, code string) (*filter, error) {
	f, err := parseFilter(raw)
	if err == nil {
		err = ix.filterable(f)
	}
	if err != nil {
		return nil, badRequest(code, err.Error())
	}
	return f, nil
}

// parseFilter reads a filter: an expression, or a list whose items are joined with AND and whose inner lists with OR.
func parseFilter(raw any) (*filter, error) {
	switch raw := raw.(type) {
	case nil:
		return nil, nil
	case string:
		return parseExpression(raw)
	case []any:
		var all *filter
		for _, item := range raw {
			part, err := parseAlternatives(item)
			if err != nil {
				return nil, err
			}
			all = both(all, part)
		}
		return all, nil
	}
	return nil, worded("Invalid syntax for the filter parameter: `expected String, Array, found: %T`.", raw)
}

func parseAlternatives(item any) (*filter, error) {
	inner, ok := item.([]any)
	if !ok {
		return parseFilter(item)
	}
	var any *filter
	for _, alternative := range inner {
		part, err := parseFilter(alternative)
		if err != nil {
			return nil, err
		}
		any = either(any, part)
	}
	return any, nil
}

func both(a, b *filter) *filter {
	if a == nil {
		return b
	}
	if b == nil {
		return a
	}
	return &filter{append(slices.Clone(a.attributes), b.attributes...), func(d map[string]any) bool { return a.test(d) && b.test(d) }}
}

func either(a, b *filter) *filter {
	if a == nil {
		return b
	}
	if b == nil {
		return a
	}
	return &filter{append(slices.Clone(a.attributes), b.attributes...), func(d map[string]any) bool { return a.test(d) || b.test(d) }}
}

func not(f *filter) *filter {
	return &filter{f.attributes, func(d map[string]any) bool { return !f.test(d) }}
}

// compare tests one attribute. A list matches if any of its items does, as in the engine.
func compare(attribute, operator, value string) *filter {
	test := func(d map[string]any) bool {
		return slices.ContainsFunc(scalars(d[attribute]), func(have any) bool { return holds(have, operator, value) })
	}
	f := &filter{[]string{attribute}, test}
	if operator == "!=" {
		return not(compare(attribute, "=", value))
	}
	return f
}

func scalars(value any) []any {
	if list, ok := value.([]any); ok {
		return list
	}
	if value == nil {
		return nil
	}
	return []any{value}
}

func holds(have any, operator, value string) bool {
	if operator == "=" {
		return strings.EqualFold(fmt.Sprint(have), value)
	}
	number, ok := have.(json.Number)
	if !ok {
		return false // order is defined for numbers only
	}
	left, errLeft := number.Float64()
	right, errRight := strconv.ParseFloat(value, 64)
	if errLeft != nil || errRight != nil {
		return false
	}
	switch operator {
	case ">":
		return left > right
	case ">=":
		return left >= right
	case "<":
		return left < right
	default:
		return left <= right
	}
}
