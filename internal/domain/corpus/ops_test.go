package corpus_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/gatehouse-hq/gatehouse/internal/domain/corpus"
	"github.com/gatehouse-hq/gatehouse/internal/domain/corpus/subscriber"
	"github.com/gatehouse-hq/gatehouse/internal/infra/op"
)

func (h *house) ops() *op.Set {
	h.t.Helper()
	set, err := op.Collect(h.notes.Module(subscriber.New(h.notes)).Ops...)
	if err != nil {
		h.t.Fatal(err)
	}
	return set
}

func (h *house) run(name, in string) (map[string]any, error) {
	h.t.Helper()
	o, ok := h.ops().Get(name)
	if !ok {
		h.t.Fatalf("there is no operation %s", name)
	}
	out, err := o.Run(h.t.Context(), json.RawMessage(in))
	if err != nil {
		return nil, err
	}
	raw, err := json.Marshal(out)
	if err != nil {
		h.t.Fatal(err)
	}
	var v map[string]any
	if err := json.Unmarshal(raw, &v); err != nil {
		h.t.Fatal(err)
	}
	if strings.Contains(string(raw), ":null") {
		h.t.Errorf("%s answers null where a list or nothing is due: %s", name, raw)
	}
	return v, nil
}

func (h *house) must(name, in string) map[string]any {
	h.t.Helper()
	out, err := h.run(name, in)
	if err != nil {
		h.t.Fatalf("%s %s: %v", name, in, err)
	}
	return out
}

// The life of a note through operations alone, and exactly the events of it.
func TestOperations(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.must("corpus.list", `{}`)
	h.must("corpus.search", `{"text":"nothing"}`)
	made := h.must("corpus.create", `{"genre":"raw","title":"Pump","body":"water"}`)
	id := made["note_id"].(string)
	h.must("corpus.update", `{"id":"`+id+`","tags":["garden"],"expect_version":1}`)
	h.must("corpus.promote", `{"id":"`+id+`"}`)
	h.must("corpus.publish", `{"ids":["`+id+`"],"published":true}`)
	h.index()
	if got := h.must("corpus.search", `{"text":"water","published_only":true}`); got["total"].(float64) != 1 {
		t.Errorf("search found %v", got)
	}
	for i, title := range []string{"Well", "Rain"} {
		h.must("corpus.create", `{"genre":"wiki","title":"`+title+`","body":"water `+strconv.Itoa(i)+`"}`)
	}
	h.index()
	found, cursor := 0, ""
	for range 3 {
		page := h.must("corpus.search", `{"text":"water","limit":1,"cursor":"`+cursor+`"}`)
		found += len(page["hits"].([]any))
		cursor, _ = page["next"].(string)
	}
	if found != 3 || cursor != "" {
		t.Errorf("%d hits on three pages, next %q", found, cursor)
	}
	if _, err := h.run("corpus.search", `{"text":" "}`); op.CodeOf(err) != op.Invalid || !strings.Contains(err.Error(), "text: ") {
		t.Errorf("a search for nothing: %v", err)
	}
	if _, err := h.run("corpus.search", `{"text":"water","cursor":"7"}`); op.CodeOf(err) != op.Invalid {
		t.Errorf("a cursor that is none: %v", err)
	}
	part := h.must("corpus.get", `{"id":"`+id+`","body_from":2,"body_limit":100}`)
	if part["body"] != "ter" || part["body_bytes"] != 5.0 || part["body_next"] != nil {
		t.Errorf("a part: %v", part)
	}
	for _, wrong := range []string{`"body_from":6`, `"body_from":-1`, `"body_limit":3`} {
		if _, err := h.run("corpus.get", `{"id":"`+id+`",`+wrong+`}`); op.CodeOf(err) != op.Invalid {
			t.Errorf("%s: %v", wrong, err)
		}
	}
	got := h.must("corpus.get", `{"id":"`+id+`"}`)
	if got["path"] != "pump" || got["published"] != true || got["body"] != "water" {
		t.Errorf("got %v", got)
	}
	batch := h.must("corpus.delete", `{"ids":["`+id+`"]}`)
	h.must("corpus.restore", `{"batch":"`+batch["id"].(string)+`"}`)
	h.forget()
	in := `{"name":"texts","files":[{"path":"dir/a.md","text":"one"},{"path":"b.md","text":"---\npublish: true\n---\ntwo"}]}`
	report := h.must("corpus.import", in)
	if n := report["import"].(map[string]any)["counts"].(map[string]any)["imported"]; n != float64(2) {
		t.Errorf("imported %v", n)
	}
	h.recorded("created wiki://dir", "created wiki://dir/a", "created wiki://b", "vault.imported vault://texts")
	h.must("corpus.import", in)
	h.recorded()
}

func TestOperationsRefuse(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	for in, field := range map[string]string{
		`{"name":"v","files":[]}`:                                "files",
		`{"name":"v","files":[{"path":"../a.md","text":""}]}`:    "files[0].path",
		`{"name":"v","files":[{"path":"/a.md","text":""}]}`:      "files[0].path",
		`{"name":"v","files":[{"path":"a.exe","text":""}]}`:      "files[0].path",
		`{"name":"v","files":[{"path":"a\u0000.md","text":""}]}`: "files[0].path",
	} {
		_, err := h.run("corpus.import", in)
		refused(t, err, op.Invalid, field)
	}
	_, err := h.run("corpus.create", `{"genre":"wiki","title":"ab\u0000cd"}`) // field case F12
	refused(t, err, op.Invalid, "title")
	_, err = h.run("corpus.delete", `{"ids":[]}`)
	refused(t, err, op.Invalid, "ids")
	h.recorded()
}

// The golden forms are what receivers rely on: the fields of real events, no more and no fewer.
func TestGoldenEvents(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	ctx := t.Context()
	n := h.create(corpus.NewNote{Genre: corpus.Writing, Title: "First frost", Published: true})
	if _, err := h.notes.Unpublish(ctx, []string{n.ID}); err != nil {
		t.Fatal(err)
	}
	h.bring(vaultDir(t, map[string]string{"a.md": "x"}), corpus.ImportOptions{Name: "home"})
	got := map[string]map[string]any{}
	for _, e := range h.pending() {
		var data map[string]any
		if err := json.Unmarshal(e.Data, &data); err != nil {
			t.Fatal(err)
		}
		got[e.Type] = data
	}
	for _, typ := range []string{corpus.NoteChanged, corpus.WritingPublished, corpus.WritingUnpublished, corpus.VaultImported} {
		raw, err := os.ReadFile(filepath.Join("testdata", "events", typ+".json"))
		if err != nil {
			t.Fatal(err)
		}
		var golden map[string]any
		if err := json.Unmarshal(raw, &golden); err != nil {
			t.Fatal(err)
		}
		if len(golden) != len(got[typ]) {
			t.Errorf("%s: an event has %v, the golden form %v", typ, got[typ], golden)
		}
		for k := range golden {
			if _, ok := got[typ][k]; !ok {
				t.Errorf("%s: events have no %s", typ, k)
			}
		}
	}
	for _, declared := range corpus.Types() {
		raw, err := os.ReadFile(filepath.Join("testdata", "events", declared.Name+".json"))
		if err != nil {
			t.Fatal(err)
		}
		var a, b any
		if json.Unmarshal(raw, &a) != nil || json.Unmarshal(declared.Example, &b) != nil {
			t.Errorf("%s: example or golden form is no JSON", declared.Name)
		}
		x, _ := json.Marshal(a)
		y, _ := json.Marshal(b)
		if string(x) != string(y) {
			t.Errorf("%s: the example in the panel %s is not the golden form %s", declared.Name, y, x)
		}
	}
}
