package meili

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
)

// searchWish is the part of a search request that the fake knows. Unknown fields are ignored, as the client sends many.
type searchWish struct {
	Q                     string   `json:"q"`
	Offset                int      `json:"offset"`
	Limit                 *int     `json:"limit"`
	Page                  *int     `json:"page"`
	HitsPerPage           *int     `json:"hitsPerPage"`
	Filter                any      `json:"filter"`
	Sort                  []string `json:"sort"`
	AttributesToRetrieve  []string `json:"attributesToRetrieve"`
	AttributesToSearchOn  []string `json:"attributesToSearchOn"`
	AttributesToHighlight []string `json:"attributesToHighlight"`
	AttributesToCrop      []string `json:"attributesToCrop"`
	CropLength            *int     `json:"cropLength"`
	CropMarker            *string  `json:"cropMarker"`
	HighlightPreTag       *string  `json:"highlightPreTag"`
	HighlightPostTag      *string  `json:"highlightPostTag"`
	MatchingStrategy      string   `json:"matchingStrategy"`
	ShowRankingScore      bool     `json:"showRankingScore"`
}

// hit is a document that matches, with what it is ranked by.
type hit struct {
	document map[string]any
	matched  int // words of the query found
	typos    int
	place    int  // best searchable attribute: title before body
	exact    int  // words that match as they stand
	whole    bool // an attribute is the query and nothing else
}

func (s *Server) search(r *http.Request) (int, any, error) {
	ix, err := s.named(r)
	if err != nil {
		return 0, nil, err
	}
	var wish searchWish
	if r.Method == http.MethodPost {
		if err := readJSON(r, &wish); err != nil {
			return 0, nil, err
		}
	} else {
		wish.Q = r.URL.Query().Get("q")
	}
	keep, err := ix.usableFilter(wish.Filter, "invalid_search_filter")
	if err != nil {
		return 0, nil, err
	}
	if err := ix.sortable(wish.Sort); err != nil {
		return 0, nil, err
	}
	terms := queryTerms(wish.Q)
	hits := ix.rank(wish, terms, keep)
	body := map[string]any{"query": wish.Q, "processingTimeMs": 0}
	shown := wish.cut(hits, ix.maxTotalHits(), body)
	views := make([]any, 0, len(shown))
	for _, h := range shown {
		views = append(views, ix.hitView(h, wish, terms))
	}
	body["hits"] = views
	return http.StatusOK, body, nil
}

// rank finds and orders. With the default strategy a document may lack the last words of the query, but ranks below
// those that have them.
func (ix *index) rank(wish searchWish, terms []term, keep *filter) []hit {
	fields := ix.searchOn(wish)
	var hits []hit
	for _, id := range ix.order {
		document := ix.documents[id]
		if !keep.matches(document) {
			continue
		}
		h, ok := score(document, fields, terms, wish.MatchingStrategy == "all", ix.typosAllowed())
		if ok {
			hits = append(hits, h)
		}
	}
	slices.SortStableFunc(hits, func(a, b hit) int {
		return cmp.Or(cmp.Compare(b.matched, a.matched), cmp.Compare(a.typos, b.typos), cmp.Compare(a.place, b.place),
			compareBy(wish.Sort, a.document, b.document), whole(b)-whole(a), cmp.Compare(b.exact, a.exact))
	})
	return hits
}

// searchOn lists the attributes to search, in their order of weight.
func (ix *index) searchOn(wish searchWish) func(map[string]any) []string {
	chosen := ix.list("searchableAttributes")
	if len(wish.AttributesToSearchOn) > 0 {
		chosen = wish.AttributesToSearchOn
	}
	return func(document map[string]any) []string {
		if !slices.Contains(chosen, "*") {
			return chosen
		}
		var all []string
		for field := range document {
			all = append(all, field)
		}
		slices.Sort(all) // the engine uses the order of first sight, which JSON maps have lost here
		return all
	}
}

func score(document map[string]any, fieldsOf func(map[string]any) []string, terms []term, all, typos bool) (hit, bool) {
	h := hit{document: document, place: 1 << 20}
	for _, t := range terms {
		found, fewest := false, 3
		for place, field := range fieldsOf(document) {
			text := plain(document[field])
			spans, n := t.find(text, words(text), typos)
			if len(spans) == 0 {
				continue
			}
			found, fewest, h.place = true, min(fewest, n), min(h.place, place)
			h.whole = h.whole || isWhole(document[field], terms)
			if !t.prefix || slices.ContainsFunc(spans, func(s span) bool { return fold(text[s.start:s.end]) == t.folded }) {
				h.exact++
			}
		}
		if !found {
			// "last" gives up words from the end only: a document without the first word is no hit.
			return h, h.matched > 0 && !all
		}
		h.matched++
		h.typos += fewest
	}
	return h, true
}

// whole is 1 for the first half of the engine's rule "exactness": an attribute that is the query itself.
func whole(h hit) int {
	if h.whole {
		return 1
	}
	return 0
}

func isWhole(value any, terms []term) bool {
	if list, ok := value.([]any); ok {
		return slices.ContainsFunc(list, func(item any) bool { return isWhole(item, terms) })
	}
	return slices.EqualFunc(words(plain(value)), terms, func(w word, t term) bool { return w.folded == t.folded })
}

// plain is the text of a value as it is searched: lists and objects give up their strings.
func plain(value any) string {
	switch value := value.(type) {
	case string:
		return value
	case json.Number:
		return value.String()
	case []any:
		parts := make([]string, len(value))
		for i, item := range value {
			parts[i] = plain(item)
		}
		return strings.Join(parts, "\n")
	}
	return ""
}

// cut takes the asked page and writes the numbers that go with it.
func (wish searchWish) cut(hits []hit, most int, body map[string]any) []hit {
	hits = hits[:min(len(hits), most)]
	if wish.Page != nil || wish.HitsPerPage != nil {
		number, size := 1, 20
		if wish.Page != nil {
			number = *wish.Page
		}
		if wish.HitsPerPage != nil {
			size = *wish.HitsPerPage
		}
		pages := 0
		if size > 0 {
			pages = (len(hits) + size - 1) / size
		}
		body["page"], body["hitsPerPage"], body["totalHits"], body["totalPages"] = number, size, len(hits), pages
		if number < 1 || size < 1 {
			return nil
		}
		return page(hits, (number-1)*size, size)
	}
	limit := 20
	if wish.Limit != nil {
		limit = max(*wish.Limit, 0)
	}
	body["offset"], body["limit"], body["estimatedTotalHits"] = wish.Offset, limit, len(hits)
	return page(hits, max(wish.Offset, 0), limit)
}

func (ix *index) maxTotalHits() int {
	pagination, _ := ix.settings["pagination"].(map[string]any)
	if n, err := json.Number(fmt.Sprint(pagination["maxTotalHits"])).Int64(); err == nil {
		return int(n)
	}
	return 1000
}

func (ix *index) typosAllowed() bool {
	tolerance, _ := ix.settings["typoTolerance"].(map[string]any)
	enabled, given := tolerance["enabled"].(bool)
	return enabled || !given
}

func (ix *index) sortable(rules []string) error {
	allowed := ix.list("sortableAttributes")
	for _, rule := range rules {
		attribute, order, ok := strings.Cut(rule, ":")
		if !ok || (order != "asc" && order != "desc") {
			return badRequest("invalid_search_sort", fmt.Sprintf("Invalid syntax for the sort parameter: expected expression ending by `:asc` or `:desc`, found `%s`.", rule))
		}
		if !slices.Contains(allowed, attribute) {
			return badRequest("invalid_search_sort", fmt.Sprintf("Index `%s`: Attribute `%s` is not sortable. Available sortable attributes are: `%s`.",
				ix.uid, attribute, strings.Join(allowed, "`, `")))
		}
	}
	return nil
}

func compareBy(rules []string, a, b map[string]any) int {
	for _, rule := range rules {
		attribute, order, _ := strings.Cut(rule, ":")
		way := compareValues(a[attribute], b[attribute])
		if order == "desc" {
			way = -way
		}
		if way != 0 {
			return way
		}
	}
	return 0
}

func compareValues(a, b any) int {
	left, isLeft := a.(json.Number)
	right, isRight := b.(json.Number)
	if isLeft && isRight {
		l, errL := left.Float64()
		r, errR := right.Float64()
		if errL == nil && errR == nil {
			return cmp.Compare(l, r)
		}
	}
	return cmp.Compare(plain(a), plain(b))
}
