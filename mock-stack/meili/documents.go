package meili

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"
)

// documentID is what the engine accepts as the value of a primary key.
var documentID = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,511}$`)

func (s *Server) replaceDocuments(r *http.Request) (int, any, error) { return s.addDocuments(r, false) }
func (s *Server) mergeDocuments(r *http.Request) (int, any, error)   { return s.addDocuments(r, true) }

func (s *Server) addDocuments(r *http.Request, merge bool) (int, any, error) {
	uid, key := r.PathValue("uid"), r.URL.Query().Get("primaryKey")
	if err := checkUID(uid); err != nil {
		return 0, nil, err
	}
	var raw json.RawMessage
	if err := readJSON(r, &raw); err != nil {
		return 0, nil, err
	}
	if !strings.HasPrefix(strings.TrimSpace(string(raw)), "[") {
		raw = json.RawMessage("[" + string(raw) + "]") // one bare object is one document
	}
	var incoming []map[string]any
	decoder := json.NewDecoder(strings.NewReader(string(raw)))
	decoder.UseNumber()
	if err := decoder.Decode(&incoming); err != nil {
		return 0, nil, badRequest("malformed_payload", "The `json` payload provided is malformed. `Couldn't serialize document value: "+err.Error()+"`.")
	}
	details := map[string]any{"receivedDocuments": len(incoming), "indexedDocuments": nil}
	return s.accept(uid, "documentAdditionOrUpdate", details, func(t *task) *apiError {
		ix := s.ensure(uid, t)
		details["indexedDocuments"] = 0
		if failure := ix.add(incoming, key, merge); failure != nil {
			return failure
		}
		details["indexedDocuments"] = len(incoming)
		ix.updatedAt = t.finishedAt
		return nil
	})
}

// add stores all documents or none.
func (ix *index) add(incoming []map[string]any, key string, merge bool) *apiError {
	if len(incoming) == 0 {
		return nil
	}
	key, failure := ix.chooseKey(incoming[0], key)
	if failure != nil {
		return failure
	}
	ids := make([]string, len(incoming))
	for i, document := range incoming {
		id, failure := idOf(document, key)
		if failure != nil {
			return failure
		}
		ids[i] = id
	}
	ix.primaryKey = key
	for i, document := range incoming {
		before, known := ix.documents[ids[i]]
		if !known {
			ix.order = append(ix.order, ids[i])
		}
		if known && merge {
			merged := maps.Clone(before)
			maps.Copy(merged, document)
			document = merged
		}
		ix.documents[ids[i]] = document
	}
	return nil
}

// chooseKey settles the primary key: the index's, else the stated one, else the one field of the first document whose
// name ends in "id". With two such fields the engine gives up, after it has answered 202.
func (ix *index) chooseKey(first map[string]any, stated string) (string, *apiError) {
	if ix.primaryKey != "" {
		if stated != "" && stated != ix.primaryKey {
			return "", primaryKeyFixed(ix)
		}
		return ix.primaryKey, nil
	}
	if stated != "" {
		return stated, nil
	}
	var candidates []string
	for _, field := range slices.Sorted(maps.Keys(first)) {
		if strings.HasSuffix(strings.ToLower(field), "id") {
			candidates = append(candidates, field)
		}
	}
	switch len(candidates) {
	case 0:
		return "", badRequest("index_primary_key_no_candidate_found", "The primary key inference failed as the engine did not find any field "+
			"ending with `id` in its name. Please specify the primary key manually using the `primaryKey` query parameter.")
	case 1:
		return candidates[0], nil
	}
	return "", badRequest("index_primary_key_multiple_candidates_found", fmt.Sprintf("The primary key inference failed as the engine found %d fields "+
		"ending with `id` in their names: '%s' and '%s'. Please specify the primary key manually using the `primaryKey` query parameter.",
		len(candidates), candidates[0], candidates[1]))
}

func primaryKeyFixed(ix *index) *apiError {
	return badRequest("index_primary_key_already_exists", fmt.Sprintf("Index `%s`: Index already has a primary key: `%s`.", ix.uid, ix.primaryKey))
}

func idOf(document map[string]any, key string) (string, *apiError) {
	value, ok := document[key]
	if !ok {
		raw, _ := json.Marshal(document) // decoded from JSON: it encodes
		return "", badRequest("missing_document_id", fmt.Sprintf("Document doesn't have a `%s` attribute: `%s`.", key, raw))
	}
	text, isText := value.(string)
	if number, ok := value.(json.Number); ok && !strings.ContainsAny(number.String(), ".eE") {
		text, isText = number.String(), true
	}
	if !isText || !documentID.MatchString(text) {
		raw, _ := json.Marshal(value)
		return "", badRequest("invalid_document_id", fmt.Sprintf("Document identifier `%s` is invalid. A document identifier can be of type integer or "+
			"string, only composed of alphanumeric characters (a-z A-Z 0-9), hyphens (-) and underscores (_), and can not be more than 511 bytes.", raw))
	}
	return text, nil
}

func (s *Server) clearDocuments(r *http.Request) (int, any, error) {
	return s.remove(r, map[string]any{"providedIds": 0}, func(*index, string) (bool, error) { return true, nil })
}

func (s *Server) deleteDocument(r *http.Request) (int, any, error) {
	wanted := r.PathValue("document")
	return s.remove(r, map[string]any{"providedIds": 1}, func(_ *index, id string) (bool, error) { return id == wanted, nil })
}

func (s *Server) deleteBatch(r *http.Request) (int, any, error) {
	var values []any
	if err := readJSON(r, &values); err != nil {
		return 0, nil, err
	}
	ids := map[string]bool{}
	for _, value := range values {
		ids[fmt.Sprint(value)] = true
	}
	return s.remove(r, map[string]any{"providedIds": len(values)}, func(_ *index, id string) (bool, error) { return ids[id], nil })
}

func (s *Server) deleteByFilter(r *http.Request) (int, any, error) {
	var wish struct {
		Filter any `json:"filter"`
	}
	if err := readJSON(r, &wish); err != nil {
		return 0, nil, err
	}
	if wish.Filter == nil {
		return 0, nil, badRequest("missing_document_filter", "Missing field `filter`")
	}
	keep, err := parseFilter(wish.Filter)
	if err != nil {
		return 0, nil, badRequest("invalid_document_filter", err.Error())
	}
	details := map[string]any{"providedIds": 0, "originalFilter": fmt.Sprintf("%q", wish.Filter)}
	return s.remove(r, details, func(ix *index, id string) (bool, error) {
		if err := ix.filterable(keep); err != nil {
			return false, badRequest("invalid_document_filter", err.Error())
		}
		return keep.matches(ix.documents[id]), nil
	})
}

// remove queues the deletion of the documents that match. Unlike an addition it does not make a missing index.
func (s *Server) remove(r *http.Request, details map[string]any, match func(*index, string) (bool, error)) (int, any, error) {
	uid := r.PathValue("uid")
	if err := checkUID(uid); err != nil {
		return 0, nil, err
	}
	details["deletedDocuments"] = nil
	return s.accept(uid, "documentDeletion", details, func(t *task) *apiError {
		ix, ok := s.store[uid]
		if !ok {
			return indexNotFound(uid)
		}
		kept := []string{}
		gone := []string{}
		for _, id := range ix.order {
			matched, err := match(ix, id)
			if err != nil {
				return badRequest("invalid_document_filter", err.Error())
			}
			if matched {
				gone = append(gone, id)
			} else {
				kept = append(kept, id)
			}
		}
		for _, id := range gone {
			delete(ix.documents, id)
		}
		ix.order, ix.updatedAt = kept, t.finishedAt
		details["deletedDocuments"] = len(gone)
		return nil
	})
}
