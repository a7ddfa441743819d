package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"
	"strconv"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/gatehouse-hq/gatehouse/internal/infra/op"
	"github.com/gatehouse-hq/gatehouse/internal/infra/pg"
)

// call runs a tool. Whatever goes wrong is a tool error with words that a
// model can act on, never a protocol error (field case F53).
func (s *Server) call(ctx context.Context, t tool, arguments json.RawMessage) (result *sdk.CallToolResult) {
	defer func() {
		if cause := recover(); cause != nil { // the SDK calls us in a goroutine of its own: it would end the program
			s.Log.ErrorContext(ctx, "tool panicked", "request_id", s.RequestID(ctx), "tool", t.shown.Name, "panic", cause, "stack", string(debug.Stack()))
			result = s.ours(ctx)
		}
	}()
	fields, err := check(t, arguments)
	if err != nil {
		return s.explain(ctx, t, err)
	}
	answer, err := s.run(ctx, t, fields)
	if err != nil {
		return s.explain(ctx, t, err)
	}
	answer, err = s.fit(ctx, t, fields, answer)
	if err != nil {
		return s.explain(ctx, t, err)
	}
	return &sdk.CallToolResult{StructuredContent: answer, Content: []sdk.Content{delimited(answer), s.link(t, fields, answer)}}
}

// check refuses what no operation has to see.
func check(t tool, arguments json.RawMessage) (map[string]json.RawMessage, error) {
	if bytes.Equal(bytes.TrimSpace(arguments), []byte("null")) { // some clients send it for none
		arguments = nil
	}
	fields, err := op.Fields(arguments)
	if err != nil {
		return nil, err
	}
	if _, applies := fields[planID]; !applies || !t.op.Planned() {
		for _, name := range t.op.In.Required {
			if _, given := fields[name]; !given {
				return nil, op.Invalidf(name, "is missing; it is required")
			}
		}
	}
	for name, piece := range pieces {
		if t.op.In.Properties[name] != nil && fields[name] == nil {
			fields[name] = json.RawMessage(strconv.Itoa(piece))
		}
	}
	var limit float64
	if json.Unmarshal(fields["limit"], &limit) == nil && limit > maxLimit {
		return nil, op.Invalidf("limit", "At most %d. Page on with the cursor.", maxLimit)
	}
	return fields, nil
}

// run does what was asked, or, of what takes a plan, makes or applies one.
func (s *Server) run(ctx context.Context, t tool, fields map[string]json.RawMessage) (json.RawMessage, error) {
	if !t.op.Planned() {
		return s.do(ctx, t, fields)
	}
	id, applies := fields[planID]
	delete(fields, planID)
	asked, err := json.Marshal(fields)
	if err != nil {
		return nil, fmt.Errorf("encode the arguments: %w", err)
	}
	if !applies {
		return s.plan(ctx, t, asked)
	}
	var name string
	if json.Unmarshal(id, &name) != nil {
		return nil, op.Invalidf(planID, "must be the text that the plan gave")
	}
	if len(fields) == 0 {
		asked = nil // the id alone will do
	}
	out, err := s.Plans.Apply(ctx, t.op.Name, name, asked)
	if err != nil {
		return nil, err
	}
	result, err := t.op.Encode(out)
	if err != nil {
		return nil, err
	}
	return json.Marshal(map[string]json.RawMessage{"result": result})
}

func (s *Server) do(ctx context.Context, t tool, fields map[string]json.RawMessage) (json.RawMessage, error) {
	in, err := json.Marshal(fields)
	if err != nil {
		return nil, fmt.Errorf("encode the arguments: %w", err)
	}
	out, err := t.op.Run(ctx, in)
	if err != nil {
		return nil, err
	}
	return t.op.Encode(out)
}

// shownPlan is a plan as the caller sees it.
type shownPlan struct {
	op.Plan
	Next string `json:"next"`
}

func (s *Server) plan(ctx context.Context, t tool, asked json.RawMessage) (json.RawMessage, error) {
	made, err := s.Plans.Make(ctx, t.op.Name, asked)
	if err != nil {
		return nil, err
	}
	return json.Marshal(map[string]shownPlan{"plan": {made,
		"Nothing has been done. To do it, call " + t.shown.Name + " again with the same arguments and this plan_id."}})
}

// explain makes a tool error of err. Faults of ours are logged here, and their
// text never leaves.
func (s *Server) explain(ctx context.Context, t tool, err error) *sdk.CallToolResult {
	if said := sentences(err); len(said) > 0 {
		next := s.fix(op.CodeOf(err), t)
		if errors.Is(err, op.ErrNoPlan) || errors.Is(err, op.ErrOtherPlan) {
			next = []string{"Call " + t.shown.Name + " without plan_id to get a new plan."}
		}
		return failed(strings.Join(append(said, next...), "\n"))
	}
	switch {
	case errors.Is(err, context.Canceled):
		return failed("The call was cancelled. Look whether it had an effect before you repeat it.")
	case errors.Is(err, pg.ErrUnsure):
		return failed("The connection to the database broke at the moment of saving. Look whether the call had an effect before you repeat it.")
	case pg.Unavailable(err) || pg.DiskFull(err):
		return failed("The database did not answer, or has no room. Try again in a moment.")
	}
	s.Log.ErrorContext(ctx, "tool failed", "request_id", s.RequestID(ctx), "tool", t.shown.Name, "error", err)
	return s.ours(ctx)
}

func (s *Server) ours(ctx context.Context) *sdk.CallToolResult {
	return failed("The fault is on the server's side and has been logged as request " + s.RequestID(ctx) + ". Try once more; if it stays, tell the owner.")
}

// sentences are the words for a person in err, one for each field at fault.
func sentences(err error) []string {
	var many interface{ Unwrap() []error }
	if errors.As(err, &many) {
		var out []string
		for _, one := range many.Unwrap() {
			out = append(out, sentences(one)...)
		}
		return out
	}
	var e *op.Error
	if errors.As(err, &e) {
		return []string{e.Error()}
	}
	return nil
}

// fix says what to do about it.
func (s *Server) fix(code op.Code, t tool) []string {
	switch code {
	case op.Invalid, op.TooLarge:
		return []string{"Correct the argument and call " + t.shown.Name + " again; its schema says what is allowed."}
	case op.NotFound:
		if list := s.lister(t); list != "" {
			return []string{"Call " + list + " to see what there is."}
		}
	case op.Conflict:
		return []string{"Read it again and decide from what it is now."}
	case op.TooMany, op.Unavailable:
		return []string{"Wait a moment and try again."}
	}
	return nil
}

// lister is the tool that lists what t acts on, "" when there is none.
func (s *Server) lister(t tool) string {
	group, verb, _ := strings.Cut(t.op.Name, ".")
	name := group + ".list"
	switch {
	case strings.HasSuffix(verb, "_periodic"):
		name = group + ".periodic"
	case verb == "restore": // the trash is listed in the panel alone
		return ""
	}
	if _, there := s.Ops.Get(name); !there {
		return ""
	}
	return toolName(name)
}

func failed(text string) *sdk.CallToolResult {
	return &sdk.CallToolResult{IsError: true, Content: []sdk.Content{&sdk.TextContent{Text: text}}}
}
