package corpus

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/gatehouse-hq/gatehouse/internal/infra/op"
	"github.com/gatehouse-hq/gatehouse/internal/infra/search"
)

const (
	searchPage  = 20     // hits on a page when nothing is asked
	searchDepth = 10_000 // where paging ends
)

// SearchQuery asks for notes that hold every word of Text.
type SearchQuery struct {
	Text       string
	PublicOnly bool // for visitors
	Offset     int
	Limit      int // 1..100, default 20
}

// SearchHit is a note found.
type SearchHit struct {
	Note    Note // without body
	Title   []search.Piece
	Excerpt []search.Piece
	Address string
}

// SearchResults are hits, best first.
type SearchResults struct {
	Hits  []SearchHit
	Total int
}

// staleRounds is how often a search brings lagging hits up to date and asks again.
const staleRounds = 2

// Search asks the engine and believes the database: a hit is shown only if its
// note is live (and, for visitors, published) in the very version that was
// indexed, and if every note whose name its text holds is still public. A hit
// that lags is indexed on the spot and the question asked again, so that the
// index being late can never show what is private (field cases F30, F45).
func (d *Domain) Search(ctx context.Context, q SearchQuery) (SearchResults, error) {
	if q.Limit == 0 {
		q.Limit = searchPage
	}
	if q.Limit < 1 || q.Limit > 100 || q.Offset < 0 || q.Offset > searchDepth {
		return SearchResults{}, op.Invalidf("limit", "Choose 1 to 100, and an offset of 0 to 10000.")
	}
	ask := search.Query{Text: plain(q.Text), PublishedOnly: q.PublicOnly, Offset: q.Offset, Limit: q.Limit}
	for round := 0; ; round++ {
		res, err := d.engine.Search(ctx, ask)
		if err != nil {
			return SearchResults{}, op.Wrap(err, op.Unavailable, "Search is not available at the moment.")
		}
		out, stale, err := d.check(ctx, res, q.PublicOnly)
		if err != nil || len(stale) == 0 || round == staleRounds {
			return out, err
		}
		if d.Index(ctx, stale) != nil {
			return out, nil // what lags is left out, and its own job reports why
		}
	}
}

func (d *Domain) check(ctx context.Context, res search.Results, publicOnly bool) (out SearchResults, stale []string, err error) {
	ids := make([]string, len(res.Hits))
	for i, h := range res.Hits {
		ids[i] = h.ID
	}
	notes, err := d.store().notes(ctx, listColumns, `where n.id = any($1::uuid[]) and n.deleted_at is null and (n.published or not $2)`, ids, publicOnly)
	if err != nil {
		return out, nil, err
	}
	telling, err := d.store().telling(ctx, ids)
	if err != nil {
		return out, nil, err
	}
	byID := map[string]Note{}
	for _, n := range notes {
		byID[n.ID] = n
	}
	out = SearchResults{Hits: []SearchHit{}, Total: res.Total}
	for _, h := range res.Hits {
		n, ok := byID[h.ID]
		if !ok || n.Version != h.Version || slices.Contains(telling, h.ID) {
			stale = append(stale, h.ID)
			out.Total--
			continue
		}
		out.Hits = append(out.Hits, SearchHit{Note: n, Title: h.Title, Excerpt: h.Excerpt, Address: n.Address()})
	}
	out.Total = max(out.Total, len(out.Hits))
	return out, stale, nil
}

// tellingSQL: the published notes among ids whose indexed text holds the name of
// a note that is not public.
const tellingSQL = `
	select distinct m.note_id::text from public.note_mentions m
	join public.notes n on n.id = m.note_id and n.published
	join public.notes t on t.id = m.target_id
	where m.note_id = any($1::uuid[]) and m.target_id <> m.note_id and (t.deleted_at is not null or not t.published)`

func (s store) telling(ctx context.Context, ids []string) ([]string, error) {
	rows, err := s.q.Query(ctx, tellingSQL, ids)
	if err != nil {
		return nil, fmt.Errorf("read what hits tell: %w", err)
	}
	return collectStrings(rows)
}

// placeAt and readPlace are the cursor of a search: how many hits came before.
func placeAt(n int) string { return "h" + strconv.FormatInt(int64(n), 36) }

func readPlace(cursor string) (int, error) {
	n, err := strconv.ParseInt(strings.TrimPrefix(cursor, "h"), 36, 32)
	if err != nil || n < 1 || cursor != placeAt(int(n)) {
		return 0, op.Invalidf("cursor", "This is no cursor of this list. Start again without it.")
	}
	return int(n), nil
}
