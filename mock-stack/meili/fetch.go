package meili

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
)

func (s *Server) getDocument(r *http.Request) (int, any, error) {
	ix, err := s.named(r)
	if err != nil {
		return 0, nil, err
	}
	id := r.PathValue("document")
	document, ok := ix.documents[id]
	if !ok {
		return 0, nil, &apiError{http.StatusNotFound, "document_not_found", "invalid_request", fmt.Sprintf("Document `%s` not found.", id)}
	}
	return http.StatusOK, pick(document, splitList(r.URL.Query().Get("fields"))), nil
}

// fetchDocuments pages through an index, in the order of arrival; by query or by body.
func (s *Server) fetchDocuments(r *http.Request) (int, any, error) {
	ix, err := s.named(r)
	if err != nil {
		return 0, nil, err
	}
	wish := struct {
		Offset int      `json:"offset"`
		Limit  *int     `json:"limit"`
		Fields []string `json:"fields"`
		Filter any      `json:"filter"`
		IDs    []any    `json:"ids"`
	}{}
	if r.Method == http.MethodPost {
		if err := readJSON(r, &wish); err != nil {
			return 0, nil, err
		}
	} else {
		limit, err := queryInt(r, "limit", 20)
		if err != nil {
			return 0, nil, err
		}
		if wish.Offset, err = queryInt(r, "offset", 0); err != nil {
			return 0, nil, err
		}
		wish.Limit, wish.Fields = &limit, splitList(r.URL.Query().Get("fields"))
		if filter := r.URL.Query().Get("filter"); filter != "" {
			wish.Filter = filter
		}
	}
	limit := 20
	if wish.Limit != nil {
		limit = *wish.Limit
	}
	if limit < 0 || wish.Offset < 0 {
		return 0, nil, badRequest("invalid_document_limit", "Invalid value at `.limit`: expected a positive integer")
	}
	keep, err := ix.usableFilter(wish.Filter, "invalid_document_filter")
	if err != nil {
		return 0, nil, err
	}
	var ids []string
	for _, id := range ix.order {
		asked := len(wish.IDs) == 0 || slices.ContainsFunc(wish.IDs, func(v any) bool { return fmt.Sprint(v) == id })
		if asked && keep.matches(ix.documents[id]) {
			ids = append(ids, id)
		}
	}
	results := []any{}
	for _, id := range page(ids, wish.Offset, limit) {
		results = append(results, pick(ix.documents[id], wish.Fields))
	}
	return http.StatusOK, map[string]any{"results": results, "offset": wish.Offset, "limit": limit, "total": len(ids)}, nil
}

// pick keeps the named fields; no names or "*" keep all.
func pick(document map[string]any, fields []string) map[string]any {
	if len(fields) == 0 || slices.Contains(fields, "*") {
		return document
	}
	picked := map[string]any{}
	for _, field := range fields {
		if value, ok := document[field]; ok {
			picked[field] = value
		}
	}
	return picked
}

func splitList(text string) []string {
	if text == "" {
		return nil
	}
	return strings.Split(text, ",")
}
