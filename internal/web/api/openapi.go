package api

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"github.com/gatehouse-hq/gatehouse/internal/infra/op"
)

// DescriptionPath is where the OpenAPI document stands, for whoever may call
// anything at all.
const DescriptionPath = "/api/openapi.json"

// object is a piece of the document; keys come out sorted.
type object map[string]any

// describe answers with the OpenAPI document.
func (a *API) describe(w http.ResponseWriter, r *http.Request) {
	if _, _, err := a.caller(r); err != nil {
		a.fail(w, r, err)
		return
	}
	server := ""
	if a.edge.BaseURL != nil {
		server = strings.TrimSuffix(a.edge.BaseURL.String(), "/")
	}
	body, err := json.Marshal(Describe(a.ops, server))
	if err != nil {
		a.fail(w, r, fmt.Errorf("encode the description: %w", err))
		return
	}
	a.answer(w, r, body)
}

// Describe is the OpenAPI 3.1 document of the operations.
func Describe(ops *op.Set, server string) any {
	paths := object{}
	for _, o := range ops.All() {
		paths[Prefix+o.Name] = object{"post": describeOne(o)}
	}
	return object{
		"openapi": "3.1.0",
		"info": object{
			"title": "Gatehouse", "version": "1",
			"description": "Every operation of the panel. The input is the JSON body. Needs the owner's session, or a bearer token of the operation's class.",
		},
		"servers":  []object{{"url": server}},
		"security": []object{{"token": []string{}}},
		"paths":    paths,
		"components": object{
			"securitySchemes": object{"token": object{"type": "http", "scheme": "bearer"}},
			"schemas":         object{"Problem": problemSchema()},
			"responses": object{"Problem": object{
				"description": "What was wrong, as problem details (RFC 9457).",
				"content":     object{"application/problem+json": object{"schema": object{"$ref": "#/components/schemas/Problem"}}},
			}},
		},
	}
}

func describeOne(o op.Op) object {
	group, _, _ := strings.Cut(o.Name, ".")
	return object{
		"operationId": strings.ReplaceAll(o.Name, ".", "_"),
		"summary":     o.Title,
		"description": fmt.Sprintf("%s Needs class %s.", o.Description, o.Class),
		"tags":        []string{group},
		"x-class":     o.Class,
		"requestBody": object{"required": len(o.In.Required) > 0, "content": object{"application/json": object{"schema": o.In}}},
		"responses": object{
			"200":     object{"description": "It is done.", "content": object{"application/json": object{"schema": o.Out}}},
			"default": object{"$ref": "#/components/responses/Problem"},
		},
	}
}

func problemSchema() object {
	text := object{"type": "string"}
	return object{
		"type":     "object",
		"required": []string{"type", "title", "status", "detail", "code"},
		"properties": object{
			"type": text, "title": text, "detail": text, "code": text, "request_id": text,
			"status": object{"type": "integer"},
			"errors": object{"type": "array", "items": object{
				"type": "object", "required": []string{"field", "detail"}, "properties": object{"field": text, "detail": text},
			}},
		},
	}
}
