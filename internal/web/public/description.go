package public

import (
	"context"
	"strings"

	"github.com/gatehouse-hq/gatehouse/internal/domain/corpus"
)

// described returns the note with its description as plain text. Descriptions come from front matter, where people
// write links and comments as in the text; they are read by the same rules as the text (field cases F43, F45).
func (s *Site) described(ctx context.Context, n corpus.Note) (corpus.Note, error) {
	if !strings.ContainsAny(n.Description, "[]%<>*_`=~#\\$") {
		return n, nil
	}
	text := n
	text.Body = n.Description
	page, err := s.render(ctx, text)
	if err != nil {
		return n, err
	}
	n.Description = strings.Join(strings.Fields(page.Text), " ")
	return n, nil
}

func (s *Site) allDescribed(ctx context.Context, notes []corpus.Note) ([]corpus.Note, error) {
	out := make([]corpus.Note, 0, len(notes))
	for _, n := range notes {
		d, err := s.described(ctx, n)
		if notFound(err) {
			continue // taken back meanwhile
		}
		if err != nil {
			return nil, err
		}
		out = append(out, d)
	}
	return out, nil
}
