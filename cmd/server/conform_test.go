package main

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/gatehouse-hq/gatehouse/internal/web/api"
)

// described are the schemas of the OpenAPI document, read as any client reads them: from the document itself.
type described struct {
	problem *jsonschema.Resolved
	answers map[string]*jsonschema.Resolved
}

func describedBy(s served) (*described, error) {
	raw, err := json.Marshal(api.Describe(s.ops, "http://127.0.0.1:8080"))
	if err != nil {
		return nil, err
	}
	type body struct {
		Content map[string]struct {
			Schema *jsonschema.Schema `json:"schema"`
		} `json:"content"`
	}
	var doc struct {
		Paths map[string]struct {
			Post struct {
				Responses map[string]body `json:"responses"`
			} `json:"post"`
		} `json:"paths"`
		Components struct {
			Schemas map[string]*jsonschema.Schema `json:"schemas"`
		} `json:"components"`
	}
	if err := json.Unmarshal(raw, &doc); err != nil {
		return nil, err
	}
	d := &described{answers: map[string]*jsonschema.Resolved{}}
	if d.problem, err = doc.Components.Schemas["Problem"].Resolve(nil); err != nil {
		return nil, err
	}
	for path, item := range doc.Paths {
		if d.answers[path], err = item.Post.Responses["200"].Content["application/json"].Schema.Resolve(nil); err != nil {
			return nil, err
		}
	}
	return d, nil
}

// conforms holds every answer of the API that any test here gets against the description.
func (s served) conforms(t *testing.T, path string, answer *http.Response, body []byte) {
	t.Helper()
	if !strings.HasPrefix(path, api.Prefix) {
		return
	}
	d, err := s.description()
	if err != nil {
		t.Fatal(err)
	}
	schema, kind := d.answers[path], "application/json"
	if answer.StatusCode != http.StatusOK {
		schema, kind = d.problem, "application/problem+json"
	}
	if schema == nil {
		t.Errorf("%s is not described", path)
		return
	}
	var value any
	if err := json.Unmarshal(body, &value); err != nil {
		t.Errorf("%s: %d %v", path, answer.StatusCode, err)
		return
	}
	if err := schema.Validate(value); err != nil || answer.Header.Get("Content-Type") != kind {
		t.Errorf("%s: %d %s breaks its description: %v\n%.500s", path, answer.StatusCode, answer.Header.Get("Content-Type"), err, body)
	}
	if problem, _ := value.(map[string]any); kind == "application/problem+json" && problem["status"] != float64(answer.StatusCode) {
		t.Errorf("%s: %d says %v", path, answer.StatusCode, problem["status"])
	}
}
