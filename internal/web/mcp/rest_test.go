package mcp_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// longText needs more than one byte for most of its characters, and more still as JSON.
var longText = strings.Repeat("<b>Größe</b> 花园\n", 9000)

type oneOut struct {
	Args json.RawMessage `json:"args"`
	Logs []logLine       `json:"logs"`
}

type logLine struct {
	Number int    `json:"number"`
	Text   string `json:"text"`
}

func (h *house) get(context.Context, struct{}) (oneOut, error) {
	text := longText
	if other := h.text.Load(); other != nil {
		text = *other
	}
	args, err := json.Marshal(map[string]any{"a/b~c": text, "n": json.Number("12345678901234567890.10")})
	out := oneOut{Args: args}
	for n := range 400 {
		out.Logs = append(out.Logs, logLine{n, strings.Repeat("x", 500)})
	}
	out.Logs[300].Text = longText
	return out, err
}

type pageIn struct {
	Cursor string `json:"cursor,omitempty"`
	Limit  int    `json:"limit,omitempty"`
}

type pageOut struct {
	Lines []logLine `json:"lines"`
	Next  string    `json:"next,omitempty"`
}

// pageOf has 300 entries, of about 2 KiB the most; number 7 is longer than an answer may be.
func pageOf(_ context.Context, in pageIn) (pageOut, error) {
	var out pageOut
	first, _ := strconv.Atoi(in.Cursor)
	if in.Limit == 0 {
		in.Limit = 50
	}
	for n := first; n < min(first+in.Limit, 300); n++ {
		size := 2000
		if n == 7 {
			size = 100_000
		}
		out.Lines = append(out.Lines, logLine{n, strings.Repeat("x", size)})
	}
	if first+in.Limit < 300 {
		out.Next = strconv.Itoa(first + in.Limit)
	}
	return out, nil
}

// into reads a result into a Go value, numbers as they were written.
func into[T any](t *testing.T, result map[string]any) (out T) {
	t.Helper()
	raw, err := json.Marshal(result)
	if err == nil {
		err = json.Unmarshal(raw, &out)
	}
	if err != nil || len(raw) > 64<<10 {
		t.Fatalf("%d bytes, %v", len(raw), err)
	}
	return out
}

type restOf struct {
	Of     string `json:"of"`
	Shown  int    `json:"shown"`
	Total  int    `json:"total"`
	Cursor string `json:"cursor"`
}

type partOf struct {
	From, Total int
	Text        string
	Entries     []logLine
	Next        string
	Rest        []restOf
}

// readOn follows a cursor to the end.
func readOn(t *testing.T, s *sdk.ClientSession, cursor string) (text string, entries []logLine, rest []restOf) {
	t.Helper()
	for calls := 0; cursor != ""; calls++ {
		result, said, isError := call(t, s, "read_more", map[string]any{"cursor": cursor})
		if isError || calls > 100 {
			t.Fatal(said)
		}
		p := into[partOf](t, result)
		text += p.Text
		entries = append(entries, p.Entries...)
		rest = append(rest, p.Rest...)
		cursor = p.Next
	}
	return text, entries, rest
}

// Whatever an answer leaves out can be read: texts within any JSON, entries of lists, and long texts within those.
func TestWhatWasLeftOutCanBeRead(t *testing.T) {
	t.Parallel()
	s := open(t).client(t, "reader")
	result, said, isError := call(t, s, "thing_get", nil)
	answer := into[struct {
		Logs      []logLine
		Rest      []restOf
		Truncated string
	}](t, result)
	if isError || !strings.Contains(answer.Truncated, "read_more") {
		t.Fatal(said)
	}
	found := map[string]restOf{}
	for _, r := range answer.Rest {
		found[r.Of] = r
	}
	args, logs := found["/args/a~1b~0c"], found["/logs"]
	if args.Total != len(longText) || args.Shown == 0 || logs.Total != 400 || logs.Shown != len(answer.Logs) {
		t.Fatalf("%+v", answer.Rest)
	}
	shown := result["args"].(map[string]any)["a/b~c"].(string)
	more, _, _ := readOn(t, s, args.Cursor)
	if shown[:args.Shown]+more != longText {
		t.Errorf("%d bytes and %d bytes are not the text of %d", args.Shown, len(more), len(longText))
	}
	_, entries, rest := readOn(t, s, logs.Cursor)
	for i, e := range append(answer.Logs, entries...) {
		if e.Number != i || (i != 300 && len(e.Text) != 500 && !strings.Contains(e.Text, "truncated")) {
			t.Fatalf("entry %d is %d, %.60s", i, e.Number, e.Text)
		}
	}
	if len(answer.Logs)+len(entries) != 400 || len(rest) != 1 || rest[0].Of != "/logs/300/text" {
		t.Fatalf("%d entries, %+v", len(answer.Logs)+len(entries), rest)
	}
	more, _, _ = readOn(t, s, rest[0].Cursor)
	if entries[300-len(answer.Logs)].Text[:rest[0].Shown]+more != longText {
		t.Error("the long text of an entry is not whole")
	}
}

// A page that is cut short goes on where it was cut: following its cursor meets every entry, once.
func TestAPageThatDoesNotFitLosesNothing(t *testing.T) {
	t.Parallel()
	s := open(t).client(t, "reader")
	var seen []int
	cursor, long := "", ""
	for pages := 0; ; pages++ {
		result, said, isError := call(t, s, "thing_page", pageIn{Cursor: cursor, Limit: 100})
		p := into[struct {
			pageOut
			Rest      []restOf
			Truncated string
		}](t, result)
		if isError || pages > 100 {
			t.Fatal(said)
		}
		if len(p.Lines) < 100 && p.Next != "" && !strings.Contains(p.Truncated, fmt.Sprintf("Only %d entries fit", len(p.Lines))) {
			t.Errorf("%d entries, and it says %q", len(p.Lines), p.Truncated)
		}
		for i, line := range p.Lines {
			seen = append(seen, line.Number)
			if line.Number != 7 {
				continue
			}
			for _, r := range p.Rest {
				if r.Of == fmt.Sprintf("/lines/%d/text", i) {
					more, _, _ := readOn(t, s, r.Cursor)
					long = line.Text[:r.Shown] + more
				}
			}
		}
		if cursor = p.Next; cursor == "" {
			break
		}
	}
	var want []int
	for n := range 300 {
		want = append(want, n)
	}
	if !slices.Equal(seen, want) {
		t.Errorf("the pages hold %v", seen)
	}
	if long != strings.Repeat("x", 100_000) {
		t.Errorf("the long text is %d bytes", len(long))
	}
}

// A cursor leads nowhere but on, and only with the right to read.
func TestReadingOnIsNoWayAround(t *testing.T) {
	t.Parallel()
	h := open(t)
	s := h.client(t, "reader")
	forged := func(tool, pointer string, from int) string {
		return base64.RawURLEncoding.EncodeToString(fmt.Appendf(nil, `{"t":%q,"a":{},"p":%q,"f":%d}`, tool, pointer, from))
	}
	for what, cursor := range map[string]string{
		"nothing": "", "no cursor": "!", "no JSON": "eHg", "a tool that destroys": forged("thing_drop", "", 0), "one that writes": forged("thing_write", "/args", 0),
		"itself": forged("read_more", "", 0), "no tool": forged("no_such", "", 0), "before the beginning": forged("thing_get", "/args", -1),
		"nowhere": forged("thing_list", "/items/x", 0), "a number": forged("thing_list", "/next/1", 0), "beyond the end": forged("thing_list", "/items/0", 1<<40),
	} {
		if _, said, isError := call(t, s, "read_more", map[string]any{"cursor": cursor}); !isError || strings.Contains(said, "logged as request") {
			t.Errorf("%s: %s", what, said)
		}
	}
	if n := h.dropped.Load(); n != 0 {
		t.Errorf("%d were dropped", n)
	}
	result, _, _ := call(t, s, "thing_get", nil)
	rest := into[struct{ Rest []restOf }](t, result).Rest
	other := "ß" + longText
	h.text.Store(&other)
	for _, r := range rest {
		if _, said, isError := call(t, s, "read_more", map[string]any{"cursor": r.Cursor}); strings.HasPrefix(r.Of, "/args") && (!isError || !strings.Contains(said, "Call thing_get again")) {
			t.Errorf("another text is read on as if it were the same: %s", said)
		}
	}
	if _, said, isError := call(t, h.client(t, "writer"), "read_more", map[string]any{"cursor": rest[0].Cursor}); !isError || !strings.Contains(said, "class read") {
		t.Errorf("a token that may not read reads: %s", said)
	}
	// What was done is not done again for the sake of its answer.
	result, said, isError := call(t, h.client(t, "writer"), "thing_write", nil)
	if isError || result["rest"] != nil || result["truncated"] == nil {
		t.Error(said)
	}
}

// What a script gets whole comes in pieces here, and says how to go on.
func TestPiecesUnlessAskedOtherwise(t *testing.T) {
	t.Parallel()
	s := open(t).client(t, "reader")
	for _, c := range []struct {
		arguments map[string]any
		pieces    float64
	}{{nil, 10}, {map[string]any{"attempts_limit": 3}, 3}} {
		result, said, isError := call(t, s, "thing_tail", c.arguments)
		if isError || result["attempts_next"] != c.pieces || !strings.Contains(fmt.Sprint(result["truncated"]), fmt.Sprintf("attempts_before %v", c.pieces)) {
			t.Errorf("%v: %s", c.arguments, said)
		}
	}
	tools, err := s.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if schema, err := json.Marshal(tools.Tools); err != nil || !strings.Contains(string(schema), "at most so many; left out: 10") {
		t.Errorf("the schema does not say how many come: %v", err)
	}
}
