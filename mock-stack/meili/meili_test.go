package meili

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"testing"
	"time"

	client "github.com/meilisearch/meilisearch-go"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const key = "test-key"

// start runs a fake and a real client of it.
func start(t *testing.T) (*Running, client.ServiceManager) {
	t.Helper()
	engine, err := Start("127.0.0.1:0", key)
	if err != nil {
		t.Fatal(err)
	}
	transport := &http.Transport{}
	t.Cleanup(func() {
		transport.CloseIdleConnections()
		engine.Close()
	})
	return engine, client.New(engine.URL(), client.WithAPIKey(key), client.DisableRetries(),
		client.WithCustomClient(&http.Client{Transport: transport}))
}

// await returns how an accepted write ended.
func await(t *testing.T, c client.ServiceManager, accepted *client.TaskInfo, err error) *client.Task {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	if accepted.Status != client.TaskStatusEnqueued {
		t.Fatalf("accepted as %s", accepted.Status)
	}
	done, err := c.WaitForTask(t.Context(), accepted.TaskUID, time.Millisecond)
	if err != nil {
		t.Fatal(err)
	}
	return done
}

func succeed(t *testing.T, c client.ServiceManager, accepted *client.TaskInfo, err error) {
	t.Helper()
	if done := await(t, c, accepted, err); done.Status != client.TaskStatusSucceeded {
		t.Fatalf("task %s: %s %s", done.Type, done.Status, done.Error.Message)
	}
}

func notes(t *testing.T, c client.ServiceManager) client.IndexManager {
	t.Helper()
	accepted, err := c.CreateIndex(t.Context(), &client.IndexConfig{Uid: "notes", PrimaryKey: "id"})
	succeed(t, c, accepted, err)
	ix := c.Index("notes")
	accepted, err = ix.UpdateSettings(t.Context(), &client.Settings{
		SearchableAttributes: []string{"title", "body"}, FilterableAttributes: []string{"published", "genre"},
	})
	succeed(t, c, accepted, err)
	return ix
}

type note struct {
	ID        string `json:"id"`
	OwnerID   string `json:"owner_id"`
	Title     string `json:"title"`
	Body      string `json:"body"`
	Genre     string `json:"genre"`
	Published bool   `json:"published"`
}

func add(t *testing.T, c client.ServiceManager, ix client.IndexManager, docs ...note) {
	t.Helper()
	accepted, err := ix.AddDocuments(t.Context(), docs, nil)
	succeed(t, c, accepted, err)
}

func search(t *testing.T, ix client.IndexManager, query string, request *client.SearchRequest) []string {
	t.Helper()
	response, err := ix.Search(t.Context(), query, request)
	if err != nil {
		t.Fatal(err)
	}
	ids := []string{}
	for _, hit := range response.Hits {
		var id string
		if err := json.Unmarshal(hit["id"], &id); err != nil {
			t.Fatal(err)
		}
		ids = append(ids, id)
	}
	return ids
}

func TestPrimaryKeyIsGuessedAsBadlyAsByTheRealEngine(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		docs any
		key  *string
		want string
	}{
		"two candidates":  {docs: []map[string]any{{"id": 1, "note_id": 2, "author_id": 3}}, want: "index_primary_key_multiple_candidates_found"},
		"case is ignored": {docs: []map[string]any{{"id": 1, "feedId": 2}}, want: "index_primary_key_multiple_candidates_found"},
		"no candidate":    {docs: []map[string]any{{"title": "x"}}, want: "index_primary_key_no_candidate_found"},
		"bad id":          {docs: []map[string]any{{"id": "wiki://a"}}, want: "invalid_document_id"},
		"second lacks id": {docs: []map[string]any{{"id": 1}, {"title": "x"}}, want: "missing_document_id"},
		"one candidate":   {docs: []map[string]any{{"note_id": 7, "title": "x"}}},
		"stated":          {docs: []map[string]any{{"id": 1, "note_id": 2}}, key: new("id")},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, c := start(t)
			accepted, err := c.Index("x").AddDocuments(t.Context(), test.docs, &client.DocumentOptions{PrimaryKey: test.key})
			done := await(t, c, accepted, err)
			if string(done.Error.Code) != test.want {
				t.Errorf("ended %s with %q: %s", done.Status, done.Error.Code, done.Error.Message)
			}
		})
	}
}

func TestAnIndexMadeWithAnotherKeyRefusesTheStatedOne(t *testing.T) {
	t.Parallel()
	_, c := start(t)
	accepted, err := c.CreateIndex(t.Context(), &client.IndexConfig{Uid: "notes", PrimaryKey: "note_id"})
	succeed(t, c, accepted, err)
	key := "id"
	accepted, err = c.Index("notes").AddDocuments(t.Context(), []map[string]any{{"id": 1, "note_id": 2}}, &client.DocumentOptions{PrimaryKey: &key})
	if done := await(t, c, accepted, err); done.Error.Code != "index_primary_key_already_exists" {
		t.Errorf("ended %s %s", done.Status, done.Error.Code)
	}
	info, err := c.GetIndex(t.Context(), "notes")
	if err != nil || info.PrimaryKey != "note_id" {
		t.Errorf("%+v, %v", info, err)
	}
	accepted, err = c.CreateIndex(t.Context(), &client.IndexConfig{Uid: "notes", PrimaryKey: "id"})
	if done := await(t, c, accepted, err); done.Error.Code != "index_already_exists" {
		t.Errorf("made twice: %s", done.Error.Code)
	}
}

func TestSearchFindsFiltersRanksAndMarks(t *testing.T) {
	t.Parallel()
	_, c := start(t)
	ix := notes(t, c)
	add(t, c, ix,
		note{ID: "body", Title: "Fruit", Body: "A plum is a fruit with one stone.", Genre: "wiki", Published: true},
		note{ID: "title", Title: "Plum jam", Body: "Sugar and time.", Genre: "writing", Published: true},
		note{ID: "private", Title: "Plum secrets", Body: "hush", Genre: "raw"},
		note{ID: "zh", Title: "关于图书馆的笔记", Body: "我喜欢在图书馆里读书", Genre: "wiki", Published: true},
		note{ID: "accent", Title: "Crème brûlée", Body: "caramelised", Genre: "wiki", Published: true})
	tests := map[string]struct {
		query  string
		filter any
		want   []string
	}{
		"title before body":          {"plum", "published = true", []string{"title", "body"}},
		"no filter":                  {"plum", nil, []string{"title", "private", "body"}},
		"prefix of the last word":    {"plu", "published = true", []string{"title", "body"}},
		"no prefix before a word":    {"plu jam", "published = true", []string{}},
		"typo":                       {"suger", nil, []string{"title"}},
		"CJK inside a word":          {"图书", "published = true", []string{"zh"}},
		"accents do not count":       {"creme", nil, []string{"accent"}},
		"phrase":                     {`"one stone"`, nil, []string{"body"}},
		"phrase in wrong order":      {`"stone one"`, nil, []string{}},
		"last words may be given up": {"plum quinoa", "published = true", []string{"title", "body"}},
		"empty query lists all":      {"", "genre = wiki", []string{"body", "zh", "accent"}},
		"filter expression":          {"", "published = true AND NOT genre IN [wiki, 'raw']", []string{"title"}},
		"filter list":                {"", []any{"published = true", []any{"genre = writing", "genre = raw"}}, []string{"title"}},
	}
	for name, test := range tests {
		if got := search(t, ix, test.query, &client.SearchRequest{Filter: test.filter}); fmt.Sprint(got) != fmt.Sprint(test.want) {
			t.Errorf("%s: %v, want %v", name, got, test.want)
		}
	}
	response, err := ix.Search(t.Context(), "stone", &client.SearchRequest{
		Limit: 1, AttributesToHighlight: []string{"body"}, AttributesToCrop: []string{"body"}, CropLength: 3,
		HighlightPreTag: "<mark>", HighlightPostTag: "</mark>", CropMarker: "~",
	})
	if err != nil {
		t.Fatal(err)
	}
	var marked struct{ Body string }
	if err := json.Unmarshal(response.Hits[0]["_formatted"], &marked); err != nil || marked.Body != "~with one <mark>stone</mark>." {
		t.Errorf("marked %q, %v", marked.Body, err)
	}
	if response.EstimatedTotalHits != 1 {
		t.Errorf("total %d", response.EstimatedTotalHits)
	}
	for _, bad := range []string{"title = x", "published =", "published = true AND", "(published = true", "published IN true"} {
		_, err := ix.Search(t.Context(), "", &client.SearchRequest{Filter: bad})
		var refused *client.Error
		if !errors.As(err, &refused) || refused.StatusCode != 400 || refused.APIError.Code != "invalid_search_filter" {
			t.Errorf("filter %q: %v", bad, err)
		}
	}
}

func TestDocumentsArePagedAndDeleted(t *testing.T) {
	t.Parallel()
	_, c := start(t)
	ix := notes(t, c)
	for n := range 5 {
		add(t, c, ix, note{ID: fmt.Sprint("n", n), Title: "t", Published: n%2 == 0})
	}
	var got client.DocumentsResult
	if err := ix.GetDocuments(t.Context(), &client.DocumentsQuery{Offset: 1, Limit: 2, Fields: []string{"id"}}, &got); err != nil {
		t.Fatal(err)
	}
	if got.Total != 5 || len(got.Results) != 2 || string(got.Results[0]["id"]) != `"n1"` || len(got.Results[0]) != 1 {
		t.Errorf("page %+v", got)
	}
	accepted, err := ix.DeleteDocument(t.Context(), "n0", nil)
	succeed(t, c, accepted, err)
	accepted, err = ix.DeleteDocuments(t.Context(), []string{"n1", "unknown"}, nil)
	succeed(t, c, accepted, err)
	accepted, err = ix.DeleteDocumentsByFilter(t.Context(), "published = false", nil)
	succeed(t, c, accepted, err)
	stats, err := ix.GetStats(t.Context(), nil)
	if err != nil || stats.NumberOfDocuments != 2 {
		t.Fatalf("%+v, %v", stats, err)
	}
	var one note
	err = ix.GetDocument(t.Context(), "n0", nil, &one)
	var missing *client.Error
	if !errors.As(err, &missing) || missing.APIError.Code != "document_not_found" {
		t.Errorf("deleted document: %v", err)
	}
	accepted, err = c.Index("nowhere").DeleteDocument(t.Context(), "x", nil)
	if done := await(t, c, accepted, err); done.Error.Code != "index_not_found" {
		t.Errorf("delete in a missing index: %s %s", done.Status, done.Error.Code)
	}
}

func TestAcceptedIsNotDone(t *testing.T) {
	t.Parallel()
	engine, c := start(t)
	ix := notes(t, c)
	engine.SetTaskFaults(TaskFaults{Delay: 40 * time.Millisecond, Fail: 1})
	accepted, err := ix.AddDocuments(t.Context(), []note{{ID: "a"}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if early, err := c.GetTask(t.Context(), accepted.TaskUID); err != nil || early.Status == client.TaskStatusSucceeded || early.Status == client.TaskStatusFailed {
		t.Errorf("at once: %+v, %v", early, err)
	}
	if done := await(t, c, accepted, nil); done.Status != client.TaskStatusFailed || done.Error.Code != "no_space_left_on_device" {
		t.Errorf("ended %s %s", done.Status, done.Error.Code)
	}
	engine.SetTaskFaults(TaskFaults{Vanish: 1})
	accepted, err = ix.AddDocuments(t.Context(), []note{{ID: "b"}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	_, err = c.GetTask(t.Context(), accepted.TaskUID)
	var missing *client.Error
	if !errors.As(err, &missing) || missing.APIError.Code != client.APIErrCodeTaskNotFound {
		t.Errorf("vanished task: %v", err)
	}
	if got := engine.Documents("notes"); len(got) != 0 {
		t.Errorf("failed writes left %v", got)
	}
}

func TestOutagesEndAndTheAddressStays(t *testing.T) {
	t.Parallel()
	engine, c := start(t)
	ix := notes(t, c)
	add(t, c, ix, note{ID: "a"})
	for _, outage := range []Outage{OutageRefuse, Outage503, OutageHang} {
		if err := engine.SetOutage(outage); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		if _, err := ix.AddDocuments(ctx, []note{{ID: "b"}}, nil); err == nil {
			t.Errorf("%s: accepted", outage)
		}
		cancel()
		if err := engine.SetOutage(OutageNone); err != nil {
			t.Fatal(err)
		}
		if _, err := c.Health(t.Context()); err != nil {
			t.Fatalf("after %s: %v", outage, err)
		}
	}
	if err := engine.SetOutage("nap"); err == nil {
		t.Error("an unknown outage was taken")
	}
}

func TestWipeAndRestoreOfAnOlderState(t *testing.T) {
	t.Parallel()
	engine, c := start(t)
	ix := notes(t, c)
	add(t, c, ix, note{ID: "kept"}, note{ID: "deleted"})
	engine.Snapshot("monday")
	accepted, err := ix.DeleteDocument(t.Context(), "deleted", nil)
	succeed(t, c, accepted, err)
	add(t, c, ix, note{ID: "new"})
	if err := engine.Restore("monday"); err != nil {
		t.Fatal(err)
	}
	got := engine.Documents("notes")
	if len(got) != 2 || got["deleted"] == nil || got["new"] != nil {
		t.Errorf("restored %v", got)
	}
	if _, err := c.GetTask(t.Context(), accepted.TaskUID); err == nil {
		t.Error("a task from after the snapshot is still known")
	}
	engine.Wipe()
	_, err = c.GetIndex(t.Context(), "notes")
	var missing *client.Error
	if !errors.As(err, &missing) || missing.APIError.Code != client.APIErrCodeIndexNotFound {
		t.Errorf("wiped index: %v", err)
	}
	if err := engine.Restore("never"); err == nil {
		t.Error("restored a snapshot that was never taken")
	}
}

func TestKeyIsDemanded(t *testing.T) {
	t.Parallel()
	engine, _ := start(t)
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	for given, want := range map[string]string{"": "missing_authorization_header", "wrong": "invalid_api_key"} {
		c := client.New(engine.URL(), client.WithAPIKey(given), client.DisableRetries(), client.WithCustomClient(&http.Client{Transport: transport}))
		_, err := c.GetIndex(t.Context(), "x")
		var refused *client.Error
		if !errors.As(err, &refused) || string(refused.APIError.Code) != want {
			t.Errorf("key %q: %v", given, err)
		}
		if !c.IsHealthy() {
			t.Errorf("key %q: health is public", given)
		}
	}
}

func FuzzFilterNeverPanics(f *testing.F) {
	for _, seed := range []string{"published = true", "a IN [b, 'c'] AND NOT (d > 3 OR e EXISTS)", "a 1 TO 2", `x = "\"`, "((((", "a IS NOT EMPTY"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		parsed, err := parseExpression(text)
		if err != nil && parsed != nil {
			t.Error("an error and a filter")
		}
		parsed.matches(map[string]any{"published": true, "a": json.Number("1")})
	})
}
