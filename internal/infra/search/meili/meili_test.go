package meili_test

import (
	"context"
	"crypto/rand"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/meilisearch/meilisearch-go"

	"github.com/gatehouse-hq/gatehouse/internal/infra/search"
	"github.com/gatehouse-hq/gatehouse/internal/infra/search/meili"
	"github.com/gatehouse-hq/gatehouse/internal/infra/search/searchtest"
	fake "github.com/gatehouse-hq/gatehouse/mock-stack/meili"
)

const (
	secret = "a-master-key"
	index  = "notes"
)

func TestFakeServer(t *testing.T) {
	t.Parallel()
	searchtest.Run(t, func(t *testing.T) search.Engine { return engineOf(t, start(t)) })
}

// TestRealServer needs MEILI_URL and, unless the server is open, MEILI_KEY.
// Each engine has an index of its own, which is deleted afterwards.
func TestRealServer(t *testing.T) {
	t.Parallel()
	url, key := os.Getenv("MEILI_URL"), os.Getenv("MEILI_KEY")
	if url == "" {
		t.Skip("MEILI_URL names no server")
	}
	admin := meilisearch.New(url, meilisearch.WithAPIKey(key), meilisearch.DisableRetries())
	searchtest.Run(t, func(t *testing.T) search.Engine {
		name := "gatehouse_test_" + strings.ToLower(rand.Text())
		t.Cleanup(func() {
			if _, err := admin.DeleteIndex(context.Background(), name); err != nil { // the test's own context has ended
				t.Errorf("delete index %s: %v", name, err)
			}
		})
		return open(t, url, key, meili.Options{Index: name})
	})
}

func start(t *testing.T) *fake.Running {
	t.Helper()
	server, err := fake.Start("127.0.0.1:0", secret)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Close)
	return server
}

// engineOf is patient: the fake shares this machine with all other tests.
func engineOf(t *testing.T, server *fake.Running) *meili.Engine {
	t.Helper()
	return open(t, server.URL(), secret, meili.Options{Index: index, CallTimeout: time.Minute, WriteTimeout: time.Minute})
}

func open(t *testing.T, url, key string, o meili.Options) *meili.Engine {
	t.Helper()
	e, err := meili.New(url, key, o)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func note(n int, version int64, body string) search.Document {
	return search.Document{ID: searchtest.ID(n), Genre: "wiki", Title: "Note", Body: body, Published: true, Version: version, UpdatedAt: time.Unix(int64(n), 0)}
}

func put(t *testing.T, e search.Engine, docs ...search.Document) {
	t.Helper()
	if err := e.Upsert(t.Context(), docs); err != nil {
		t.Fatal(err)
	}
}

// held is what the engine says it holds.
func held(t *testing.T, e search.Engine) map[string]int64 {
	t.Helper()
	out := map[string]int64{}
	err := e.Each(t.Context(), func(hs []search.Held) error {
		for _, h := range hs {
			out[h.ID] = h.Version
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func wantError(t *testing.T, err error, parts ...string) {
	t.Helper()
	if err == nil {
		t.Fatalf("no error; want one with %q", parts)
	}
	for _, part := range parts {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("error %q lacks %q", err, part)
		}
	}
}
