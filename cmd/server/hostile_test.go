package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/gatehouse-hq/gatehouse/internal/domain/corpus"
	"github.com/gatehouse-hq/gatehouse/internal/infra/op"
)

// aUUID names nothing.
const aUUID = "0197a3f0-0000-7000-8000-000000000000"

// plausible is what fills the required fields beside the one under test.
func plausible(s *jsonschema.Schema) any {
	switch {
	case len(s.Enum) > 0:
		return s.Enum[0]
	case s.Format == "date-time":
		return "2026-01-31T09:00:00Z"
	}
	switch s.Type {
	case "integer", "number":
		return 4711
	case "boolean":
		return true
	case "array":
		return []any{plausible(s.Items)}
	case "object":
		out := map[string]any{}
		for _, name := range s.Required {
			out[name] = plausible(s.Properties[name])
		}
		return out
	}
	return aUUID
}

// impossible are values, as JSON, that no field of a schema takes.
func impossible(s *jsonschema.Schema) []string {
	switch s.Type {
	case "string":
		out := []string{`"a\u0000b"`, "\"a\xffb\"", `"\udc00"`, `5`, `[]`, `{}`, `true`}
		if s.Format == "date-time" {
			out = append(out, `"yesterday"`, `"2026-01-31"`, `"2026-02-30T00:00:00Z"`, `"10000-01-01T00:00:00Z"`, `""`)
		}
		if len(s.Enum) > 0 {
			out = append(out, `"no such word"`)
		}
		return out
	case "integer":
		return []string{`"5"`, `1.5`, `1e3`, `9223372036854775808`, `1` + strings.Repeat("0", 400), `{}`, `[1]`, `true`}
	case "boolean":
		return []string{`"true"`, `1`, `[]`}
	case "array":
		out := []string{`"a"`, `{}`, `5`, `[null]`}
		for _, one := range impossible(s.Items) {
			out = append(out, `[`+one+`]`)
		}
		return out
	case "object":
		return []string{`[]`, `"a"`, `{"a":5}`, `{"a":"\u0000"}`, `{"a\u0000":"a"}`, `{"a":"1","a":"2"}`}
	}
	return nil
}

// unlikely are values that a field may refuse, by its name, or take: the server breaks on none.
func unlikely(s *jsonschema.Schema) []any {
	long := strings.Repeat("x", 100_000)
	switch {
	case s.Format == "date-time":
		return []any{"0000-01-01T00:00:00Z", "9999-12-31T23:59:59.999999999+14:00", "2026-01-31T09:00:00.123456789-23:59"}
	case len(s.Enum) > 0:
		return []any{""}
	}
	switch s.Type {
	case "string":
		return []any{"", " ", "\n", "\u202e\u2066", "%_\\", "'; drop table notes;--", "../../etc", long, strings.Repeat("9", 400)}
	case "integer":
		return []any{-1, 0, 1 << 31, json.Number("9007199254740993"), json.Number("9223372036854775807"), json.Number("-9223372036854775808")}
	case "array":
		out := []any{[]any{}, slices.Repeat([]any{plausible(s.Items)}, 3000)}
		for _, one := range unlikely(s.Items) {
			out = append(out, []any{one})
		}
		return out
	case "object":
		return []any{map[string]any{"": ""}, map[string]any{"%": "'"}, map[string]any{long: long}}
	}
	return nil
}

func (s served) raw(t *testing.T, path, token string, body []byte) (int, []byte) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.url+path, bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	r.Header.Set("Authorization", "Bearer "+token)
	a, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Body.Close()
	var b bytes.Buffer
	if _, err := b.ReadFrom(a.Body); err != nil {
		t.Fatal(err)
	}
	s.conforms(t, path, a, b.Bytes())
	return a.StatusCode, b.Bytes()
}

// rows is a fingerprint of everything that is stored, but for what a call itself leaves: its plan and the token's last use.
func (s served) rows(t *testing.T) map[string]string {
	t.Helper()
	tables, err := s.pool.Query(t.Context(), `
		select quote_ident(schemaname)||'.'||quote_ident(tablename) from pg_tables
		where schemaname = 'public' and tablename not in ('plans', 'tokens') order by 1`)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for tables.Next() {
		var name string
		if err := tables.Scan(&name); err != nil {
			t.Fatal(err)
		}
		names = append(names, name)
	}
	if err := tables.Err(); err != nil || len(names) < 10 {
		t.Fatal(names, err)
	}
	out := map[string]string{}
	for _, name := range names {
		var print string
		if err := s.pool.QueryRow(t.Context(), `select count(*)||' '||md5(coalesce(string_agg(t::text, '|' order by t::text), '')) from `+name+` t`).Scan(&print); err != nil {
			t.Fatal(err)
		}
		out[name] = print
	}
	return out
}

type problemDoc struct {
	Status int    `json:"status"`
	Detail string `json:"detail"`
	Errors []struct {
		Field string `json:"field"`
	} `json:"errors"`
}

// names reports whether a 422 points to the field.
func (p problemDoc) names(field string) bool {
	for _, e := range p.Errors {
		if rest, ok := strings.CutPrefix(e.Field, field); ok && (rest == "" || rest[0] == '.' || rest[0] == '[') {
			return true
		}
	}
	return false
}

// Whatever stands in whichever field of whichever operation: what cannot be is refused by the field's name at both doors and
// changes nothing, and nothing breaks the server.
func TestNoInputBreaksAnOperation(t *testing.T) {
	t.Parallel()
	s := serveAll(t)
	s.corpus.Connect(corpus.Queue{Jobs: s.runtime, Fanout: s.bus}) // the queue stands still: nothing is worth waiting for
	all := s.token(t, op.Classes()...).Secret
	s.tool(t, all, "corpus_create", map[string]any{"genre": "wiki", "title": "Kept"})
	before := s.rows(t)
	for _, o := range s.ops.All() {
		fields := plausible(o.In).(map[string]any)
		send := func(field, value string) (int, problemDoc) {
			t.Helper()
			status, body := s.raw(t, "/api/admin/"+o.Name, all, with(t, fields, field, value))
			var p problemDoc
			if err := json.Unmarshal(body, &p); err != nil {
				t.Fatalf("%s: %d %s", o.Name, status, body)
			}
			return status, p
		}
		for name, schema := range o.In.Properties {
			for _, value := range impossible(schema) {
				if status, p := send(name, value); status != http.StatusUnprocessableEntity || !p.names(name) {
					t.Errorf("%s takes %s=%.60s: %d %+v", o.Name, name, value, status, p)
				}
			}
			twice := string(with(t, fields, name, `null`))
			twice = twice[:len(twice)-1] + `,"` + name + `":null}`
			tries := []string{twice, string(with(t, fields, strings.ToUpper(name), `null`))}
			for _, value := range impossible(schema)[:min(3, len(impossible(schema)))] {
				tries = append(tries, string(with(t, fields, name, value)))
			}
			for i, arguments := range tries {
				named := name
				if i == 1 {
					named = strings.ToUpper(name)
				}
				status, body := s.raw(t, "/mcp", all, []byte(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"`+strings.Replace(o.Name, ".", "_", 1)+`","arguments":`+arguments+`}}`))
				if status != http.StatusOK || !bytes.Contains(body, []byte(`"isError":true`)) || !bytes.Contains(body, []byte(`"text":"`+named)) {
					t.Errorf("the tool of %s takes %.200s: %d %.300s", o.Name, arguments, status, body)
				}
			}
			if slices.Contains(o.In.Required, name) && schema.Type != "array" {
				if status, p := send(name, `null`); status != http.StatusUnprocessableEntity || !p.names(name) {
					t.Errorf("%s does without %s: %d %+v", o.Name, name, status, p)
				}
			}
			if status, body := s.raw(t, "/api/admin/"+o.Name, all, []byte(twice)); status != http.StatusUnprocessableEntity {
				t.Errorf("%s takes %s twice: %d %s", o.Name, name, status, body)
			}
			if status, p := send(strings.ToUpper(name), `null`); status != http.StatusUnprocessableEntity || !p.names(strings.ToUpper(name)) {
				t.Errorf("%s takes %s: %d %+v", o.Name, strings.ToUpper(name), status, p)
			}
		}
	}
	after := s.rows(t)
	for name := range maps.Keys(before) {
		if before[name] != after[name] {
			t.Errorf("a refused call changed %s: %s, then %s", name, before[name], after[name])
		}
	}
	for _, o := range s.ops.All() {
		fields := plausible(o.In).(map[string]any)
		for name, schema := range o.In.Properties {
			for _, value := range unlikely(schema) {
				raw, err := json.Marshal(value)
				if err != nil {
					t.Fatal(err)
				}
				status, body := s.raw(t, "/api/admin/"+o.Name, all, with(t, fields, name, string(raw)))
				var p problemDoc
				if err := json.Unmarshal(body, &p); err != nil || status >= 500 || (status == http.StatusUnprocessableEntity && len(p.Errors) == 0) {
					t.Errorf("%s %s=%.60s: %d %.300s", o.Name, name, raw, status, body)
				}
			}
		}
	}
}

// with is an input with one field as it is given, even if that is no JSON.
func with(t *testing.T, fields map[string]any, name, value string) []byte {
	t.Helper()
	fields = maps.Clone(fields)
	delete(fields, name)
	raw, err := json.Marshal(fields)
	if err != nil {
		t.Fatal(err)
	}
	comma := ","
	if len(fields) == 0 {
		comma = ""
	}
	return slices.Concat(raw[:len(raw)-1], []byte(comma+`"`+name+`":`+value+`}`))
}

// What the description of an import promises is taken at both doors, though it is more than a form may send.
func TestAnImportOfFourMebibytesIsTaken(t *testing.T) {
	t.Parallel()
	s := serveAll(t)
	s.corpus.Connect(corpus.Queue{Jobs: s.runtime, Fanout: s.bus})
	all := s.token(t, op.Classes()...).Secret
	vault := func(name string) map[string]any {
		var files []map[string]string
		for i := range 8 {
			files = append(files, map[string]string{"path": fmt.Sprintf("%s %d.md", name, i), "text": strings.Repeat("\"sour\"\n", 500_000/8)})
		}
		return map[string]any{"name": name, "files": files}
	}
	if status, _, body := s.post(t, "/api/admin/corpus.import", all, vault("api")); status != http.StatusOK {
		t.Errorf("%d %.300s", status, body)
	}
	if a := s.tool(t, all, "corpus_import", vault("mcp")); a.Result.IsError {
		t.Error(a.text())
	}
	a := s.tool(t, all, "corpus_list", map[string]any{"limit": 1})
	if !strings.Contains(string(a.Result.Structured), `"total":16`) {
		t.Errorf("%.300s", a.Result.Structured)
	}
}
