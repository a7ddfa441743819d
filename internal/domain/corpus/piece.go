package corpus

import (
	"context"
	"unicode/utf8"

	"github.com/gatehouse-hq/gatehouse/internal/infra/op"
)

// getIn asks for a note, or for a piece of its text: models and their clients
// hold only so much at once.
type getIn struct {
	ID        string `json:"id" jsonschema:"the note's id"`
	BodyFrom  int    `json:"body_from,omitempty" jsonschema:"where in the body to begin, in bytes: body_next of the answer before"`
	BodyLimit int    `json:"body_limit,omitempty" jsonschema:"at most so many bytes of JSON for the body; left out: all of it"`
}

// noteOut is a note, its body whole or in part.
type noteOut struct {
	Note
	BodyBytes int `json:"body_bytes" jsonschema:"length of the whole body"`
	BodyNext  int `json:"body_next,omitempty" jsonschema:"present when the body goes on: ask again with this as body_from. Do not store a part as the whole"`
}

func (d *Domain) opGet(ctx context.Context, in getIn) (noteOut, error) {
	n, err := d.Get(ctx, in.ID)
	if err != nil {
		return noteOut{}, err
	}
	out := noteOut{Note: n, BodyBytes: len(n.Body)}
	switch {
	case in.BodyLimit < 0 || (in.BodyLimit > 0 && in.BodyLimit < 100):
		return noteOut{}, op.Invalidf("body_limit", "At least 100, or nothing for all of it.")
	case in.BodyFrom < 0 || in.BodyFrom > len(n.Body) || (in.BodyFrom < len(n.Body) && !utf8.RuneStart(n.Body[in.BodyFrom])):
		return noteOut{}, op.Invalidf("body_from", "There is no such place in this body, which has %d bytes. Use body_next of the answer before.", len(n.Body))
	}
	if in.BodyLimit == 0 {
		out.Body = n.Body[in.BodyFrom:]
		return out, nil
	}
	out.Body, out.BodyNext = piece(n.Body, in.BodyFrom, in.BodyLimit)
	return out, nil
}

// piece is the part of body from a place on that is at most most bytes long as
// JSON, and the place where the next begins; 0 means that none is left.
func piece(body string, from, most int) (part string, next int) {
	size := 0
	for i, r := range body[from:] {
		if size += encoded(r); size > most {
			return body[from : from+i], from + i
		}
	}
	return body[from:], 0
}

// encoded is how many bytes a character takes in JSON as it is written here.
func encoded(r rune) int {
	switch {
	case r == '"' || r == '\\' || r == '\n' || r == '\r' || r == '\t':
		return 2
	case r < 0x20 || r == '<' || r == '>' || r == '&' || r == '\u2028' || r == '\u2029':
		return 6
	}
	return utf8.RuneLen(r)
}
