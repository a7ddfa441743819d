package meili

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// hitView is a hit as it is answered: the attributes asked for and, when something is to be marked or cut, _formatted.
func (ix *index) hitView(h hit, wish searchWish, terms []term) map[string]any {
	shown := pick(h.document, ix.list("displayedAttributes"))
	fields := wish.AttributesToRetrieve
	view := maps.Clone(pick(shown, fields))
	if wish.ShowRankingScore {
		view["_rankingScore"] = 1.0 / float64(1+h.typos+max(len(terms)-h.matched, 0))
	}
	if len(wish.AttributesToHighlight) == 0 && len(wish.AttributesToCrop) == 0 {
		return view
	}
	formatted := map[string]any{}
	for field, value := range shown {
		mark := names(wish.AttributesToHighlight, field)
		length, crop := cropLength(wish, field)
		_, asked := view[field]
		if mark || crop {
			formatted[field] = format(value, formatting{wish: wish, terms: terms, mark: mark, crop: crop, length: length, typos: ix.typosAllowed()})
		} else if asked {
			formatted[field] = value
		}
	}
	view["_formatted"] = formatted
	return view
}

func names(attributes []string, field string) bool {
	return slices.Contains(attributes, field) || slices.Contains(attributes, "*")
}

// cropLength reads "field" or "field:30"; the unit is words.
func cropLength(wish searchWish, field string) (int, bool) {
	length := 10
	if wish.CropLength != nil {
		length = *wish.CropLength
	}
	for _, attribute := range wish.AttributesToCrop {
		name, own, given := strings.Cut(attribute, ":")
		if name != field && name != "*" {
			continue
		}
		if n, err := strconv.Atoi(own); given && err == nil {
			length = n
		}
		return length, true
	}
	return 0, false
}

type formatting struct {
	wish       searchWish
	terms      []term
	mark, crop bool
	length     int
	typos      bool
}

// format turns values into text, as the engine does once an attribute is marked or cut: numbers become strings.
func format(value any, how formatting) any {
	switch value := value.(type) {
	case string:
		return how.text(value)
	case json.Number:
		return how.text(value.String())
	case []any:
		list := make([]any, len(value))
		for i, item := range value {
			list[i] = format(item, how)
		}
		return list
	case map[string]any:
		object := map[string]any{}
		for name, item := range value {
			object[name] = format(item, how)
		}
		return object
	}
	return value
}

func (how formatting) text(text string) string {
	in := words(text)
	var spans []span
	for _, t := range how.terms {
		found, _ := t.find(text, in, how.typos)
		spans = append(spans, found...)
	}
	slices.SortFunc(spans, func(a, b span) int { return a.start - b.start })
	from, to := 0, len(text)
	if how.crop && how.length > 0 {
		from, to = window(in, spans, how.length, len(text))
	}
	marker, pre, post := "…", "<em>", "</em>"
	for target, given := range map[*string]*string{&marker: how.wish.CropMarker, &pre: how.wish.HighlightPreTag, &post: how.wish.HighlightPostTag} {
		if given != nil {
			*target = *given
		}
	}
	var out strings.Builder
	if from > 0 {
		out.WriteString(marker)
	}
	at := from
	for _, s := range spans {
		if !how.mark || s.start < at || s.end > to {
			continue
		}
		out.WriteString(text[at:s.start] + pre + text[s.start:s.end] + post)
		at = s.end
	}
	out.WriteString(text[at:to])
	if to < len(text) {
		out.WriteString(marker)
	}
	return out.String()
}

// window picks the stretch of that many words around the first match.
func window(in []word, spans []span, length, end int) (from, to int) {
	if len(in) <= length {
		return 0, end
	}
	first := 0
	if len(spans) > 0 {
		for i, w := range in {
			if w.start <= spans[0].start {
				first = i
			}
		}
	}
	first = max(0, min(first-length/2, len(in)-length))
	last := first + length - 1
	from, to = in[first].start, in[last].end
	if first == 0 {
		from = 0
	}
	if last == len(in)-1 {
		to = end
	}
	return from, to
}
