package mcp

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/gatehouse-hq/gatehouse/internal/infra/op"
)

const (
	// maxRest is how many things left out are named one by one.
	maxRest = 10
	// maxPlace bounds a place's cursor, in bytes.
	maxPlace = 600
)

// left is something that an answer holds in part.
type left struct {
	Of     string `json:"of" jsonschema:"where it stands in the answer, as a JSON pointer"`
	Shown  int    `json:"shown" jsonschema:"how much of it is there: bytes of a text, entries of a list"`
	Total  int    `json:"total" jsonschema:"how much there is"`
	Cursor string `json:"cursor" jsonschema:"give it to read_more for what follows"`
	seen   string
}

// place is where reading goes on: the call that made the answer, and where in it.
type place struct {
	Tool      string                     `json:"t"`
	Arguments map[string]json.RawMessage `json:"a"`
	Pointer   string                     `json:"p"`
	From      int                        `json:"f"`
	// Seen is a fingerprint of the text before From: of what is newest first
	// another may stand there meanwhile.
	Seen string `json:"s,omitempty"`
}

func fingerprint(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:8])
}

func (p place) String() string {
	raw, err := json.Marshal(p)
	if err != nil { // texts, numbers, and arguments that were read as JSON always marshal
		return ""
	}
	return base64.RawURLEncoding.EncodeToString(raw)
}

// rest lists what c lacks, the largest first. from is the call it came from.
func (c cut) rest(from place) []left {
	var out []left
	var compare func(whole, short any, at string)
	compare = func(whole, short any, at string) {
		switch whole := whole.(type) {
		case string:
			if shown := end(whole, c.most); shown < len(whole) {
				out = append(out, left{Of: at, Shown: shown, Total: len(whole), seen: fingerprint(whole[:shown])})
			}
		case []any:
			short, _ := short.([]any)
			if len(short) < len(whole) {
				out = append(out, left{Of: at, Shown: len(short), Total: len(whole)})
			}
			for i := range short {
				compare(whole[i], short[i], at+"/"+strconv.Itoa(i))
			}
		case map[string]any:
			short, _ := short.(map[string]any)
			for name := range whole {
				compare(whole[name], short[name], at+"/"+escaped(name))
			}
		}
	}
	compare(c.whole, c.short, from.Pointer)
	slices.SortFunc(out, func(a, b left) int {
		return cmp.Or(cmp.Compare(b.Total-b.Shown, a.Total-a.Shown), strings.Compare(a.Of, b.Of))
	})
	for i := range out {
		p := from
		p.Pointer, p.From, p.Seen = out[i].Of, out[i].Shown, out[i].seen
		out[i].Cursor = p.String()
	}
	return out
}

// escaped is a name within a JSON pointer (RFC 6901).
func escaped(name string) string {
	return strings.NewReplacer("~", "~0", "/", "~1").Replace(name)
}

// find is the value at a JSON pointer.
func find(v any, pointer string) (any, bool) {
	if pointer == "" {
		return v, true
	}
	for step := range strings.SplitSeq(strings.TrimPrefix(pointer, "/"), "/") {
		switch inner := v.(type) {
		case map[string]any:
			value, ok := inner[strings.NewReplacer("~1", "/", "~0", "~").Replace(step)]
			if !ok {
				return nil, false
			}
			v = value
		case []any:
			i, err := strconv.Atoi(step)
			if err != nil || i < 0 || i >= len(inner) {
				return nil, false
			}
			v = inner[i]
		default:
			return nil, false
		}
	}
	return v, true
}

// fit makes an answer small enough and says what is missing. What was read can
// be read on; what was done cannot be done again for the sake of its answer.
func (s *Server) fit(ctx context.Context, t tool, fields map[string]json.RawMessage, answer json.RawMessage) (json.RawMessage, error) {
	if len(answer) <= maxResult {
		return goesOn(answer)
	}
	var said []string
	if t.paged() {
		smaller, entries, err := s.smallerPage(ctx, t, fields, answer)
		if err != nil {
			return nil, err
		}
		if entries > 0 {
			answer = smaller
			said = append(said, fmt.Sprintf("Only %d entries fit; the cursor under next goes on after them.", entries))
		}
	}
	c, err := shorten(answer, maxResult-aside)
	if err != nil {
		return nil, err
	}
	v, ok := c.short.(map[string]any)
	if !ok {
		return nil, fmt.Errorf("the answer of %s is no object", t.op.Name)
	}
	all := c.rest(place{Tool: t.shown.Name, Arguments: fields})
	switch named := listable(all); {
	case t.op.Class == op.Read && len(named) > 0:
		v[restName] = named
		said = append(said, "What is listed under rest is here in part: call read_more with its cursor for what follows.")
		if len(named) < len(all) {
			said = append(said, fmt.Sprintf("%d more texts or lists were cut; read one thing alone to see it whole.", len(all)-len(named)))
		}
	case len(all) > 0:
		said = append(said, "Long texts or lists were cut; read the thing itself, alone, to see it whole.")
	}
	if len(said) > 0 {
		v[truncated] = strings.Join(said, " ")
	}
	return json.Marshal(v)
}

// listable are those that can be named and gone back to.
func listable(all []left) []left {
	var out []left
	for _, l := range all {
		if len(out) < maxRest && len(l.Cursor) <= maxPlace {
			out = append(out, l)
		}
	}
	return out
}

// goesOn says of what was asked for in part how to go on.
func goesOn(answer json.RawMessage) (json.RawMessage, error) {
	var part struct {
		Body    int `json:"body_next"`
		Attempt int `json:"attempts_next"`
	}
	if json.Unmarshal(answer, &part) != nil {
		return answer, nil // no object: nothing to say
	}
	said := ""
	switch {
	case part.Body > 0:
		said = fmt.Sprintf("The body goes on: call again with body_from %d for the next part.", part.Body)
	case part.Attempt > 0:
		said = fmt.Sprintf("There are older attempts: call again with attempts_before %d.", part.Attempt)
	default:
		return answer, nil
	}
	text, err := json.Marshal(said)
	if err != nil {
		return nil, err
	}
	return slices.Concat(answer[:len(answer)-1], []byte(`,"`+truncated+`":`), text, []byte("}")), nil
}

// smallerPage asks for as many entries as fit when their long texts are cut to
// a kilobyte, so that the cursor goes on right after them. entries is 0 when
// the page fits as it is.
func (s *Server) smallerPage(ctx context.Context, t tool, fields map[string]json.RawMessage, answer json.RawMessage) (page json.RawMessage, entries int, err error) {
	fields = maps.Clone(fields)
	for {
		v, err := read(answer)
		if err != nil {
			return nil, 0, err
		}
		out, err := json.Marshal(texts(v, 1<<10))
		if err != nil {
			return nil, 0, err
		}
		n := longest(v)
		if len(out) <= maxResult-aside || n <= 1 {
			return answer, entries, nil
		}
		entries = max(1, min(n-1, n*(maxResult-aside)*9/10/len(out)))
		fields["limit"] = json.RawMessage(strconv.Itoa(entries))
		if answer, err = s.do(ctx, t, fields); err != nil {
			return nil, 0, err
		}
	}
}

// longest is how many entries the longest list of an answer has.
func longest(v any) int {
	most := 0
	if object, ok := v.(map[string]any); ok {
		for _, inner := range object {
			if list, ok := inner.([]any); ok {
				most = max(most, len(list))
			}
		}
	}
	return most
}

type moreIn struct {
	Cursor string `json:"cursor" jsonschema:"a cursor that an answer gave under rest or next"`
}

type moreOut struct {
	Of      string            `json:"of" jsonschema:"what this is a part of: a JSON pointer into the answer that was cut"`
	From    int               `json:"from" jsonschema:"where this part begins: bytes of a text, entries of a list"`
	Total   int               `json:"total" jsonschema:"how much there is"`
	Text    string            `json:"text,omitempty" jsonschema:"the part, of a text"`
	Entries []json.RawMessage `json:"entries,omitempty" jsonschema:"the part, of a list"`
	Next    string            `json:"next,omitempty" jsonschema:"cursor of the following part; absent on the last one"`
	Rest    []left            `json:"rest,omitempty" jsonschema:"what of these entries is here in part"`
}

const readMoreName = "read.more"

// readMore is the tool that reads on where an answer was cut. It is no
// operation: the panel and the API answer whole.
func (s *Server) readMore() op.Op {
	return op.New(readMoreName, "Read on", "Reads on where an answer was cut, by a cursor that stands under its rest. It asks the same thing again and answers with the part that follows.",
		op.Read, func(ctx context.Context, in moreIn) (moreOut, error) {
			p, t, err := s.readPlace(in.Cursor)
			if err != nil {
				return moreOut{}, err
			}
			answer, err := s.do(ctx, t, p.Arguments)
			if err != nil {
				return moreOut{}, err
			}
			whole, err := read(answer)
			if err != nil {
				return moreOut{}, err
			}
			v, ok := find(whole, p.Pointer)
			if !ok {
				return moreOut{}, op.Errorf(op.Conflict, "What was cut is no longer there. Call %s again.", t.shown.Name)
			}
			return part(v, p)
		})
}

func (s *Server) readPlace(cursor string) (p place, t tool, err error) {
	bad := op.Invalidf("cursor", "This is no cursor that an answer gave under rest. Call the tool itself again.")
	raw, err := base64.RawURLEncoding.DecodeString(cursor)
	if err != nil || json.Unmarshal(raw, &p) != nil || p.From < 0 {
		return p, t, bad
	}
	i := slices.IndexFunc(s.tools, func(t tool) bool { return t.shown.Name == p.Tool })
	if i < 0 || s.tools[i].op.Class != op.Read || s.tools[i].op.Name == readMoreName {
		return p, t, bad
	}
	if p.Arguments == nil {
		p.Arguments = map[string]json.RawMessage{}
	}
	return p, s.tools[i], nil
}

// part is what follows at a place: as much as fits, at least something.
func part(v any, p place) (moreOut, error) {
	out := moreOut{Of: p.Pointer, From: p.From}
	shown := p.From
	switch v := v.(type) {
	case string:
		out.Total = len(v)
		if p.From > len(v) || fingerprint(v[:p.From]) != p.Seen {
			return out, op.Errorf(op.Conflict, "The text has changed since it was cut. Call %s again.", p.Tool)
		}
		out.Text = v[p.From:]
		for {
			encoded, err := json.Marshal(out.Text)
			if err != nil {
				return out, err
			}
			if len(encoded) <= maxPiece {
				break
			}
			out.Text = out.Text[:end(out.Text, len(out.Text)*maxPiece/len(encoded)-1)]
		}
		shown += len(out.Text)
		p.Seen = fingerprint(v[:shown])
	case []any:
		out.Total = len(v)
		size := 0
		for i := p.From; i < len(v); i++ {
			raw, err := json.Marshal(v[i])
			if err != nil {
				return out, err
			}
			if size += len(raw); size > maxPiece && len(out.Entries) > 0 {
				break
			}
			if len(raw) > maxPiece {
				c, err := shorten(raw, maxPiece)
				if err != nil {
					return out, err
				}
				in := p
				in.Pointer += "/" + strconv.Itoa(i)
				out.Rest = append(out.Rest, listable(c.rest(in))...)
				if raw, err = json.Marshal(c.short); err != nil {
					return out, err
				}
			}
			out.Entries = append(out.Entries, raw)
		}
		shown += len(out.Entries)
	default:
		return out, op.Errorf(op.Conflict, "What was cut is no longer there. Call %s again.", p.Tool)
	}
	if shown < out.Total {
		p.From = shown
		out.Next = p.String()
	}
	return out, nil
}
