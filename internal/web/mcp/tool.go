package mcp

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/gatehouse-hq/gatehouse/internal/infra/op"
)

// maxLimit is the most entries that one call may ask for.
const maxLimit = 100

// maxPiece is how much of one text or list is read at once, in bytes of JSON:
// as long as fits into a result with what stands beside it.
const maxPiece = maxResult * 3 / 4

// pieces are the arguments of what is read in pieces, and what they are when
// they are left out. Scripts and the panel get all of it.
var pieces = map[string]int{"body_limit": maxPiece, "attempts_limit": 10}

// planID is the argument that applies a plan.
const planID = "plan_id"

// tool is an operation as clients see it.
type tool struct {
	op    op.Op
	shown *sdk.Tool
}

func newTool(o op.Op) tool {
	description := o.Description
	if o.Planned() {
		description += " The first call changes nothing and answers with a plan; call again with the same arguments and its plan_id to do it."
	}
	destructive := o.Planned() || o.Class == op.Credential
	outside := o.Class == op.Egress
	return tool{op: o, shown: &sdk.Tool{
		Name:         toolName(o.Name),
		Title:        o.Title,
		Description:  description,
		InputSchema:  inputSchema(o),
		OutputSchema: outputSchema(o),
		Annotations: &sdk.ToolAnnotations{
			Title: o.Title, ReadOnlyHint: o.Class == op.Read, IdempotentHint: o.Idempotent || o.Class == op.Read,
			DestructiveHint: &destructive, OpenWorldHint: &outside,
		},
	}}
}

// toolName is an operation's name as clients take it: without a dot.
func toolName(operation string) string { return strings.ReplaceAll(operation, ".", "_") }

// speak lets what is said of a tool name others as tools: a model looks for
// corpus_search, not for corpus.search.
func (t tool) speak(names *strings.Replacer) {
	t.shown.Description = names.Replace(t.shown.Description)
	for _, s := range []*jsonschema.Schema{t.shown.InputSchema.(*jsonschema.Schema), t.shown.OutputSchema.(*jsonschema.Schema)} {
		for name, p := range s.Properties {
			if said := names.Replace(p.Description); said != p.Description {
				p = p.CloneSchemas()
				p.Description = said
				s.Properties[name] = p
			}
		}
	}
}

// namesOf turns every operation's name into its tool's.
func namesOf(ops *op.Set) *strings.Replacer {
	var pairs []string
	for _, o := range slices.Backward(ops.All()) { // by name: the longer of two that begin alike comes first
		pairs = append(pairs, o.Name, toolName(o.Name))
	}
	return strings.NewReplacer(pairs...)
}

func inputSchema(o op.Op) *jsonschema.Schema {
	in := o.In.CloneSchemas()
	in.Properties = maps.Clone(in.Properties)
	if limit, ok := in.Properties["limit"]; ok {
		bounded := *limit
		bounded.Minimum, bounded.Maximum = number(0), number(maxLimit)
		in.Properties["limit"] = &bounded
	}
	for name, piece := range pieces {
		if length, ok := in.Properties[name]; ok {
			bounded := *length
			if said, _, cut := strings.Cut(length.Description, "; left out: "); cut {
				bounded.Description = fmt.Sprintf("%s; left out: %d", said, piece)
			}
			in.Properties[name] = &bounded
		}
	}
	if o.Planned() {
		in.Properties[planID] = &jsonschema.Schema{Type: "string", Description: "left out: nothing is done, and a plan is answered; a plan's id: that plan is applied"}
	}
	return in
}

func number(n float64) *float64 { return &n }

// outputSchema is the operation's own, or, for what takes a plan, an object
// that holds either the plan or the operation's result.
func outputSchema(o op.Op) *jsonschema.Schema {
	out := o.Out.CloneSchemas()
	if o.Planned() {
		out = &jsonschema.Schema{Type: "object", Properties: map[string]*jsonschema.Schema{"plan": planSchema(), "result": out}}
	}
	out.Properties = maps.Clone(out.Properties)
	if out.Properties == nil {
		out.Properties = map[string]*jsonschema.Schema{}
	}
	out.Properties[truncated] = &jsonschema.Schema{Type: "string", Description: "present when the result was too large: what was left out, and how to get it"}
	if o.Class == op.Read && out.Properties[restName] == nil {
		out.Properties[restName] = restSchema
	}
	return out
}

// paged reports whether o is read by the page.
func (t tool) paged() bool {
	return t.op.Class == op.Read && t.op.In.Properties["limit"] != nil && t.op.In.Properties["cursor"] != nil && t.op.Out.Properties["next"] != nil
}

// restSchema is that of the list of what was left out.
var restSchema = op.New("rest", "", "", op.Read, func(context.Context, struct{}) (moreOut, error) { return moreOut{}, nil }).Out.Properties[restName]

func planSchema() *jsonschema.Schema {
	text := func(description string) *jsonschema.Schema {
		return &jsonschema.Schema{Type: "string", Description: description}
	}
	return &jsonschema.Schema{
		Type:     "object",
		Required: []string{planID, "summary", "count", "sample", "expires_at", "next"},
		Properties: map[string]*jsonschema.Schema{
			planID:       text("give it back to apply the plan"),
			"summary":    text("what would happen"),
			"count":      {Type: "integer", Description: "how many things would be touched"},
			"at_least":   {Type: "boolean", Description: "the count is a lower bound"},
			"sample":     {Type: "array", Items: text(""), Description: "some of them"},
			"expires_at": text("when the plan is forgotten"),
			"next":       text("how to apply it"),
		},
	}
}
