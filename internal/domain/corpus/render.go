package corpus

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/gatehouse-hq/gatehouse/internal/domain/corpus/markdown"
	"github.com/gatehouse-hq/gatehouse/internal/infra/op"
)

// linker answers the links of one page for one reader. It asks the database
// once for all links of a body; what embedded notes link to follows lazily.
type linker struct {
	s          store
	publicOnly bool
	notes      map[string][]target
	files      map[string][]target
	places     map[string]place
	named      map[string]bool // ids of the notes that were given as targets
}

func newLinker(s store, publicOnly bool) *linker {
	return &linker{s: s, publicOnly: publicOnly, notes: map[string][]target{}, files: map[string][]target{},
		places: map[string]place{}, named: map[string]bool{}}
}

func (l *linker) prefetch(ctx context.Context, refs []markdown.Ref) error {
	var notes, files []string
	for _, r := range refs {
		if r.File {
			files = append(files, linkName(r.Target, true))
		} else {
			notes = append(notes, linkName(r.Target, false))
		}
	}
	if err := l.fetch(ctx, l.notes, notes, func(missing []string) (map[string][]target, error) {
		return l.s.targetsNamed(ctx, missing, l.publicOnly)
	}); err != nil {
		return err
	}
	return l.fetch(ctx, l.files, files, func(missing []string) (map[string][]target, error) {
		return l.s.filesNamed(ctx, missing)
	})
}

func (l *linker) fetch(_ context.Context, known map[string][]target, names []string, read func([]string) (map[string][]target, error)) error {
	slices.Sort(names)
	missing := slices.DeleteFunc(slices.Compact(names), func(n string) bool { _, ok := known[n]; return ok })
	if len(missing) == 0 {
		return nil
	}
	found, err := read(missing)
	for n, t := range found {
		known[n] = t
	}
	return err
}

// Note implements markdown.Resolver.
func (l *linker) Note(ctx context.Context, link, from string) (markdown.Note, bool, error) {
	if strings.HasPrefix(link, "/") {
		if n, ok, err := l.byAddress(ctx, link); ok || err != nil {
			return n, ok, err
		}
	}
	if err := l.prefetch(ctx, []markdown.Ref{{Target: link}}); err != nil {
		return markdown.Note{}, false, err
	}
	at, err := l.place(ctx, from)
	if err != nil {
		return markdown.Note{}, false, err
	}
	t, ok := choose(link, at, false, l.notes[linkName(link, false)])
	if !ok {
		return markdown.Note{}, false, nil
	}
	return l.give(t), true, nil
}

func (l *linker) give(t target) markdown.Note {
	l.named[t.id] = true
	return markdown.Note{ID: t.id, Title: t.title, Href: address(t.genre, t.id, t.path)}
}

// byAddress answers an address of this site: /wiki/a/b. Its other pages exist
// for everybody.
func (l *linker) byAddress(ctx context.Context, link string) (markdown.Note, bool, error) {
	genre, p, ok := strings.Cut(strings.TrimPrefix(link, "/"), "/")
	if !ok || genre != string(Wiki) && genre != string(Writing) {
		if slices.Contains([]string{"/", "/wiki", "/writing", "/tags", "/search", "/feed.xml", "/feed.json", "/request-access"}, link) {
			return markdown.Note{Title: link, Href: link}, true, nil
		}
		return markdown.Note{}, false, nil
	}
	n, err := l.s.one(ctx, `where n.genre = $1 and md5(n.path) = md5($2) and n.path = $2 and n.deleted_at is null and (n.published or not $3)`,
		genre, plain(p), l.publicOnly)
	if op.CodeOf(err) == op.NotFound {
		return markdown.Note{}, false, nil
	}
	if err != nil {
		return markdown.Note{}, false, err
	}
	return l.give(target{id: n.ID, genre: n.Genre, title: n.Title, path: n.Path}), true, nil
}

// place is where the note `from` stands; an unknown one stands nowhere.
func (l *linker) place(ctx context.Context, from string) (place, error) {
	if at, ok := l.places[from]; ok {
		return at, nil
	}
	n, err := l.s.live(ctx, from)
	if err != nil && op.CodeOf(err) != op.NotFound {
		return place{}, err
	}
	l.places[from] = placeOf(n)
	return l.places[from], nil
}

// File implements markdown.Resolver. A file needs no check of its own: the note
// that uses it is one the reader may read, which is what its rights follow.
func (l *linker) File(ctx context.Context, link, from string) (markdown.File, bool, error) {
	if err := l.prefetch(ctx, []markdown.Ref{{Target: link, File: true}}); err != nil {
		return markdown.File{}, false, err
	}
	at, err := l.place(ctx, from)
	if err != nil {
		return markdown.File{}, false, err
	}
	t, ok := choose(link, at, true, l.files[linkName(link, true)])
	if !ok {
		return markdown.File{}, false, nil
	}
	return markdown.File{ID: t.id, Name: t.title, Href: FileAddress(t.id, t.title), MIME: t.mime}, true, nil
}

// Body implements markdown.Resolver.
func (l *linker) Body(ctx context.Context, id string) (string, bool, error) {
	n, err := l.s.live(ctx, id)
	if op.CodeOf(err) == op.NotFound || err == nil && l.publicOnly && !n.Published {
		return "", false, nil
	}
	if err != nil {
		return "", false, err
	}
	l.places[n.ID] = placeOf(n)
	return n.Body, true, nil
}

// Tag implements markdown.Resolver.
func (l *linker) Tag(name string) string { return TagAddress(name) }

// RenderPublic renders a published note as visitors see it. A private one is
// not found.
func (d *Domain) RenderPublic(ctx context.Context, n Note, reserved ...string) (markdown.Page, error) {
	if !n.Published || n.DeletedAt != nil {
		return markdown.Page{}, errNotFound
	}
	return d.render(ctx, newLinker(d.store(), true), n, markdown.Options{ReservedIDs: reserved})
}

// Preview renders text for the owner's eyes: private targets resolve, and
// missing ones are named. from is the note's id, or empty for a new one.
func (d *Domain) Preview(ctx context.Context, title, body, from string) (markdown.Page, error) {
	if len(body) > BodyLimit {
		return markdown.Page{}, op.Invalidf("body", "The text has %d bytes. At most %d are taken.", len(body), BodyLimit)
	}
	n := Note{ID: from, Title: title, Body: plain(body)}
	l := newLinker(d.store(), false)
	if from != "" {
		saved, err := d.Get(ctx, from)
		if err != nil {
			return markdown.Page{}, err
		}
		n.Path, n.SourcePath = saved.Path, saved.SourcePath
	}
	return d.render(ctx, l, n, markdown.Options{ShowMissing: true})
}

func (d *Domain) render(ctx context.Context, l *linker, n Note, o markdown.Options) (markdown.Page, error) {
	refs, err := d.markdown.Links(n.Body)
	if err != nil {
		return markdown.Page{}, tooLarge(err)
	}
	l.places[n.ID] = placeOf(n)
	if err := l.prefetch(ctx, refs); err != nil {
		return markdown.Page{}, err
	}
	o.From, o.Title, o.Resolver, o.Words = n.ID, n.Title, l, d.words
	page, err := d.markdown.Render(ctx, n.Body, o)
	if err != nil {
		return markdown.Page{}, tooLarge(fmt.Errorf("render note %s: %w", n.ID, err))
	}
	return page, nil
}

func tooLarge(err error) error {
	if errors.Is(err, markdown.ErrTooLarge) {
		return op.Wrap(err, op.TooLarge, "The note is too large to be shown.")
	}
	return err
}
