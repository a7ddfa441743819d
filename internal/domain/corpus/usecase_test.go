package corpus_test

import (
	"strings"
	"testing"

	"github.com/gatehouse-hq/gatehouse/internal/domain/corpus"
	"github.com/gatehouse-hq/gatehouse/internal/infra/op"
)

const nobody = "01900000-0000-7000-8000-000000000009"

func TestBadInputIsRefusedAtItsField(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	n := h.create(corpus.NewNote{Title: "There"})
	raw := h.create(corpus.NewNote{Genre: corpus.Raw, Title: "Private"})
	h.forget()
	for name, c := range map[string]struct {
		in    corpus.NewNote
		code  op.Code
		field string
	}{
		"no title":         {corpus.NewNote{Genre: corpus.Wiki, Title: "  "}, op.Invalid, "title"},
		"NUL in the title": {corpus.NewNote{Genre: corpus.Wiki, Title: "ab\x00cd"}, op.Invalid, "title"}, // field case F12
		"NUL in the body":  {corpus.NewNote{Genre: corpus.Wiki, Title: "t", Body: "ab\x00"}, op.Invalid, "body"},
		"no UTF-8":         {corpus.NewNote{Genre: corpus.Wiki, Title: "t", Body: "\xff\xfe"}, op.Invalid, "body"},
		"two lines":        {corpus.NewNote{Genre: corpus.Wiki, Title: "a\nb"}, op.Invalid, "title"},
		"long title":       {corpus.NewNote{Genre: corpus.Wiki, Title: strings.Repeat("長", corpus.TitleLimit+1)}, op.Invalid, "title"},
		"long body":        {corpus.NewNote{Genre: corpus.Wiki, Title: "t", Body: strings.Repeat("a", corpus.BodyLimit+1)}, op.Invalid, "body"},
		"long slug":        {corpus.NewNote{Genre: corpus.Wiki, Title: "t", Slug: strings.Repeat("a", 81)}, op.Invalid, "slug"},
		"slug of signs":    {corpus.NewNote{Genre: corpus.Wiki, Title: "t", Slug: "!!"}, op.Invalid, "slug"},
		"NUL in a tag":     {corpus.NewNote{Genre: corpus.Wiki, Title: "t", Tags: []string{"a\x00"}}, op.Invalid, "tags"},
		"NUL in an alias":  {corpus.NewNote{Genre: corpus.Wiki, Title: "t", Aliases: []string{"a\x00"}}, op.Invalid, "aliases"},
		"unknown genre":    {corpus.NewNote{Genre: "poem", Title: "t"}, op.Invalid, "genre"},
		"public raw":       {corpus.NewNote{Genre: corpus.Raw, Title: "t", Published: true}, op.Invalid, "published"},
		"raw below":        {corpus.NewNote{Genre: corpus.Raw, Title: "t", ParentID: n.ID}, op.Invalid, "parent_id"},
		"no such parent":   {corpus.NewNote{Genre: corpus.Wiki, Title: "t", ParentID: nobody}, op.Invalid, "parent_id"},
		"parent is no id":  {corpus.NewNote{Genre: corpus.Wiki, Title: "t", ParentID: "x"}, op.Invalid, "parent_id"},
		"taken title":      {corpus.NewNote{Genre: corpus.Wiki, Title: "There!"}, op.Conflict, "title"},
		"taken slug":       {corpus.NewNote{Genre: corpus.Wiki, Title: "Other", Slug: "there"}, op.Conflict, "slug"},
	} {
		_, err := h.notes.Create(t.Context(), c.in)
		t.Run(name, func(t *testing.T) { refused(t, err, c.code, c.field) })
	}
	_, err := h.notes.Update(t.Context(), corpus.Change{ID: n.ID, Title: new("ab\x00cd")})
	refused(t, err, op.Invalid, "title")
	_, err = h.notes.Publish(t.Context(), []string{raw.ID})
	refused(t, err, op.Invalid, "published")
	_, err = h.notes.Update(t.Context(), corpus.Change{ID: raw.ID, Published: new(true)})
	refused(t, err, op.Invalid, "published")
	h.recorded()
}

func TestUnknownNotesAreNotFound(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	ctx := t.Context()
	for _, id := range []string{nobody, "", "x", "'; drop table notes; --"} {
		for what, try := range map[string]func() error{
			"get":       func() error { _, err := h.notes.Get(ctx, id); return err },
			"update":    func() error { _, err := h.notes.Update(ctx, corpus.Change{ID: id, Title: new("t")}); return err },
			"publish":   func() error { _, err := h.notes.Publish(ctx, []string{id}); return err },
			"delete":    func() error { _, err := h.notes.Delete(ctx, []string{id}); return err },
			"move":      func() error { _, err := h.notes.Move(ctx, id, "", nil, 0); return err },
			"promote":   func() error { _, err := h.notes.Promote(ctx, id, "", 0); return err },
			"restore":   func() error { _, err := h.notes.Restore(ctx, id); return err },
			"backlinks": func() error { _, err := h.notes.Backlinks(ctx, id); return err },
			"file":      func() error { _, err := h.notes.Attachment(ctx, id, true); return err },
			"import":    func() error { _, err := h.notes.ImportStatus(ctx, id); return err },
		} {
			if err := try(); op.CodeOf(err) != op.NotFound {
				t.Errorf("%s %q: got %v, want not found", what, id, err)
			}
		}
	}
	h.recorded()
}

func TestStaleVersionIsAConflictAndChangesNothing(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	n := h.create(corpus.NewNote{Title: "Pump", Body: "one"})
	h.update(corpus.Change{ID: n.ID, ExpectVersion: n.Version, Body: new("two")})
	h.forget()
	_, err := h.notes.Update(t.Context(), corpus.Change{ID: n.ID, ExpectVersion: n.Version, Body: new("three")})
	refused(t, err, op.Conflict, "")
	_, err = h.notes.Move(t.Context(), n.ID, "", nil, n.Version)
	refused(t, err, op.Conflict, "")
	if got := h.get(n.ID); got.Body != "two" {
		t.Errorf("body is %q, want the one saved first", got.Body)
	}
	h.recorded()
}

func TestOmittedFieldsAreKept(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	n := h.create(corpus.NewNote{Title: "Pump", Body: "body #inline", Tags: []string{"#Garden", "garden", "two words"}, Aliases: []string{"Plan: second"},
		Description: "d", Published: true})
	same(t, "tags", n.Tags, []string{"Garden", "two-words"})
	same(t, "tags in the text", n.BodyTags, []string{"inline"})
	got := h.update(corpus.Change{ID: n.ID, Title: new("New pump")})
	if got.Body != n.Body || got.Description != "d" || !got.Published || got.Path != "new-pump" || got.Version != n.Version+1 {
		t.Errorf("got %+v", got)
	}
	same(t, "tags", got.Tags, n.Tags)
	same(t, "aliases", got.Aliases, n.Aliases)
	got = h.update(corpus.Change{ID: n.ID, Slug: new("own")})
	if got = h.update(corpus.Change{ID: n.ID, Title: new("Third")}); got.Path != "own" {
		t.Errorf("an address of its own moved with the title: %s", got.Path)
	}
	if got = h.update(corpus.Change{ID: n.ID, Slug: new("")}); got.Path != "third" {
		t.Errorf("an emptied address is %s, want the title's again", got.Path)
	}
}

// Field case F03: what is long in bytes is saved all the same.
func TestLongTextsAreSaved(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	title := strings.Repeat("反", 2700)
	n := h.create(corpus.NewNote{Title: title, Body: strings.Repeat("向", 3000)})
	if n.Title != title || len([]rune(n.Segment)) != corpus.SegmentLimit {
		t.Errorf("title of %d bytes, segment %q", len(n.Title), n.Segment)
	}
	// The deepest and longest address there can be.
	parent := ""
	for range 32 {
		parent = h.create(corpus.NewNote{Title: strings.Repeat("鏈", 80), ParentID: parent}).ID
	}
	h.forget()
	_, err := h.notes.Create(t.Context(), corpus.NewNote{Genre: corpus.Wiki, Title: "too deep", ParentID: parent})
	refused(t, err, op.Invalid, "parent_id")
	h.recorded()
}

func TestTree(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	ctx := t.Context()
	a := h.create(corpus.NewNote{Title: "A"})
	b := h.create(corpus.NewNote{Title: "B", ParentID: a.ID})
	c := h.create(corpus.NewNote{Title: "C", ParentID: b.ID, Published: true})
	_, err := h.notes.Move(ctx, a.ID, c.ID, nil, 0)
	refused(t, err, op.Invalid, "parent_id")
	_, err = h.notes.Move(ctx, a.ID, a.ID, nil, 0)
	refused(t, err, op.Invalid, "parent_id")
	if got := h.get(c.ID).Path; got != "a/b/c" {
		t.Errorf("path %s after refused moves", got)
	}
	if _, err := h.notes.Move(ctx, b.ID, "", nil, 0); err != nil {
		t.Fatal(err)
	}
	if got := h.get(c.ID).Path; got != "b/c" {
		t.Errorf("path %s, want it to follow its parent", got)
	}
	tree, err := h.notes.Tree(ctx)
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, n := range tree {
		lines = append(lines, strings.Repeat(" ", n.Depth)+n.Title)
	}
	same(t, "tree", lines, []string{"A", "B", " C"})
	index, err := h.notes.PublicIndex(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if len(index) != 1 || index[0].Title != "C" || index[0].Depth != 0 {
		t.Errorf("public index %+v, want C alone at the top", index)
	}
	up, err := h.notes.Ancestors(ctx, c.ID)
	if err != nil || len(up) != 1 || up[0].Title != "B" {
		t.Errorf("above C: %+v, %v", up, err)
	}
}

func TestOldAddressesLeadToTheNote(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	ctx := t.Context()
	top := h.create(corpus.NewNote{Title: "Garden", Published: true})
	n := h.create(corpus.NewNote{Title: "Pump", ParentID: top.ID, Published: true})
	at := func(path string) string {
		t.Helper()
		f, err := h.notes.PublicByAddress(ctx, corpus.Wiki, path)
		switch {
		case op.CodeOf(err) == op.NotFound:
			return "not found"
		case err != nil:
			t.Fatal(err)
		case f.Redirect != "":
			return "→ " + f.Redirect
		}
		return f.Note.Title
	}
	want := func(path, want string) {
		t.Helper()
		if got := at(path); got != want {
			t.Errorf("%s: got %q, want %q", path, got, want)
		}
	}
	want("garden/pump", "Pump")
	want("Garden/Pump", "→ /wiki/garden/pump")
	h.update(corpus.Change{ID: top.ID, Title: new("Yard")})
	want("garden/pump", "→ /wiki/yard/pump")
	want("garden", "→ /wiki/yard")
	h.update(corpus.Change{ID: n.ID, Title: new("Salary"), Published: new(false)})
	want("garden/pump", "not found")
	want("yard/pump", "not found")
	want("yard/salary", "not found")
	h.update(corpus.Change{ID: n.ID, Title: new("Well"), Published: new(true)})
	want("yard/pump", "→ /wiki/yard/well")
	want("yard/salary", "not found") // was never public
	private := h.create(corpus.NewNote{Title: "Garden"})
	want("garden", "→ /wiki/yard") // a private note there tells nothing
	h.update(corpus.Change{ID: private.ID, Published: new(true)})
	want("garden", "Garden")
	want("a\x00b", "not found")
}

func TestTrashComesBackUnderTheSameIDs(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	ctx := t.Context()
	top := h.create(corpus.NewNote{Title: "Garden"})
	n := h.create(corpus.NewNote{Title: "Pump", ParentID: top.ID, Published: true})
	batch, err := h.notes.Delete(ctx, []string{top.ID})
	if err != nil || batch.Notes != 2 || batch.Titles[0] != "Garden" {
		t.Fatalf("batch %+v, %v", batch, err)
	}
	if _, err := h.notes.Get(ctx, n.ID); op.CodeOf(err) != op.NotFound {
		t.Errorf("a deleted note is still read: %v", err)
	}
	taker := h.create(corpus.NewNote{Title: "Garden"}) // takes the address meanwhile
	trash, err := h.notes.Trash(ctx)
	if err != nil || len(trash) != 1 || trash[0].ID != batch.ID {
		t.Fatalf("trash %+v, %v", trash, err)
	}
	if _, err := h.notes.Restore(ctx, batch.ID); err != nil {
		t.Fatal(err)
	}
	if got := h.get(n.ID); got.Path != "garden-2/pump" || !got.Published || got.ParentID != top.ID {
		t.Errorf("restored as %+v", got)
	}
	if got := h.get(taker.ID).Path; got != "garden" {
		t.Errorf("the other note moved to %s", got)
	}
	_, err = h.notes.Restore(ctx, batch.ID)
	refused(t, err, op.NotFound, "")
	// A note whose parent went after it comes back at the top.
	first, err := h.notes.Delete(ctx, []string{n.ID})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := h.notes.Delete(ctx, []string{top.ID}); err != nil {
		t.Fatal(err)
	}
	if _, err := h.notes.Restore(ctx, first.ID); err != nil {
		t.Fatal(err)
	}
	if got := h.get(n.ID); got.Path != "pump" || got.ParentID != "" {
		t.Errorf("restored as %s below %q", got.Path, got.ParentID)
	}
}

func TestListsPageWithoutGapsOrRepeats(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	for _, title := range []string{"b", "A", "c", "D", "e"} {
		h.create(corpus.NewNote{Title: title, Tags: []string{"letters/latin"}})
	}
	h.create(corpus.NewNote{Genre: corpus.Raw, Title: "zz"})
	for _, sort := range []corpus.Sort{corpus.ByTitle, corpus.ByUpdated, corpus.ByDate} {
		var got []string
		cursor := ""
		for range 10 {
			page, err := h.notes.List(t.Context(), corpus.Filter{Genre: corpus.Wiki, Tag: "LETTERS", Sort: sort, Cursor: cursor, Limit: 2})
			if err != nil {
				t.Fatal(err)
			}
			if page.Total != 5 {
				t.Errorf("total %d, want 5", page.Total)
			}
			for _, n := range page.Notes {
				got = append(got, n.Title)
			}
			if cursor = page.Next; cursor == "" {
				break
			}
		}
		want := []string{"A", "b", "c", "D", "e"}
		if sort != corpus.ByTitle {
			want = []string{"e", "D", "c", "A", "b"}
		}
		same(t, string(sort), got, want)
	}
	for field, f := range map[string]corpus.Filter{"cursor": {Cursor: "??"}, "limit": {Limit: 101}, "sort": {Sort: "luck"}, "genre": {Genre: "poem"}} {
		_, err := h.notes.List(t.Context(), f)
		refused(t, err, op.Invalid, field)
	}
	tags, err := h.notes.Tags(t.Context())
	if err != nil || len(tags) != 2 || tags[0] != (corpus.TagCount{Tag: "letters", Notes: 5}) {
		t.Errorf("tags %v, %v", tags, err)
	}
	if tags, err := h.notes.PublicTags(t.Context()); err != nil || len(tags) != 0 {
		t.Errorf("tags of private notes are public: %v, %v", tags, err)
	}
}
