package meili_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/gatehouse-hq/gatehouse/internal/infra/search"
	"github.com/gatehouse-hq/gatehouse/internal/infra/search/meili"
	"github.com/gatehouse-hq/gatehouse/internal/infra/search/searchtest"
	fake "github.com/gatehouse-hq/gatehouse/mock-stack/meili"
)

// byHand asks the server something as an operator would, and waits for the
// task that comes of a write.
func byHand(t *testing.T, server *fake.Running, method, path string, body any) map[string]any {
	t.Helper()
	raw, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	req, err := http.NewRequestWithContext(t.Context(), method, server.URL()+path, strings.NewReader(string(raw)))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+secret)
	req.Header.Set("Content-Type", "application/json")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	var answer map[string]any
	if err := json.NewDecoder(res.Body).Decode(&answer); err != nil || res.StatusCode >= 300 {
		t.Fatalf("%s %s: %d %v %v", method, path, res.StatusCode, answer, err)
	}
	server.Documents(index) // ends queued tasks
	return answer
}

// The documents of an empty server have several fields that end in "id" only
// by accident of their names; the key is stated all the same (field case F28).
func TestKeyIsStated(t *testing.T) {
	t.Parallel()
	server := start(t)
	put(t, engineOf(t, server), note(1, 1, "plum"))
	if got := byHand(t, server, "GET", "/indexes/"+index, nil)["primaryKey"]; got != "id" {
		t.Errorf("primary key %v", got)
	}
}

func TestIndexMadeByHand(t *testing.T) {
	t.Parallel()
	t.Run("with another key", func(t *testing.T) {
		t.Parallel()
		server := start(t)
		byHand(t, server, "POST", "/indexes", map[string]string{"uid": index, "primaryKey": "note_id"})
		e := engineOf(t, server)
		for what, err := range map[string]error{
			"check": e.Check(t.Context()), "prepare": e.Prepare(t.Context()), "write": e.Upsert(t.Context(), []search.Document{note(1, 1, "plum")}),
		} {
			t.Log(what)
			wantError(t, err, `"note_id"`, `must be "id"`, "DELETE /indexes/"+index, "rebuild search")
		}
		if docs := server.Documents(index); len(docs) != 0 {
			t.Errorf("it was written to: %v", docs)
		}
		byHand(t, server, "DELETE", "/indexes/"+index, nil) // what the error says
		if err := e.Prepare(t.Context()); err != nil {
			t.Errorf("after doing what the error says: %v", err)
		}
		put(t, e, note(1, 1, "plum"))
	})
	t.Run("without a key", func(t *testing.T) {
		t.Parallel()
		server := start(t)
		byHand(t, server, "POST", "/indexes", map[string]string{"uid": index})
		e := engineOf(t, server)
		put(t, e, note(1, 1, "plum"))
		if got := held(t, e); len(got) != 1 {
			t.Errorf("held %v", got)
		}
	})
	t.Run("with documents of others", func(t *testing.T) {
		t.Parallel()
		server := start(t)
		byHand(t, server, "POST", "/indexes/"+index+"/documents?primaryKey=id", []map[string]any{{"id": 7, "name": "seven"}, {"id": "x", "version": "one"}})
		e := engineOf(t, server)
		put(t, e, note(1, 3, "plum"))
		if got := held(t, e); !maps.Equal(got, map[string]int64{"7": 0, "x": 0, searchtest.ID(1): 3}) {
			t.Errorf("held %v", got)
		}
		if err := e.Remove(t.Context(), []string{"7", "x"}); err != nil {
			t.Fatal(err)
		}
		if got := held(t, e); len(got) != 1 {
			t.Errorf("strangers stayed: %v", got)
		}
	})
}

// A start changes nothing that is in order: changed settings make the server
// index everything again.
func TestSettingsAreWrittenOnce(t *testing.T) {
	t.Parallel()
	server := start(t)
	first := engineOf(t, server)
	put(t, first, note(1, 1, "plum"))
	put(t, first, note(2, 1, "pear"))
	second := engineOf(t, server)
	for range 2 {
		if err := second.Prepare(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	put(t, second, note(3, 1, "fig"))
	asked := server.Requests()
	if n := asked["PATCH /indexes/"+index+"/settings"]; n != 1 {
		t.Errorf("settings written %d times", n)
	}
	if n := asked["POST /indexes"]; n != 1 {
		t.Errorf("index made %d times", n)
	}
	got := byHand(t, server, "GET", "/indexes/"+index+"/settings", nil)
	if fmt.Sprint(got["searchableAttributes"]) != "[title aliases tags body]" {
		t.Errorf("searchable: %v", got["searchableAttributes"])
	}
	if list, _ := got["filterableAttributes"].([]any); !slices.Contains(list, any("published")) {
		t.Errorf("filterable: %v", list)
	}
}

// An operator's other settings are left alone; those that searches rely on
// come back.
func TestSettingsChangedByHand(t *testing.T) {
	t.Parallel()
	server := start(t)
	e := engineOf(t, server)
	put(t, e, note(1, 1, "plum"))
	byHand(t, server, "PATCH", "/indexes/"+index+"/settings", map[string]any{"filterableAttributes": []string{"genre"}, "stopWords": []string{"the"}})
	visitor := search.Query{Text: "plum", PublishedOnly: true, Limit: 10}
	if _, err := e.Search(t.Context(), visitor); err == nil {
		t.Fatal("the filter worked without its setting: the test proves nothing")
	}
	put(t, e, note(2, 1, "plum")) // the next write looks again
	if res, err := e.Search(t.Context(), visitor); err != nil || res.Total != 2 {
		t.Errorf("%+v, %v", res, err)
	}
	if got := byHand(t, server, "GET", "/indexes/"+index+"/settings", nil); fmt.Sprint(got["stopWords"]) != "[the]" {
		t.Errorf("stop words: %v", got["stopWords"])
	}
}

func TestCheckSaysWhatIsWrong(t *testing.T) {
	t.Parallel()
	server := start(t)
	wrongKey := open(t, server.URL(), "another key", meili.Options{})
	noKey := open(t, server.URL(), "", meili.Options{})
	for _, e := range []*meili.Engine{wrongKey, noKey} {
		wantError(t, e.Check(t.Context()), "GATEHOUSE_MEILI_KEY")
	}
	if err := server.SetOutage(fake.OutageRefuse); err != nil {
		t.Fatal(err)
	}
	err := engineOf(t, server).Check(t.Context())
	wantError(t, err, server.URL(), "cannot be reached")
	if strings.Contains(err.Error(), secret) {
		t.Errorf("the error tells the key: %v", err)
	}
}

// The workers of the queue share one engine, and the first of them find no index.
func TestManyAtOnce(t *testing.T) {
	t.Parallel()
	server := start(t)
	e := engineOf(t, server)
	var workers sync.WaitGroup
	for n := range 8 {
		workers.Go(func() {
			if err := e.Upsert(t.Context(), []search.Document{note(n, 1, "plum")}); err != nil {
				t.Error(err)
			}
			if err := e.Prepare(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
	workers.Wait()
	if got := held(t, e); len(got) != 8 {
		t.Errorf("held %d of 8", len(got))
	}
}

// Looking changes nothing: no index is made, no setting is written.
func TestCheckChangesNothing(t *testing.T) {
	t.Parallel()
	server := start(t)
	e := engineOf(t, server)
	if err := e.Check(t.Context()); !errors.Is(err, search.ErrNoIndex) {
		t.Errorf("without an index: %v", err)
	}
	if err := e.Prepare(t.Context()); err != nil {
		t.Fatal(err)
	}
	byHand(t, server, "PATCH", "/indexes/"+index+"/settings", map[string]any{"filterableAttributes": []string{"genre"}})
	before := server.Requests()
	wantError(t, e.Check(t.Context()), "settings", "were changed")
	for request, n := range server.Requests() {
		if !strings.HasPrefix(request, "GET ") && n != before[request] {
			t.Errorf("looking asked %s", request)
		}
	}
}
