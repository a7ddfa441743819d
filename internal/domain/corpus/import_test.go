package corpus_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/gatehouse-hq/gatehouse/internal/domain/corpus"
	"github.com/gatehouse-hq/gatehouse/internal/domain/corpus/vault"
	"github.com/gatehouse-hq/gatehouse/internal/infra/op"
)

// vaultDir writes files into a folder.
func vaultDir(t testing.TB, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	writeFiles(t, dir, files)
	return dir
}

func writeFiles(t testing.TB, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		p := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(p, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// bring imports a folder and returns each file's line by its path.
func (h *house) bring(dir string, o corpus.ImportOptions) (corpus.ImportReport, map[string]corpus.ImportFile) {
	h.t.Helper()
	v, err := vault.Open(dir, vault.DefaultLimits())
	if err != nil {
		h.t.Fatal(err)
	}
	defer func() {
		if err := v.Close(); err != nil {
			h.t.Error(err)
		}
	}()
	report, err := h.notes.Import(h.t.Context(), v, o)
	if err != nil {
		h.t.Fatal(err)
	}
	files, _, err := h.notes.ImportFiles(h.t.Context(), report.ID, "", "", 1000)
	if err != nil {
		h.t.Fatal(err)
	}
	if report.State != "completed" || report.Done != report.Total || len(files) != report.Total {
		h.t.Errorf("report %+v with %d lines", report, len(files))
	}
	lines := map[string]corpus.ImportFile{}
	for _, f := range files {
		lines[f.Path] = f
	}
	return report, lines
}

// looksAt says which files of an import need a look.
func (h *house) looksAt(id string, paths ...string) {
	h.t.Helper()
	files, _, err := h.notes.ImportFiles(h.t.Context(), id, corpus.NeedsLook, "", 1000)
	if err != nil {
		h.t.Fatal(err)
	}
	n, err := h.notes.ImportToLookAt(h.t.Context(), id)
	if err != nil || n != len(files) {
		h.t.Errorf("%d files need a look, counted %d: %v", len(files), n, err)
	}
	var have []string
	for _, f := range files {
		have = append(have, f.Path)
	}
	same(h.t, "files that need a look", have, paths)
}

// paths are the addresses of all live notes, the public ones marked by a star.
func (h *house) paths() []string {
	h.t.Helper()
	rows, err := h.db.Query(h.t.Context(), `select genre || '://' || path || case when published then '*' else '' end from public.notes where deleted_at is null`)
	if err != nil {
		h.t.Fatal(err)
	}
	defer rows.Close()
	out := []string{}
	for rows.Next() {
		var p string
		if err := rows.Scan(&p); err != nil {
			h.t.Fatal(err)
		}
		out = append(out, p)
	}
	slices.Sort(out)
	return out
}

func TestImportOfAFolder(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	dir := vaultDir(t, map[string]string{
		"Home.md":             "---\npublish: true\naliases: [Start]\ntags: [garden, tools]\npermalink: welcome/here\n---\nSee [[Pump]] #inline\n",
		"Garden/Pump.md":      "---\npublish: true\n---\n![[pump.png]]\n",
		"Garden/Secret.md":    "---\npublish: false\n---\nplum\n",
		"Garden/Deep/Well.md": "no word on it\n",
		"Tools.md":            "a note that stands for a folder\n",
		"Tools/Hammer.md":     "---\npublish: true\n---\n",
		"Twin a.md":           "one\n",
		"Twin-a.md":           "two\n",
		"post.md":             "---\ngenre: writing\npublish: true\ndate: 2024-03-01\nslug: spring\n---\ntext\n",
		"pump.png":            "\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x00\x01\x00\x00\x00\x01\x08\x06\x00\x00\x00\x1f\x15\xc4\x89",
		"broken.md":           "---\ntitle: Plan: third\npublish: true\n---\nbody kept\n",
		"program.exe":         "MZ",
		".obsidian/app.json":  "{}",
	})
	report, lines := h.bring(dir, corpus.ImportOptions{Name: "home"})
	h.looksAt(report.ID, "Twin-a.md", "broken.md", "program.exe")
	same(t, "addresses", h.paths(), []string{
		"wiki://" + brokenPath(h), "wiki://garden*", "wiki://garden/deep", "wiki://garden/deep/well",
		"wiki://garden/pump*", "wiki://garden/secret", "wiki://home*", "wiki://tools", "wiki://tools/hammer*", "wiki://twin-a", "wiki://twin-a-2", "writing://spring*",
	})
	h.recorded("created wiki://"+brokenPath(h), "created wiki://garden", "created wiki://garden/deep", "created wiki://garden/deep/well",
		"created wiki://garden/pump", "created wiki://garden/secret", "created wiki://home", "created wiki://tools", "created wiki://tools/hammer",
		"created wiki://twin-a", "created wiki://twin-a-2", "created writing://spring", "writing.published writing://spring", "vault.imported vault://home")
	if l := lines["broken.md"]; l.Outcome != corpus.Imported || l.Line == 0 || l.Reason == "" {
		t.Errorf("unreadable front matter is reported as %+v", l)
	}
	if n := h.get(lines["broken.md"].NoteID); n.Published || !strings.Contains(n.Body, "body kept") {
		t.Errorf("unreadable front matter: published %t, body %q", n.Published, n.Body)
	}
	if l := lines["program.exe"]; l.Outcome != corpus.Refused || l.Reason == "" {
		t.Errorf("program.exe: %+v", l)
	}
	if l := lines["Twin-a.md"]; l.Outcome != corpus.Imported || !strings.Contains(l.Reason, "twin-a-2") {
		t.Errorf("Twin-a.md: %+v", l)
	}
	if l := lines["pump.png"]; l.Outcome != corpus.Imported {
		t.Errorf("pump.png: %+v", l)
	}
	if report.Counts[corpus.Imported] != 11 || report.Counts[corpus.Refused] != 1 || report.Counts[corpus.Skipped] != 1 {
		t.Errorf("counts %v", report.Counts)
	}
	home := h.get(lines["Home.md"].NoteID)
	same(t, "tags", home.AllTags(), []string{"garden", "tools", "inline"})
	same(t, "aliases", home.Aliases, []string{"Start"})
	if f, err := h.notes.PublicByAddress(t.Context(), corpus.Wiki, "welcome/here"); err != nil || f.Redirect != "/wiki/home" {
		t.Errorf("permalink leads to %+v, %v", f, err)
	}
	if n := h.get(lines["post.md"].NoteID); n.Dated == nil || n.Dated.Format("2006-01-02") != "2024-03-01" {
		t.Errorf("writing dated %v", n.Dated)
	}
}

func brokenPath(h *house) string {
	h.t.Helper()
	var p string
	if err := h.db.QueryRow(h.t.Context(), `select path from public.notes where source_path = 'home/broken.md'`).Scan(&p); err != nil {
		h.t.Fatal(err)
	}
	return p
}

// Field case F06 (3): the same files again record nothing, whatever happened to the notes' places.
func TestReimportIsDeterministic(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	dir := vaultDir(t, map[string]string{"a.md": "one", "dir/b.md": "two", "dir/c.md": "three", "d.md": "four", "e.md": "five"})
	_, first := h.bring(dir, corpus.ImportOptions{Name: "v"})
	h.forget()
	report, lines := h.bring(dir, corpus.ImportOptions{Name: "v"})
	h.recorded()
	if report.Counts[corpus.Unchanged] != 5 || lines["a.md"].NoteID != first["a.md"].NoteID {
		t.Errorf("counts %v", report.Counts)
	}
	// Changed in one place, in the other, in both, and deleted here.
	edit := func(file, body string) { h.update(corpus.Change{ID: first[file].NoteID, Body: &body}) }
	edit("dir/b.md", "here")
	edit("dir/c.md", "here")
	if _, err := h.notes.Move(t.Context(), first["a.md"].NoteID, first["d.md"].NoteID, nil, 0); err != nil {
		t.Fatal(err)
	}
	if _, err := h.notes.Publish(t.Context(), []string{first["a.md"].NoteID}); err != nil {
		t.Fatal(err)
	}
	if _, err := h.notes.Delete(t.Context(), []string{first["e.md"].NoteID}); err != nil {
		t.Fatal(err)
	}
	writeFiles(t, dir, map[string]string{"a.md": "one more", "dir/c.md": "there"})
	h.forget()
	_, lines = h.bring(dir, corpus.ImportOptions{Name: "v"})
	h.recorded("updated wiki://d/a", "vault.imported vault://v")
	for file, want := range map[string]corpus.Outcome{"a.md": corpus.Imported, "dir/b.md": corpus.Unchanged, "dir/c.md": corpus.Kept, "d.md": corpus.Unchanged, "e.md": corpus.Kept} {
		if got := lines[file]; got.Outcome != want || want == corpus.Kept && got.Reason == "" {
			t.Errorf("%s: %+v, want %s", file, got, want)
		}
	}
	if a := h.get(first["a.md"].NoteID); a.Body != "one more" || !a.Published {
		t.Errorf("the file's edit is %q, published %t: what the owner decided about being public stays", a.Body, a.Published)
	}
	if c := h.get(first["dir/c.md"].NoteID); c.Body != "here" {
		t.Errorf("an edit here was overwritten by %q", c.Body)
	}
}

// What the author newly says about being public counts; so does front matter that became unreadable.
func TestPublishWordOfAFile(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	dir := vaultDir(t, map[string]string{"a.md": "---\npublish: true\n---\n", "b.md": "text", "c.md": "---\npublish: true\n---\nx"})
	h.bring(dir, corpus.ImportOptions{Name: "v", PublishDefault: true})
	same(t, "default", h.paths(), []string{"wiki://a*", "wiki://b*", "wiki://c*"})
	writeFiles(t, dir, map[string]string{"a.md": "---\npublish: false\n---\n", "c.md": "---\npublish: true\ntitle: a: b\n---\nx"})
	_, lines := h.bring(dir, corpus.ImportOptions{Name: "v", PublishDefault: true})
	if h.get(lines["a.md"].NoteID).Published || !h.get(lines["b.md"].NoteID).Published || h.get(lines["c.md"].NoteID).Published {
		t.Errorf("public after the second import: %v", h.paths())
	}
}

// Two vaults of the same shape stand beside each other, and each finds its own again.
func TestTwoVaults(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	dir := vaultDir(t, map[string]string{"Home.md": "see [[Other]]", "Other.md": "x"})
	shelf := h.create(corpus.NewNote{Title: "Shelf"})
	_, one := h.bring(dir, corpus.ImportOptions{Name: "one"})
	_, two := h.bring(dir, corpus.ImportOptions{Name: "two", Into: shelf.ID})
	same(t, "addresses", h.paths(), []string{"wiki://home", "wiki://other", "wiki://shelf", "wiki://shelf/home", "wiki://shelf/other"})
	n, err := h.notes.Resolve(t.Context(), "Other", two["Home.md"].NoteID)
	if err != nil || n.ID != two["Other.md"].NoteID {
		t.Errorf("a link of the second vault leads to %s, %v", n.Path, err)
	}
	back, err := h.notes.Backlinks(t.Context(), one["Other.md"].NoteID)
	if err != nil || len(back) != 1 || back[0].ID != one["Home.md"].NoteID {
		t.Errorf("backlinks %v, %v", back, err)
	}
}

func TestImportRefusals(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	ctx := t.Context()
	_, err := h.notes.ImportUpload(ctx, strings.NewReader("no zip"), corpus.ImportOptions{Name: "v"})
	refused(t, err, op.Invalid, "archive")
	_, err = h.notes.ImportUpload(ctx, strings.NewReader(""), corpus.ImportOptions{Name: "a\x00"})
	refused(t, err, op.Invalid, "name")
	_, err = h.notes.ImportUpload(ctx, strings.NewReader(""), corpus.ImportOptions{Name: "v", Into: "x"})
	refused(t, err, op.Invalid, "into")
	v, err := vault.Open(vaultDir(t, map[string]string{"a.md": "x"}), vault.DefaultLimits())
	if err != nil {
		t.Fatal(err)
	}
	_, err = h.notes.Import(ctx, v, corpus.ImportOptions{Name: "v", Into: nobody})
	refused(t, err, op.Invalid, "into")
	h.recorded()
}
