package faults

import (
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/gatehouse-hq/gatehouse/e2e/blackbox"
	"github.com/gatehouse-hq/gatehouse/internal/infra/pg/pgtest"
)

func open(t *testing.T, dbURL string) *pgxpool.Pool {
	t.Helper()
	pool, err := pgxpool.New(t.Context(), dbURL)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	return pool
}

// found asks as a visitor.
func found(t *testing.T, s *blackbox.Server, query, title string) bool {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.URL+"/search?q="+url.QueryEscape(query), nil)
	if err != nil {
		t.Fatal(err)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return false // between two lives of the server
	}
	defer func() { _ = res.Body.Close() }()
	return res.StatusCode == http.StatusOK && strings.Contains(readAll(t, res), title)
}

// A note saved in the last moment of a process is found in the next one's.
func TestKilledAfterAWriteItIsFound(t *testing.T) {
	t.Parallel()
	dbURL := pgtest.URL(t)
	s := start(t, dbURL)
	o, err := blackbox.SetUp(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 5 {
		title := fmt.Sprintf("Rhubarb %d", i)
		if err := o.Call(t.Context(), s, "corpus.create", map[string]any{"genre": "wiki", "title": title, "body": "word" + fmt.Sprint(i), "published": true}, nil); err != nil {
			t.Fatal(err)
		}
		// The write itself, without its receipt: killed before anything follows.
		if _, err := open(t, dbURL).Exec(t.Context(), `update notes set body = body || ' changed' || $1::text where title = $2`, fmt.Sprint(i), title); err != nil {
			t.Fatal(err)
		}
		s.Signal(syscall.SIGKILL)
		again(t, s)
		err := blackbox.Eventually(t.Context(), 60*time.Second, func() error {
			if !found(t, s, fmt.Sprintf("changed%d", i), title) {
				return fmt.Errorf("%s is not found by its new word", title)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// Importing 2,000 notes while the server runs: all are found, by at most 2,050
// index tasks, and none is discarded. The same files again record no event.
func TestImportOfManyNotes(t *testing.T) {
	t.Parallel()
	const n = 2000
	dbURL := pgtest.URL(t)
	s, pool := start(t, dbURL), open(t, dbURL)
	dir := filepath.Join(t.TempDir(), "vault")
	for i := range n {
		folder := filepath.Join(dir, fmt.Sprintf("Folder %d", i%40))
		if err := os.MkdirAll(folder, 0o755); err != nil {
			t.Fatal(err)
		}
		body := fmt.Sprintf("---\npublish: true\n---\nSee [[Imported %d]] and [[Imported %d|another]]. word%d\n", (i*7+1)%n, (i*13+1)%n, i)
		if err := os.WriteFile(filepath.Join(folder, fmt.Sprintf("Imported %d.md", i)), []byte(body), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	run := func() {
		t.Helper()
		if out, err := s.Command("import", dir).CombinedOutput(); err != nil {
			t.Fatalf("import: %v\n%s", err, out)
		}
	}
	ask := func(query string) (n int) {
		t.Helper()
		if err := pool.QueryRow(t.Context(), query).Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	run()
	err := blackbox.Eventually(t.Context(), 4*time.Minute, func() error {
		if open := ask(`select count(*) from river.river_job where kind = 'corpus.index' and finalized_at is null`) + ask(`select count(*) from events where fanned_out_at is null`); open > 0 {
			return fmt.Errorf("%d events and tasks are open", open)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if got := ask(`select count(*) from search_documents d join notes n on n.id = d.id and n.version = d.version where n.title like 'Imported %'`); got != n {
		t.Errorf("%d of %d notes are in the index as they are", got, n)
	}
	if got := ask(`select count(*) from river.river_job where kind = 'corpus.index'`); got > 2050 {
		t.Errorf("%d index tasks for %d notes", got, n)
	}
	if got := ask(`select count(*) from river.river_job where state = 'discarded'`); got != 0 {
		t.Errorf("%d tasks were discarded", got)
	}
	for _, i := range []int{0, 999, n - 1} {
		if !found(t, s, fmt.Sprintf("word%d", i), fmt.Sprintf("Imported %d", i)) {
			t.Errorf("a visitor does not find note %d", i)
		}
	}
	before := ask(`select count(*) from events`)
	run()
	if after := ask(`select count(*) from events`); after != before {
		t.Errorf("the second import of the same files recorded %d events", after-before)
	}
}
