package meili

import (
	"maps"
	"net/http"
	"strings"
)

// defaultSettings are those of a new index in 1.13.
func defaultSettings() map[string]any {
	return map[string]any{
		"displayedAttributes": []any{"*"}, "searchableAttributes": []any{"*"}, "filterableAttributes": []any{},
		"sortableAttributes": []any{}, "distinctAttribute": nil, "stopWords": []any{}, "synonyms": map[string]any{},
		"rankingRules":    []any{"words", "typo", "proximity", "attribute", "sort", "exactness"},
		"separatorTokens": []any{}, "nonSeparatorTokens": []any{}, "dictionary": []any{}, "localizedAttributes": nil,
		"proximityPrecision": "byWord", "searchCutoffMs": nil, "facetSearch": true, "prefixSearch": "indexingTime",
		"pagination": map[string]any{"maxTotalHits": 1000},
		"faceting":   map[string]any{"maxValuesPerFacet": 100, "sortFacetValuesBy": map[string]any{"*": "alpha"}},
		"embedders":  map[string]any{},
		"typoTolerance": map[string]any{
			"enabled": true, "minWordSizeForTypos": map[string]any{"oneTypo": 5, "twoTypos": 9},
			"disableOnWords": []any{}, "disableOnAttributes": []any{}, "disableOnNumbers": false,
		},
	}
}

func (s *Server) getSettings(r *http.Request) (int, any, error) {
	ix, err := s.named(r)
	if err != nil {
		return 0, nil, err
	}
	return http.StatusOK, ix.settings, nil
}

func (s *Server) patchSettings(r *http.Request) (int, any, error) {
	var wish map[string]any
	if err := readJSON(r, &wish); err != nil {
		return 0, nil, err
	}
	return s.changeSettings(r, wish)
}

func (s *Server) resetSettings(r *http.Request) (int, any, error) {
	return s.changeSettings(r, defaultSettings())
}

func (s *Server) getSetting(r *http.Request) (int, any, error) {
	ix, err := s.named(r)
	if err != nil {
		return 0, nil, err
	}
	return http.StatusOK, ix.settings[camel(r.PathValue("part"))], nil
}

func (s *Server) putSetting(r *http.Request) (int, any, error) {
	var wish any
	if err := readJSON(r, &wish); err != nil {
		return 0, nil, err
	}
	return s.changeSettings(r, map[string]any{camel(r.PathValue("part")): wish})
}

func (s *Server) deleteSetting(r *http.Request) (int, any, error) {
	name := camel(r.PathValue("part"))
	return s.changeSettings(r, map[string]any{name: defaultSettings()[name]})
}

// changeSettings queues a change. Unknown names are refused at once; null means the default; a map is merged.
func (s *Server) changeSettings(r *http.Request, wish map[string]any) (int, any, error) {
	uid, known := r.PathValue("uid"), defaultSettings()
	if err := checkUID(uid); err != nil {
		return 0, nil, err
	}
	for name := range wish {
		if _, ok := known[name]; !ok {
			return 0, nil, badRequest("bad_request", "Unknown field `"+name+"`")
		}
	}
	return s.accept(uid, "settingsUpdate", wish, func(t *task) *apiError {
		ix := s.ensure(uid, t)
		ix.settings, ix.updatedAt = maps.Clone(ix.settings), t.finishedAt
		for name, value := range wish {
			if value == nil {
				value = known[name]
			}
			if part, ok := value.(map[string]any); ok {
				merged := map[string]any{}
				if before, ok := ix.settings[name].(map[string]any); ok && name != "synonyms" {
					maps.Copy(merged, before)
				}
				maps.Copy(merged, part)
				value = merged
			}
			ix.settings[name] = value
		}
		return nil
	})
}

// ensure makes the index if a first write finds none, as the engine does.
func (s *Server) ensure(uid string, t *task) *index {
	ix, ok := s.store[uid]
	if !ok {
		ix = newIndex(uid, "", t.finishedAt)
		s.store[uid] = ix
	}
	return ix
}

// camel turns the path's spelling (filterable-attributes) into the body's.
func camel(kebab string) string {
	words := strings.Split(kebab, "-")
	for i, word := range words[1:] {
		if word != "" {
			words[i+1] = strings.ToUpper(word[:1]) + word[1:]
		}
	}
	return strings.Join(words, "")
}

// list returns a setting that is a list of names.
func (ix *index) list(name string) []string {
	values, _ := ix.settings[name].([]any)
	names := make([]string, 0, len(values))
	for _, value := range values {
		if text, ok := value.(string); ok {
			names = append(names, text)
		}
	}
	return names
}
