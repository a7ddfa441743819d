package ui

import (
	"bytes"
	"context"
	"encoding/json"
	"io"

	"github.com/a-h/templ"
)

// token is a piece of JSON text with the class that colours it; "" for none.
type token struct {
	class string
	text  string
}

// prettyJSON indents raw and cuts it into coloured tokens. Text that is not JSON comes back
// whole and uncoloured, so an odd payload is still shown.
func prettyJSON(raw []byte) (plain string, tokens []token) {
	var indented bytes.Buffer
	if err := json.Indent(&indented, raw, "", "  "); err != nil {
		return string(raw), []token{{text: string(raw)}}
	}
	plain = indented.String()
	for rest := plain; rest != ""; {
		t := nextToken(rest)
		tokens = append(tokens, t)
		rest = rest[len(t.text):]
	}
	return plain, tokens
}

// nextToken cuts the first token off text that is known to be valid, indented JSON.
func nextToken(text string) token {
	switch c := text[0]; {
	case c == '"':
		end := stringEnd(text)
		if end < len(text) && text[end] == ':' {
			return token{"key", text[:end]}
		}
		return token{"str", text[:end]}
	case c == '-' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z':
		end := 1
		for end < len(text) && !bytes.ContainsRune([]byte(",]} \n"), rune(text[end])) {
			end++
		}
		return token{"lit", text[:end]}
	default:
		end := 1
		for end < len(text) && bytes.ContainsRune([]byte("{}[],: \n"), rune(text[end])) {
			end++
		}
		return token{"", text[:end]}
	}
}

// stringEnd returns the index after the closing quote of the string that text starts with.
func stringEnd(text string) int {
	for i := 1; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(text)
}

// coloured writes the tokens without a byte between them: whitespace counts inside <pre>.
func coloured(tokens []token) templ.Component {
	return templ.ComponentFunc(func(_ context.Context, w io.Writer) error {
		for _, t := range tokens {
			text := templ.EscapeString(t.text)
			if t.class != "" {
				text = `<span class="` + t.class + `">` + text + `</span>`
			}
			if _, err := io.WriteString(w, text); err != nil {
				return err
			}
		}
		return nil
	})
}
