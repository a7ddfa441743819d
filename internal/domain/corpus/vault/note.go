package vault

import (
	"crypto/sha256"
	"path"
	"strings"
)

// ReadNote reads the bytes of a Markdown file. name is its path, from which the title comes when the front matter gives none. The error is
// the reason for refusing it; front matter that cannot be read is no error.
func ReadNote(name string, raw []byte) (*Note, error) {
	text, err := decode(raw)
	if err != nil {
		return nil, err
	}
	b := divide(text)
	n := &Note{Sum: sha256.Sum256(raw)}
	n.Front, n.Warnings = readFront(b)
	n.Body, n.BodyLine = b.body, b.start
	if n.Front.Unreadable && !onlyKeys(b.yaml) {
		n.Body, n.BodyLine = text, 1
	}
	n.Title = n.Front.Title
	if n.Title == "" {
		base := path.Base(name)
		n.Title = oneLine(strings.TrimSuffix(base, path.Ext(base)))
	}
	return n, nil
}
