// Package search is the port to a full-text engine. The default engine is
// PostgreSQL itself (search/postgres); Meilisearch (search/meili) stands behind
// the same port and the same behaviour suite (search/searchtest).
//
// An engine may lag behind the database. Callers check each hit against the
// database before they show it.
package search

import (
	"context"
	"errors"
	"time"
)

// ErrNoIndex: the engine answers and holds no index of ours. A running worker
// makes it, at its start and every five minutes.
var ErrNoIndex = errors.New("there is no search index yet; a running server makes it within five minutes")

// Document is what an engine keeps of one note. ID is the note's row id.
type Document struct {
	ID        string    `json:"id"`
	Genre     string    `json:"genre"`
	Title     string    `json:"title"`
	Aliases   []string  `json:"aliases"`
	Tags      []string  `json:"tags"`
	Body      string    `json:"body"` // plain text: comments and markup are already gone
	Published bool      `json:"published"`
	UpdatedAt time.Time `json:"updated_at"`
	Version   int64     `json:"version"` // the note's version this was made from
}

// Query asks for documents. Words are all required.
type Query struct {
	Text string
	// PublishedOnly keeps documents that were published when indexed.
	PublishedOnly bool
	Offset, Limit int // Limit 1..100
}

// Hit is one document found. Title and Excerpt are plain text cut in pieces,
// so that nothing an engine returns is ever taken for markup.
type Hit struct {
	ID      string
	Title   []Piece
	Excerpt []Piece
	Score   float64
	Version int64 // of the document found: callers see by it whether the index lags
}

// Piece is a run of text that did or did not match.
type Piece struct {
	Text  string
	Match bool
}

// Results are hits, best first. Total is exact up to 1,000.
type Results struct {
	Hits  []Hit
	Total int
}

// Engine is a full-text engine. Every method that changes something returns
// only when the change is really done and can be found.
type Engine interface {
	Name() string
	Upsert(ctx context.Context, docs []Document) error
	Remove(ctx context.Context, ids []string) error
	Search(ctx context.Context, q Query) (Results, error)
	// Each calls fn with pages of (id, version) of everything the engine holds.
	Each(ctx context.Context, fn func(held []Held) error) error
	// Check proves that the engine can be used, and changes nothing. The error
	// says what to do; it is ErrNoIndex where Prepare was never called.
	Check(ctx context.Context) error
	// Prepare makes the index where it is missing and settles its settings.
	Prepare(ctx context.Context) error
}

// Held is a document an engine holds and the version it was made from.
type Held struct {
	ID      string
	Version int64
}
