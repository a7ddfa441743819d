package corpus_test

import (
	"strings"
	"testing"
	"time"

	"github.com/gatehouse-hq/gatehouse/internal/domain/corpus"
	"github.com/gatehouse-hq/gatehouse/internal/infra/op"
	"github.com/gatehouse-hq/gatehouse/internal/infra/pg"
)

const png = "\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x00\x01\x00\x00\x00\x01\x08\x06\x00\x00\x00\x1f\x15\xc4\x89"

// Field case F45: everything derived from a private note, as a stranger sees it.
func TestNothingPrivateShows(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	ctx := t.Context()
	_, lines := h.bring(vaultDir(t, map[string]string{
		"A.md":           "---\npublish: true\n---\n[[Salary talk|the talk]] [[Salary talk]] ![[Salary talk]] ![[x/photo.png]] ![[y/photo.png]]\n",
		"Salary talk.md": "---\ntags: [wages]\n---\nlinks to [[A]], ![[x/photo.png]] #pay\n",
		"x/photo.png":    png + "x", "y/photo.png": png + "y", "z/lonely.png": png + "z",
	}), corpus.ImportOptions{Name: "v"})
	a, talk := h.get(lines["A.md"].NoteID), h.get(lines["Salary talk.md"].NoteID)
	page, err := h.notes.RenderPublic(ctx, a)
	if err != nil {
		t.Fatal(err)
	}
	for what, text := range map[string]string{"HTML": page.HTML, "text": page.Text, "excerpt": page.Excerpt} {
		if strings.Contains(text, "Salary") || strings.Contains(text, "links to") {
			t.Errorf("%s tells: %s", what, text)
		}
	}
	if !strings.Contains(page.HTML, "the talk") {
		t.Errorf("the author's own words are gone: %s", page.HTML)
	}
	if _, err := h.notes.RenderPublic(ctx, talk); op.CodeOf(err) != op.NotFound {
		t.Errorf("a private note is rendered: %v", err)
	}
	if _, err := h.notes.PublicByAddress(ctx, corpus.Wiki, talk.Path); op.CodeOf(err) != op.NotFound {
		t.Errorf("a private note is at its address: %v", err)
	}
	if back, err := h.notes.PublicBacklinks(ctx, a.ID); err != nil || len(back) != 0 {
		t.Errorf("backlinks %v, %v", back, err)
	}
	if back, err := h.notes.Backlinks(ctx, a.ID); err != nil || len(back) != 1 {
		t.Errorf("the owner's backlinks %v, %v", back, err)
	}
	if tags, err := h.notes.PublicTags(ctx); err != nil || len(tags) != 0 {
		t.Errorf("tags %v, %v", tags, err)
	}
	if list, err := h.notes.PublicByTag(ctx, "wages", "", 10); err != nil || list.Total != 0 {
		t.Errorf("notes with a private tag %v, %v", list, err)
	}
	stamp, err := h.notes.PublicStamp(ctx)
	if err != nil {
		t.Fatal(err)
	}
	h.update(corpus.Change{ID: talk.ID, Body: new("still private")})
	if again, err := h.notes.PublicStamp(ctx); err != nil || again != stamp {
		t.Errorf("the public state moved with a private note: %s, %s, %v", stamp, again, err)
	}
	err = h.notes.PublicSitemap(ctx, func(address string, _ time.Time) error {
		if address != "/wiki/a" {
			t.Errorf("sitemap holds %s", address)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	h.filesFollowTheirNotes(a)
}

// A page that is kept goes by the stamp. A change that began before another and was stored after it must not hide behind
// it, nor one whose clock was behind; and one note that goes while another comes is not nothing.
func TestStampTellsEveryPublicState(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	ctx := t.Context()
	early := h.create(corpus.NewNote{Genre: corpus.Wiki, Title: "Early", Body: "a secret that is about to go", Published: true})
	late := h.create(corpus.NewNote{Genre: corpus.Wiki, Title: "Late", Published: true})
	hidden := h.create(corpus.NewNote{Genre: corpus.Wiki, Title: "Hidden"})
	seen := map[string]string{}
	look := func(what string) {
		t.Helper()
		stamp, err := h.notes.PublicStamp(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if same, there := seen[stamp]; there {
			t.Errorf("%s: the stamp is that of %q", what, same)
		}
		seen[stamp] = what
	}
	look("as it began")
	err := pg.InTx(ctx, h.db, func(tx pg.Tx) error {
		if _, err := tx.Exec(ctx, `update public.notes set body = '' where id = $1`, early.ID); err != nil {
			return err
		}
		h.update(corpus.Change{ID: late.ID, Body: new("newer")})
		look("the later change")
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	look("the earlier change, stored later")
	h.exec(`update public.notes set published = not published where id = any($1::uuid[])`, []string{early.ID, hidden.ID})
	h.exec(`update public.notes set updated_at = timestamptz '2000-01-01' where id = $1`, hidden.ID)
	look("one came and one went")
	h.update(corpus.Change{ID: hidden.ID, Body: new("more")})
	look("changed again")
	h.exec(`update public.notes set published = not published where id = any($1::uuid[])`, []string{early.ID, hidden.ID})
	look("and back")
}

// The rights of files: used by a published note, by none, and no longer.
func (h *house) filesFollowTheirNotes(a corpus.Note) {
	h.t.Helper()
	ctx := h.t.Context()
	ids := map[string]string{}
	rows, err := h.db.Query(ctx, `select source_path, id::text from public.attachments`)
	if err != nil {
		h.t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var p, id string
		if err := rows.Scan(&p, &id); err != nil {
			h.t.Fatal(err)
		}
		ids[p] = id
	}
	open := func(p string) bool {
		h.t.Helper()
		f, err := h.notes.Attachment(ctx, ids["v/"+p], false)
		if err != nil && op.CodeOf(err) != op.NotFound {
			h.t.Fatal(err)
		}
		return err == nil && len(f.Data) > 0
	}
	if !open("x/photo.png") || !open("y/photo.png") || open("z/lonely.png") {
		h.t.Errorf("open: x %t, y %t, lonely %t", open("x/photo.png"), open("y/photo.png"), open("z/lonely.png"))
	}
	h.update(corpus.Change{ID: a.ID, Body: new("only ![[y/photo.png]]")})
	if open("x/photo.png") || !open("y/photo.png") {
		h.t.Error("a file that only a private note uses is open")
	}
	if _, err := h.notes.Unpublish(ctx, []string{a.ID}); err != nil {
		h.t.Fatal(err)
	}
	if open("y/photo.png") {
		h.t.Error("a file stayed open when its note was taken back")
	}
	if _, err := h.notes.Attachment(ctx, ids["v/y/photo.png"], true); err != nil {
		h.t.Errorf("the owner cannot read the file: %v", err)
	}
}

func TestFoldersAreAsPublicAsWhatTheyHold(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	ctx := t.Context()
	_, lines := h.bring(vaultDir(t, map[string]string{"a/b/c.md": "x", "a/d.md": "y"}), corpus.ImportOptions{Name: "v"})
	same(t, "nothing public", h.paths(), []string{"wiki://a", "wiki://a/b", "wiki://a/b/c", "wiki://a/d"})
	if _, err := h.notes.Publish(ctx, []string{lines["a/b/c.md"].NoteID}); err != nil {
		t.Fatal(err)
	}
	same(t, "a leaf public", h.paths(), []string{"wiki://a*", "wiki://a/b*", "wiki://a/b/c*", "wiki://a/d"})
	batch, err := h.notes.Delete(ctx, []string{lines["a/b/c.md"].NoteID})
	if err != nil {
		t.Fatal(err)
	}
	same(t, "deleted", h.paths(), []string{"wiki://a", "wiki://a/b", "wiki://a/d"})
	if _, err := h.notes.Restore(ctx, batch.ID); err != nil {
		t.Fatal(err)
	}
	if _, err := h.notes.Move(ctx, lines["a/b/c.md"].NoteID, "", nil, 0); err != nil {
		t.Fatal(err)
	}
	same(t, "moved away", h.paths(), []string{"wiki://a", "wiki://a/b", "wiki://a/d", "wiki://c*"})
}

func TestArchiveByMonth(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	day := func(s string) *time.Time {
		d, err := time.Parse(time.RFC3339, s)
		if err != nil {
			t.Fatal(err)
		}
		return &d
	}
	for title, date := range map[string]string{"one": "2024-03-01T00:30:00Z", "two": "2024-03-31T12:00:00Z", "three": "2023-12-24T12:00:00Z"} {
		h.create(corpus.NewNote{Genre: corpus.Writing, Title: title, Dated: day(date), Published: true})
	}
	h.create(corpus.NewNote{Genre: corpus.Writing, Title: "draft", Dated: day("2024-03-02T00:00:00Z")})
	west := time.FixedZone("west", -3600)
	months, err := h.notes.PublicArchive(t.Context(), west)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, m := range months {
		got = append(got, m.Month.String())
		for _, n := range m.Notes {
			got = append(got, n.Title)
		}
	}
	same(t, "archive in a zone where one is still February", got, []string{"March", "two", "February", "one", "December", "three"})
}
