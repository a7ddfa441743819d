// Package searchtest is what every search engine must do, as tests. The same
// suite runs against PostgreSQL, the fake Meilisearch and a real one.
package searchtest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/gatehouse-hq/gatehouse/internal/infra/search"
)

// Run checks an engine; fresh returns an empty one.
func Run(t *testing.T, fresh func(t *testing.T) search.Engine) {
	for name, test := range map[string]func(*testing.T, search.Engine){
		"words":            words,
		"names first":      namesFirst,
		"published only":   publishedOnly,
		"replace, remove":  replaceAndRemove,
		"older version":    olderVersion,
		"pages":            pages,
		"marks":            marks,
		"strange input":    strangeInput,
		"held":             held,
		"check":            check,
		"long and crowded": longAndCrowded,
	} {
		t.Run(name, func(t *testing.T) { t.Parallel(); test(t, fresh(t)) })
	}
}

// ID makes a document id from a small number.
func ID(n int) string { return fmt.Sprintf("00000000-0000-7000-8000-%012d", n) }

func doc(n int, title, body string) search.Document {
	return search.Document{ID: ID(n), Genre: "wiki", Title: title, Body: body, Published: true,
		UpdatedAt: time.Date(2026, 1, 1, 0, 0, n, 0, time.UTC), Version: 1}
}

func put(t *testing.T, e search.Engine, docs ...search.Document) {
	t.Helper()
	if err := e.Upsert(t.Context(), docs); err != nil {
		t.Fatal(err)
	}
}

// find returns the numbers of the documents found, best first.
func find(t *testing.T, e search.Engine, text string) []int {
	t.Helper()
	return numbers(t, e, search.Query{Text: text, Limit: 50})
}

func numbers(t *testing.T, e search.Engine, q search.Query) []int {
	t.Helper()
	res, err := e.Search(t.Context(), q)
	if err != nil {
		t.Fatalf("search %q: %v", q.Text, err)
	}
	out := []int{}
	for _, h := range res.Hits {
		var n int
		if _, err := fmt.Sscanf(h.ID[len(h.ID)-12:], "%d", &n); err != nil {
			t.Fatal(err)
		}
		out = append(out, n)
	}
	return out
}

func want(t *testing.T, what string, got []int, expected ...int) {
	t.Helper()
	if fmt.Sprint(got) != fmt.Sprint(append([]int{}, expected...)) {
		t.Errorf("%s: found %v, want %v", what, got, expected)
	}
}

func words(t *testing.T, e search.Engine) {
	put(t, e,
		doc(1, "Garden", "The pump stands beside the well."),
		doc(2, "Café Zürich", "Öl und Straße"),
		doc(3, "链接笔记和文件", "使用反向链接可以看到所有指向当前笔记的链接。"),
		doc(4, "日本語のノート", "検索できるテキスト"),
	)
	want(t, "a word", find(t, e, "pump"), 1)
	want(t, "another case", find(t, e, "PUMP"), 1)
	want(t, "the beginning of a word", find(t, e, "stan"), 1)
	want(t, "without accents", find(t, e, "cafe zurich"), 2)
	want(t, "every word is needed", find(t, e, "pump zürich"))
	want(t, "Chinese, two signs", find(t, e, "链接"), 3)
	want(t, "Chinese, a longer run", find(t, e, "反向链接"), 3)
	want(t, "Japanese", find(t, e, "検索"), 4)
	want(t, "nothing", find(t, e, "xylophone"))
}

func namesFirst(t *testing.T, e search.Engine) {
	alias := doc(4, "Remote storage", "Copies of a vault elsewhere.")
	alias.Aliases = []string{"Sync"}
	put(t, e,
		doc(1, "Notes on machines", "sync sync sync sync sync"),
		doc(2, "Sync settings", "What can be chosen."),
		doc(3, "Sync", "Keeps devices alike."),
		alias,
	)
	got := find(t, e, "sync")
	if len(got) != 4 || got[0] != 3 {
		t.Errorf("the note of that name is not first: %v", got)
	}
	if got[len(got)-1] != 1 {
		t.Errorf("the note that only mentions it is not last: %v", got)
	}
}

func publishedOnly(t *testing.T, e search.Engine) {
	private := doc(2, "Salary talk", "plum")
	private.Published = false
	put(t, e, doc(1, "Fruit", "plum"), private)
	want(t, "for visitors", numbers(t, e, search.Query{Text: "plum", PublishedOnly: true, Limit: 10}), 1)
	if got := find(t, e, "plum"); len(got) != 2 {
		t.Errorf("for the owner: %v", got)
	}
}

func replaceAndRemove(t *testing.T, e search.Engine) {
	put(t, e, doc(1, "One", "plum"))
	changed := doc(1, "One", "pear")
	changed.Version = 2
	put(t, e, changed)
	want(t, "the old text", find(t, e, "plum"))
	want(t, "the new text", find(t, e, "pear"), 1)
	for range 2 { // removing what is gone is fine
		if err := e.Remove(t.Context(), []string{ID(1)}); err != nil {
			t.Fatal(err)
		}
	}
	want(t, "removed", find(t, e, "pear"))
}

// A worker that read the note before a change does not win over one that read
// it after and wrote first (field case F31). Text of the same version is
// written: the names of other notes in it may have changed. What claims to be
// newer than the database gives way when it is removed.
func olderVersion(t *testing.T, e search.Engine) {
	versioned := func(version int64, body string) search.Document {
		d := doc(1, "Note", body)
		d.Version = version
		return d
	}
	put(t, e, versioned(3, "fig"))
	put(t, e, versioned(2, "plum"), doc(2, "Other", "pear"))
	want(t, "the newer text", find(t, e, "fig"), 1)
	want(t, "the older text", find(t, e, "plum"))
	want(t, "what came with it", find(t, e, "pear"), 2)
	put(t, e, versioned(3, "quince"))
	want(t, "the same version again", find(t, e, "quince"), 1)
	if err := e.Remove(t.Context(), []string{ID(1)}); err != nil {
		t.Fatal(err)
	}
	put(t, e, versioned(1, "plum"))
	want(t, "the database's older state", find(t, e, "plum"), 1)
}

func pages(t *testing.T, e search.Engine) {
	var docs []search.Document
	for n := 1; n <= 25; n++ {
		docs = append(docs, doc(n, fmt.Sprintf("Apple %d", n), "common"))
	}
	put(t, e, docs...)
	seen := map[int]bool{}
	for offset := 0; offset < 25; offset += 10 {
		res, err := e.Search(t.Context(), search.Query{Text: "common", Offset: offset, Limit: 10})
		if err != nil || res.Total != 25 {
			t.Fatalf("total %d, %v; want 25", res.Total, err)
		}
		for _, n := range numbers(t, e, search.Query{Text: "common", Offset: offset, Limit: 10}) {
			seen[n] = true
		}
	}
	if len(seen) != 25 {
		t.Errorf("pages showed %d of 25", len(seen))
	}
}

func marks(t *testing.T, e search.Engine) {
	body := strings.Repeat("Nothing to see here. ", 40) + "Then the Pump <b>broke</b>. " + strings.Repeat("And it goes on. ", 40)
	put(t, e, doc(1, "Water pump", body))
	res, err := e.Search(t.Context(), search.Query{Text: "pump", Limit: 10})
	if err != nil || len(res.Hits) != 1 {
		t.Fatalf("%d hits, %v", len(res.Hits), err)
	}
	title, marked := join(res.Hits[0].Title)
	if title != "Water pump" || marked != "pump" {
		t.Errorf("title %q, marked %q", title, marked)
	}
	text, marked := join(res.Hits[0].Excerpt)
	if marked != "Pump" || !strings.Contains(text, "<b>broke</b>") || len(text) > 600 {
		t.Errorf("excerpt %q, marked %q", text, marked)
	}
}

func join(ps []search.Piece) (all, marked string) {
	for _, p := range ps {
		all += p.Text
		if p.Match {
			marked += p.Text
		}
	}
	return all, marked
}

func strangeInput(t *testing.T, e search.Engine) {
	put(t, e, doc(1, "It's 50% \\ done_now", "a & b | !c <-> d:* ' quoted"))
	for _, text := range []string{"", "   ", "!!!", "' or 1=1 --", "a & !b", "\\", "%", "_", ":*", "🙂", strings.Repeat("word ", 500), strings.Repeat("x", 5000), "a\x00b"} {
		if _, err := e.Search(t.Context(), search.Query{Text: text, Limit: 10}); err != nil {
			t.Errorf("search %.20q: %v", text, err)
		}
	}
	want(t, "only signs", find(t, e, "%% !!"))
	want(t, "a quoted word", find(t, e, "quoted"), 1)
}

func held(t *testing.T, e search.Engine) {
	two := doc(2, "Two", "")
	two.Version = 7
	put(t, e, doc(1, "One", ""), two)
	got := map[string]int64{}
	err := e.Each(t.Context(), func(hs []search.Held) error {
		for _, h := range hs {
			got[h.ID] = h.Version
		}
		return nil
	})
	if err != nil || len(got) != 2 || got[ID(1)] != 1 || got[ID(2)] != 7 {
		t.Errorf("held %v, %v", got, err)
	}
}

func check(t *testing.T, e search.Engine) {
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	if err := errors.Join(e.Prepare(ctx), e.Check(ctx)); err != nil {
		t.Error(err)
	}
	if e.Name() == "" {
		t.Error("an engine without a name")
	}
}

func longAndCrowded(t *testing.T, e search.Engine) {
	var b strings.Builder
	for i := range 60_000 {
		fmt.Fprintf(&b, "w%dq ", i*7919)
	}
	put(t, e, doc(1, "Crowded", b.String()), doc(2, "Endless", strings.Repeat("y", 300_000)), doc(3, "汉字", strings.Repeat("汉字", 50_000)))
	want(t, "its first word", find(t, e, "w7919q"), 1)
	want(t, "its name", find(t, e, "endless"), 2)
	want(t, "its name", find(t, e, "汉字"), 3)
}
