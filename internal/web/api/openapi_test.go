package api_test

import (
	"encoding/json"
	"net/http"
	"testing"

	"github.com/gatehouse-hq/gatehouse/internal/web/api"
	"github.com/gatehouse-hq/gatehouse/internal/web/webtest"
)

func TestOpenAPIDescribesEveryOperation(t *testing.T) {
	t.Parallel()
	h := house(t, readOnly)
	if w := h.Stranger(webtest.Get(api.DescriptionPath)); w.Code != http.StatusUnauthorized {
		t.Errorf("a stranger gets %d", w.Code)
	}
	w := h.Stranger(with(webtest.Get(api.DescriptionPath), "Authorization", "Bearer good"))
	if w.Code != http.StatusOK {
		t.Fatalf("a token gets %d %s", w.Code, w.Body)
	}
	type media struct {
		Content map[string]struct {
			Schema map[string]any `json:"schema"`
		} `json:"content"`
	}
	var doc struct {
		OpenAPI string `json:"openapi"`
		Servers []struct {
			URL string `json:"url"`
		} `json:"servers"`
		Paths map[string]map[string]struct {
			OperationID string           `json:"operationId"`
			Class       string           `json:"x-class"`
			RequestBody media            `json:"requestBody"`
			Responses   map[string]media `json:"responses"`
		} `json:"paths"`
	}
	if err := json.Unmarshal(w.Body.Bytes(), &doc); err != nil {
		t.Fatal(err)
	}
	if doc.OpenAPI != "3.1.0" || len(doc.Servers) != 1 || doc.Servers[0].URL != "http://site.example" {
		t.Errorf("head is %s %+v", doc.OpenAPI, doc.Servers)
	}
	all := ops(t).All()
	if len(doc.Paths) != len(all) {
		t.Errorf("%d paths for %d operations", len(doc.Paths), len(all))
	}
	for _, o := range all {
		post, ok := doc.Paths[api.Prefix+o.Name]["post"]
		if !ok || post.OperationID == "" || post.Class != string(o.Class) {
			t.Errorf("%s is not described: %+v", o.Name, post)
		}
		for what, m := range map[string]media{"input": post.RequestBody, "output": post.Responses["200"]} {
			if m.Content["application/json"].Schema["type"] != "object" {
				t.Errorf("the %s of %s is %v", what, o.Name, m)
			}
		}
	}
}
