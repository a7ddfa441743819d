package meili

import (
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"time"
)

// indexUID is what the engine accepts as the name of an index.
var indexUID = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,400}$`)

type index struct {
	uid        string
	primaryKey string // empty while unknown
	createdAt  time.Time
	updatedAt  time.Time
	order      []string // ids in the order of their first arrival
	documents  map[string]map[string]any
	settings   map[string]any
}

func newIndex(uid, primaryKey string, now time.Time) *index {
	return &index{
		uid: uid, primaryKey: primaryKey, createdAt: now, updatedAt: now,
		documents: map[string]map[string]any{}, settings: defaultSettings(),
	}
}

// clone copies deep enough that later tasks leave the copy alone: they replace documents and settings, never edit them.
func (ix *index) clone() *index {
	c := *ix
	c.order, c.documents, c.settings = slices.Clone(ix.order), maps.Clone(ix.documents), maps.Clone(ix.settings)
	return &c
}

func (st store) clone() store {
	c := make(store, len(st))
	for uid, ix := range st {
		c[uid] = ix.clone()
	}
	return c
}

func (ix *index) view() map[string]any {
	view := map[string]any{"uid": ix.uid, "createdAt": ix.createdAt, "updatedAt": ix.updatedAt, "primaryKey": nil}
	if ix.primaryKey != "" {
		view["primaryKey"] = ix.primaryKey
	}
	return view
}

// named finds the index of the request's path.
func (s *Server) named(r *http.Request) (*index, error) {
	uid := r.PathValue("uid")
	if err := checkUID(uid); err != nil {
		return nil, err
	}
	ix, ok := s.store[uid]
	if !ok {
		return nil, indexNotFound(uid)
	}
	return ix, nil
}

func checkUID(uid string) error {
	if indexUID.MatchString(uid) {
		return nil
	}
	return badRequest("invalid_index_uid", fmt.Sprintf("`%s` is not a valid index uid. Index uid can be an integer or a string "+
		"containing only alphanumeric characters, hyphens (-) and underscores (_), and can not be more than 400 bytes.", uid))
}

func (s *Server) listIndexes(r *http.Request) (int, any, error) {
	offset, err := queryInt(r, "offset", 0)
	if err != nil {
		return 0, nil, err
	}
	limit, err := queryInt(r, "limit", 20)
	if err != nil {
		return 0, nil, err
	}
	uids := slices.Sorted(maps.Keys(s.store))
	results := []any{}
	for _, uid := range page(uids, offset, limit) {
		results = append(results, s.store[uid].view())
	}
	return http.StatusOK, map[string]any{"results": results, "offset": offset, "limit": limit, "total": len(uids)}, nil
}

func (s *Server) createIndex(r *http.Request) (int, any, error) {
	var wish struct {
		UID        string  `json:"uid"`
		PrimaryKey *string `json:"primaryKey"`
	}
	if err := readJSON(r, &wish); err != nil {
		return 0, nil, err
	}
	if wish.UID == "" {
		return 0, nil, badRequest("missing_index_uid", "Missing field `uid`")
	}
	if err := checkUID(wish.UID); err != nil {
		return 0, nil, err
	}
	return s.accept(wish.UID, "indexCreation", map[string]any{"primaryKey": wish.PrimaryKey}, func(t *task) *apiError {
		if _, ok := s.store[wish.UID]; ok {
			return &apiError{http.StatusConflict, "index_already_exists", "invalid_request", fmt.Sprintf("Index `%s` already exists.", wish.UID)}
		}
		key := ""
		if wish.PrimaryKey != nil {
			key = *wish.PrimaryKey
		}
		s.store[wish.UID] = newIndex(wish.UID, key, t.finishedAt)
		return nil
	})
}

func (s *Server) getIndex(r *http.Request) (int, any, error) {
	ix, err := s.named(r)
	if err != nil {
		return 0, nil, err
	}
	return http.StatusOK, ix.view(), nil
}

func (s *Server) updateIndex(r *http.Request) (int, any, error) {
	uid := r.PathValue("uid")
	var wish struct {
		PrimaryKey string `json:"primaryKey"`
	}
	if err := readJSON(r, &wish); err != nil {
		return 0, nil, err
	}
	return s.accept(uid, "indexUpdate", map[string]any{"primaryKey": wish.PrimaryKey}, func(t *task) *apiError {
		ix, ok := s.store[uid]
		if !ok {
			return indexNotFound(uid)
		}
		if len(ix.documents) > 0 && ix.primaryKey != wish.PrimaryKey {
			return primaryKeyFixed(ix)
		}
		ix.primaryKey, ix.updatedAt = wish.PrimaryKey, t.finishedAt
		return nil
	})
}

func (s *Server) deleteIndex(r *http.Request) (int, any, error) {
	uid := r.PathValue("uid")
	details := map[string]any{"deletedDocuments": 0}
	return s.accept(uid, "indexDeletion", details, func(*task) *apiError {
		ix, ok := s.store[uid]
		if !ok {
			return indexNotFound(uid)
		}
		details["deletedDocuments"] = len(ix.documents)
		delete(s.store, uid)
		return nil
	})
}

func (s *Server) getIndexStats(r *http.Request) (int, any, error) {
	ix, err := s.named(r)
	if err != nil {
		return 0, nil, err
	}
	return http.StatusOK, s.stats(ix), nil
}

func (s *Server) getStats(*http.Request) (int, any, error) {
	all, last := map[string]any{}, time.Time{}
	for uid, ix := range s.store {
		all[uid] = s.stats(ix)
		if ix.updatedAt.After(last) {
			last = ix.updatedAt
		}
	}
	return http.StatusOK, map[string]any{"databaseSize": 4096, "usedDatabaseSize": 4096, "lastUpdate": last, "indexes": all}, nil
}

func (s *Server) stats(ix *index) map[string]any {
	fields := map[string]int{}
	for _, document := range ix.documents {
		for field := range document {
			fields[field]++
		}
	}
	busy := slices.ContainsFunc(s.tasks, func(t *task) bool { return t.indexUID == ix.uid && t.status == "processing" })
	return map[string]any{
		"numberOfDocuments": len(ix.documents), "isIndexing": busy, "fieldDistribution": fields,
		"rawDocumentDbSize": 4096, "avgDocumentSize": 0, "numberOfEmbeddings": 0, "numberOfEmbeddedDocuments": 0,
	}
}

func page[T any](all []T, offset, limit int) []T {
	offset = min(offset, len(all))
	return all[offset:min(offset+limit, len(all))]
}
