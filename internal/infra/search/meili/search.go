package meili

import (
	"context"
	"crypto/rand"
	"fmt"
	"strings"
	"unicode"

	"github.com/meilisearch/meilisearch-go"

	"github.com/gatehouse-hq/gatehouse/internal/infra/search"
)

const (
	maxQuery     = 1_000 // runes; the server reads ten words
	excerptWords = 36    // about three lines
)

// found is a hit as the server gives it.
type found struct {
	ID        string  `json:"id"`
	Version   int64   `json:"version"`
	Score     float64 `json:"_rankingScore"`
	Formatted struct {
		Title string `json:"title"`
		Body  string `json:"body"`
	} `json:"_formatted"`
}

// Search finds documents that hold every word of the query, best first.
func (e *Engine) Search(ctx context.Context, q search.Query) (search.Results, error) {
	res := search.Results{Hits: []search.Hit{}}
	text := plainQuery(q.Text)
	if text == "" {
		return res, nil // to the server, no words mean all documents
	}
	limit, offset := min(max(q.Limit, 1), 100), max(q.Offset, 0)
	// Only pages make the server count exactly. An offset between two pages is
	// cut from one long page.
	number, size, skip := int64(1), int64(offset+limit), offset
	if offset%limit == 0 {
		number, size, skip = int64(offset/limit)+1, int64(limit), 0
	}
	// The marks are unknown to whoever wrote the notes.
	mark := rand.Text()
	before, after := "\ue000"+mark, "\ue001"+mark
	ask := &meilisearch.SearchRequest{
		Page: number, HitsPerPage: &size, MatchingStrategy: meilisearch.All, ShowRankingScore: true,
		AttributesToRetrieve: []string{key, "version"}, AttributesToHighlight: []string{"title", "body"},
		AttributesToCrop: []string{"body"}, CropLength: excerptWords, HighlightPreTag: before, HighlightPostTag: after,
	}
	if q.PublishedOnly {
		ask.Filter = "published = true"
	}
	var got *meilisearch.SearchResponse
	err := e.request(ctx, func(ctx context.Context) (err error) {
		got, err = e.index().Search(ctx, text, ask)
		return err
	})
	if err != nil {
		return res, fmt.Errorf("search: %w", err)
	}
	res.Total = int(got.TotalHits)
	for _, hit := range got.Hits[min(skip, len(got.Hits)):] {
		var f found
		if err := hit.DecodeInto(&f); err != nil {
			return res, fmt.Errorf("search: read a hit: %w", err)
		}
		res.Hits = append(res.Hits, search.Hit{ID: f.ID, Version: f.Version, Score: f.Score,
			Title: pieces(f.Formatted.Title, before, after), Excerpt: excerpt(pieces(f.Formatted.Body, before, after))})
	}
	return res, nil
}

// plainQuery takes the query language out of what a person typed: quotes would
// ask for a phrase and a leading - exclude a word. A last word is always taken
// for a beginning, which a space after it would prevent. Empty if there is
// nothing to look for.
func plainQuery(text string) string {
	if r := []rune(text); len(r) > maxQuery {
		text = string(r[:maxQuery])
	}
	words := false
	text = strings.Map(func(r rune) rune {
		if r == '"' || r == '-' || unicode.IsControl(r) {
			return ' '
		}
		words = words || unicode.IsLetter(r) || unicode.IsDigit(r)
		return r
	}, text)
	if !words {
		return ""
	}
	return strings.TrimSpace(text)
}
