package meili

import (
	"strings"
	"unicode"
)

// parser reads one filter expression by recursive descent: OR of ANDs of NOTs of conditions.
type parser struct {
	tokens []token
	at     int
	depth  int
}

type token struct {
	text   string
	quoted bool
}

// maxDepth is the engine's own bound on nesting.
const maxDepth = 200

var errDepth = worded("The filter exceeded the maximum depth limit. Try rewriting the filter so that it contains fewer nested conditions.")

func parseExpression(text string) (*filter, error) {
	tokens, err := tokenize(text)
	if err != nil {
		return nil, err
	}
	if len(tokens) == 0 {
		return nil, nil
	}
	p := &parser{tokens: tokens}
	f, err := p.or()
	if err != nil {
		return nil, err
	}
	if p.at < len(p.tokens) {
		return nil, worded("Found unexpected characters at the end of the filter: `%s`. You probably forgot an `OR` or an `AND` rule.", p.tokens[p.at].text)
	}
	return f, nil
}

func (p *parser) or() (*filter, error) {
	f, err := p.and()
	for err == nil && p.keyword("OR") {
		var next *filter
		next, err = p.and()
		f = either(f, next)
	}
	return f, err
}

func (p *parser) and() (*filter, error) {
	f, err := p.unary()
	for err == nil && p.keyword("AND") {
		var next *filter
		next, err = p.unary()
		f = both(f, next)
	}
	return f, err
}

func (p *parser) unary() (*filter, error) {
	if p.depth++; p.depth > maxDepth {
		return nil, errDepth
	}
	defer func() { p.depth-- }()
	if p.keyword("NOT") {
		f, err := p.unary()
		if err != nil {
			return nil, err
		}
		return not(f), nil
	}
	if p.symbol("(") {
		f, err := p.or()
		if err != nil {
			return nil, err
		}
		if !p.symbol(")") {
			return nil, worded("Expression `(` is missing the following closing delimiter: `)`.")
		}
		return f, nil
	}
	return p.condition()
}

func (p *parser) condition() (*filter, error) {
	attribute, err := p.value()
	if err != nil {
		return nil, err
	}
	negated := p.keyword("NOT")
	f, err := p.test(attribute)
	if err != nil {
		return nil, err
	}
	if negated {
		return not(f), nil
	}
	return f, nil
}

func (p *parser) test(attribute string) (*filter, error) {
	switch {
	case p.keyword("EXISTS"):
		return &filter{[]string{attribute}, func(d map[string]any) bool { _, ok := d[attribute]; return ok }}, nil
	case p.keyword("IN"):
		return p.in(attribute)
	case p.keyword("IS"):
		return p.is(attribute)
	}
	for _, operator := range []string{"!=", ">=", "<=", "=", ">", "<"} {
		if p.symbol(operator) {
			value, err := p.value()
			if err != nil {
				return nil, err
			}
			return compare(attribute, operator, value), nil
		}
	}
	low, err := p.value()
	if err != nil || !p.keyword("TO") {
		return nil, worded("Was expecting an operation `=`, `!=`, `>=`, `>`, `<=`, `<`, `IN`, `NOT IN`, `TO`, `EXISTS`, `NOT EXISTS`, `IS NULL`, `IS NOT NULL`, `IS EMPTY`, or `IS NOT EMPTY` at `%s`.", attribute)
	}
	high, err := p.value()
	if err != nil {
		return nil, err
	}
	return both(compare(attribute, ">=", low), compare(attribute, "<=", high)), nil
}

func (p *parser) in(attribute string) (*filter, error) {
	if !p.symbol("[") {
		return nil, worded("Expected `[` after `IN` keyword.")
	}
	f := &filter{[]string{attribute}, func(map[string]any) bool { return false }}
	for !p.symbol("]") {
		value, err := p.value()
		if err != nil {
			return nil, err
		}
		f = either(f, compare(attribute, "=", value))
		p.symbol(",")
	}
	return f, nil
}

func (p *parser) is(attribute string) (*filter, error) {
	negated := p.keyword("NOT")
	var f *filter
	switch {
	case p.keyword("NULL"):
		f = &filter{[]string{attribute}, func(d map[string]any) bool { v, ok := d[attribute]; return ok && v == nil }}
	case p.keyword("EMPTY"):
		f = &filter{[]string{attribute}, func(d map[string]any) bool { return isEmpty(d[attribute]) }}
	default:
		return nil, worded("Was expecting `NULL` or `EMPTY` after `IS`.")
	}
	if negated {
		return not(f), nil
	}
	return f, nil
}

func isEmpty(value any) bool {
	switch value := value.(type) {
	case string:
		return value == ""
	case []any:
		return len(value) == 0
	case map[string]any:
		return len(value) == 0
	}
	return false
}

func (p *parser) keyword(word string) bool { return p.take(word, strings.EqualFold) }

func (p *parser) symbol(text string) bool {
	return p.take(text, func(a, b string) bool { return a == b })
}

func (p *parser) take(text string, same func(a, b string) bool) bool {
	if p.at < len(p.tokens) && !p.tokens[p.at].quoted && same(p.tokens[p.at].text, text) {
		p.at++
		return true
	}
	return false
}

func (p *parser) value() (string, error) {
	if p.at >= len(p.tokens) || (!p.tokens[p.at].quoted && strings.ContainsAny(p.tokens[p.at].text, "()[]=<>!,")) {
		return "", worded("Was expecting a value but instead got nothing.")
	}
	p.at++
	return p.tokens[p.at-1].text, nil
}

func tokenize(text string) ([]token, error) {
	var tokens []token
	runes := []rune(text)
	for i := 0; i < len(runes); {
		r := runes[i]
		switch {
		case unicode.IsSpace(r):
			i++
		case r == '"' || r == '\'':
			quoted, next, err := readQuoted(runes, i)
			if err != nil {
				return nil, err
			}
			tokens, i = append(tokens, token{quoted, true}), next
		case strings.ContainsRune("()[],=", r):
			tokens, i = append(tokens, token{string(r), false}), i+1
		case strings.ContainsRune("<>!", r):
			symbol := string(r)
			if i+1 < len(runes) && runes[i+1] == '=' {
				symbol += "="
			}
			tokens, i = append(tokens, token{symbol, false}), i+len(symbol)
		default:
			start := i
			for i < len(runes) && !unicode.IsSpace(runes[i]) && !strings.ContainsRune("()[],=<>!\"'", runes[i]) {
				i++
			}
			tokens = append(tokens, token{string(runes[start:i]), false})
		}
	}
	return tokens, nil
}

func readQuoted(runes []rune, start int) (string, int, error) {
	var out strings.Builder
	for i := start + 1; i < len(runes); i++ {
		switch {
		case runes[i] == '\\' && i+1 < len(runes):
			i++
			out.WriteRune(runes[i])
		case runes[i] == runes[start]:
			return out.String(), i + 1, nil
		default:
			out.WriteRune(runes[i])
		}
	}
	return "", 0, worded("Expression `%s` is missing the following closing delimiter: `%c`.", string(runes[start:]), runes[start])
}
