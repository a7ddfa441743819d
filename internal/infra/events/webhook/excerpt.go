package webhook

import (
	"io"
	"strings"
	"unicode/utf8"
)

// Bounds of an answer's body (field case F17).
const (
	// MaxReadBytes is how much of a body is read, counted after decompression. Reading it to its end lets the connection
	// be used again; past the bound closing it is cheaper.
	MaxReadBytes = 64 << 10
	// MaxExcerptBytes is how much clean text is kept.
	MaxExcerptBytes = 4 << 10
)

// readExcerpt reads a body for its excerpt. A body that breaks off, drips until its time is over, or cannot be
// decompressed gives what came: none of it changes what the status said.
func readExcerpt(body io.Reader, length int64) (excerpt string, truncated bool) {
	size := int64(512)
	if length >= 0 {
		size = min(length, MaxExcerptBytes) + 1 // one more for the read that finds the end
	}
	buffer := make([]byte, 0, size)
	for len(buffer) <= MaxExcerptBytes {
		if len(buffer) == cap(buffer) {
			buffer = append(buffer, 0)[:len(buffer)]
		}
		n, err := body.Read(buffer[len(buffer):cap(buffer)])
		buffer = buffer[:len(buffer)+n]
		if err != nil {
			return cutText(cleanText(string(buffer))), len(buffer) > MaxExcerptBytes || err != io.EOF
		}
	}
	_, _ = io.CopyN(io.Discard, body, MaxReadBytes-int64(len(buffer))) // to the end if it is near
	return cutText(cleanText(string(buffer))), true
}

// cleanText makes text of what the other side sent: valid UTF-8 without NUL and other control characters, which
// PostgreSQL refuses or a terminal obeys (F12).
func cleanText(text string) string {
	if isClean(text) {
		return text
	}
	return strings.Map(func(r rune) rune {
		if r != '\n' && r != '\t' && (r < ' ' || (r >= 0x7f && r < 0xa0)) {
			return -1
		}
		return r // strings.Map has already made U+FFFD of each broken byte
	}, text)
}

func isClean(text string) bool {
	for i := range len(text) {
		if c := text[i]; c >= 0x7f || (c < ' ' && c != '\n' && c != '\t') {
			return false
		}
	}
	return true
}

// cutText cuts at MaxExcerptBytes, between characters.
func cutText(text string) string {
	if len(text) <= MaxExcerptBytes {
		return text
	}
	end := MaxExcerptBytes
	for end > 0 && !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end]
}
