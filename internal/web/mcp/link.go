package mcp

import (
	"encoding/json"
	"regexp"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// pages is where the panel shows what a tool is about: {name} stands for an id
// in the arguments or the answer. The first page whose ids are all there is
// taken. Keys are an operation or, less exactly, its group.
var pages = map[string][]string{
	"tasks":                {"/admin/tasks/{id}", "/admin/tasks"},
	"tasks.overview":       {"/admin/"},
	"tasks.health":         {"/admin/"},
	"tasks.periodic":       {"/admin/periodic"},
	"tasks.run_periodic":   {"/admin/periodic"},
	"tasks.pause_periodic": {"/admin/periodic"},
	"events":               {"/admin/events/{id}", "/admin/events"},
	"events.types":         {"/admin/events"},
	"webhooks":             {"/admin/webhooks/{endpoint_id}/deliveries/{event_id}", "/admin/webhooks/{endpoint_id}", "/admin/webhooks/{endpoint.id}", "/admin/webhooks/{id}", "/admin/webhooks"},
	"webhooks.delete":      {"/admin/webhooks"},
	"corpus":               {"/admin/notes/{note_id}", "/admin/notes/{id}", "/admin/notes"},
	"corpus.delete":        {"/admin/notes/trash"},
	"corpus.restore":       {"/admin/notes"},
	"corpus.import":        {"/admin/notes/import/{import.id}", "/admin/notes/import"},
	"corpus.reindex":       {"/admin/tasks/{job_id}", "/admin/tasks"},
	"tokens":               {"/admin/settings/tokens"},
}

var (
	placeholder = regexp.MustCompile(`\{[a-z_.]+\}`)
	// plainID is an id that can stand in an address.
	plainID = regexp.MustCompile(`^"?([0-9a-f-]{1,36})"?$`)
)

// link leads a person to the page of the panel.
func (s *Server) link(t tool, fields map[string]json.RawMessage, answer json.RawMessage) sdk.Content {
	group, _, _ := strings.Cut(t.op.Name, ".")
	candidates, ok := pages[t.op.Name]
	if !ok {
		candidates = pages[group]
	}
	path := "/admin/"
	for _, candidate := range candidates {
		if filled, whole := fill(candidate, fields, answer); whole {
			path = filled
			break
		}
	}
	return &sdk.ResourceLink{URI: s.address(path), Name: path, Title: "In the panel", MIMEType: "text/html"}
}

func fill(page string, fields map[string]json.RawMessage, answer json.RawMessage) (path string, whole bool) {
	whole = true
	path = placeholder.ReplaceAllStringFunc(page, func(hole string) string {
		name := strings.Trim(hole, "{}")
		for _, raw := range []json.RawMessage{fields[name], at(answer, name), at(answer, "result."+name)} {
			if id := plainID.FindSubmatch(raw); id != nil {
				return string(id[1])
			}
		}
		whole = false
		return hole
	})
	return path, whole
}

// at is the value at a path of names, nil when there is none.
func at(answer json.RawMessage, path string) json.RawMessage {
	for name := range strings.SplitSeq(path, ".") {
		var object map[string]json.RawMessage
		if json.Unmarshal(answer, &object) != nil {
			return nil
		}
		answer = object[name]
	}
	return answer
}
