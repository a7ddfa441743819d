package vault

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// decode turns a file's bytes into text: UTF-8 or, by its byte order mark, UTF-16; line ends \n; NFC. What is neither is refused, since
// guessing an encoding can turn publish: false into something else (field cases F12, F40).
func decode(raw []byte) (string, error) {
	switch {
	case bytes.HasPrefix(raw, []byte{0xff, 0xfe, 0, 0}), bytes.HasPrefix(raw, []byte{0, 0, 0xfe, 0xff}):
		return "", errors.New("the text is UTF-32; save it as UTF-8")
	case bytes.HasPrefix(raw, []byte{0xff, 0xfe}):
		return decodeUTF16(raw[2:], binary.LittleEndian)
	case bytes.HasPrefix(raw, []byte{0xfe, 0xff}):
		return decodeUTF16(raw[2:], binary.BigEndian)
	}
	if !utf8.Valid(raw) {
		return "", fmt.Errorf("line %d is not UTF-8 text", invalidLine(raw))
	}
	return clean(string(raw))
}

func decodeUTF16(raw []byte, order binary.ByteOrder) (string, error) {
	if len(raw)%2 != 0 {
		return "", errors.New("the text is UTF-16 cut in mid-character")
	}
	units := make([]uint16, len(raw)/2)
	for i := range units {
		units[i] = order.Uint16(raw[2*i:])
	}
	for i := 0; i < len(units); i++ {
		if !utf16.IsSurrogate(rune(units[i])) {
			continue
		}
		if i+1 == len(units) || utf16.DecodeRune(rune(units[i]), rune(units[i+1])) == utf8.RuneError {
			return "", errors.New("the text is damaged UTF-16")
		}
		i++
	}
	return clean(string(utf16.Decode(units)))
}

func clean(s string) (string, error) {
	s = strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(strings.TrimLeft(s, "\ufeff"))
	if i := strings.IndexByte(s, 0); i >= 0 {
		return "", fmt.Errorf("line %d holds a NUL character, which no text has (UTF-16 without a byte order mark, or not text at all)", 1+strings.Count(s[:i], "\n"))
	}
	return norm.NFC.String(s), nil
}

func invalidLine(raw []byte) int {
	line := 1
	for len(raw) > 0 {
		r, size := utf8.DecodeRune(raw)
		if r == utf8.RuneError && size == 1 {
			break
		}
		if r == '\n' {
			line++
		}
		raw = raw[size:]
	}
	return line
}
