package corpus

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"net/url"
	"path"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/gatehouse-hq/gatehouse/internal/domain/corpus/markdown"
	"github.com/gatehouse-hq/gatehouse/internal/domain/corpus/vault"
	"github.com/gatehouse-hq/gatehouse/internal/infra/pg"
)

// batchWriter writes one batch in its transaction.
type batchWriter struct {
	*importer
	tx    pg.Tx
	s     store
	known map[string]known // notes of this vault, by source path
	ids   []string         // fresh ids
	queue pgx.Batch
	links map[string][]markdown.Ref
}

// known is a note that an earlier import brought.
type known struct {
	Note
	sum, content string
}

func (w *batchWriter) write(ctx context.Context, entries []entry) error {
	if err := w.s.lockTree(ctx); err != nil {
		return err
	}
	if err := w.load(ctx, entries); err != nil {
		return err
	}
	w.links = map[string][]markdown.Ref{}
	lines := make([]ImportFile, 0, len(entries))
	var facts []func() error
	for i := range entries {
		e := &entries[i]
		line := ImportFile{N: w.done + i, Path: plain(e.Path), Reason: plain(e.Reason), Line: e.line}
		then, err := w.file(ctx, e, &line)
		if err != nil {
			return err
		}
		if then != nil {
			facts = append(facts, then)
		}
		w.counts[line.Outcome]++
		lines = append(lines, line)
	}
	if err := w.tx.SendBatch(ctx, &w.queue).Close(); err != nil {
		return fmt.Errorf("write notes: %w", err)
	}
	if len(w.links) > 0 {
		if err := w.s.replaceLinks(ctx, w.links); err != nil {
			return err
		}
	}
	for _, f := range facts {
		if err := f(); err != nil {
			return err
		}
	}
	w.done += len(entries)
	return w.s.addFiles(ctx, w.id, lines, w.counts, w.done)
}

// load reads what the database has of these files and their folders.
func (w *batchWriter) load(ctx context.Context, entries []entry) error {
	var sources []string
	for _, e := range entries {
		sources = append(sources, w.plan.source(e.Path))
		for dir := dirOf(e.Path); dir != ""; dir = dirOf(dir) {
			if f := w.plan.folders[dir]; f != nil && f.note != "" {
				sources = append(sources, w.plan.source(f.note))
			}
			sources = append(sources, w.plan.source(dir)+"/")
		}
	}
	rows, err := w.tx.Query(ctx, `select `+noteColumns+`, coalesce(n.source_hash, ''), coalesce(n.source_content, '')
		from public.notes n where md5(n.source_path) in (select md5(s) from unnest($1::text[]) s) and n.source_path = any($1)
		order by n.deleted_at desc nulls last`, sources)
	if err != nil {
		return fmt.Errorf("read what was imported before: %w", err)
	}
	defer rows.Close()
	w.known = map[string]known{}
	for rows.Next() {
		var k known
		if k.Note, err = scanNote(trailing{rows, []any{&k.sum, &k.content}}); err != nil {
			return fmt.Errorf("read what was imported before: %w", err)
		}
		w.known[k.SourcePath] = k // live ones come last and win
	}
	if err := rows.Err(); err != nil {
		return fmt.Errorf("read what was imported before: %w", err)
	}
	fresh, err := w.tx.Query(ctx, `select public.uuid_v7()::text from generate_series(1, $1)`, len(sources)+len(entries))
	if err != nil {
		return fmt.Errorf("make ids: %w", err)
	}
	w.ids, err = collectStrings(fresh)
	return err
}

func (w *batchWriter) freshID() string {
	id := w.ids[0]
	w.ids = w.ids[1:]
	return id
}

// file decides what becomes of one file. What it returns is done once all notes
// of the batch are written.
func (w *batchWriter) file(ctx context.Context, e *entry, line *ImportFile) (func() error, error) {
	switch {
	case e.Kind == vault.KindSkipped:
		line.Outcome = Skipped
	case e.Kind == vault.KindRefused:
		line.Outcome = Refused
	case e.refused != "":
		line.Outcome, line.Reason = Refused, plain(e.refused)
	case e.Kind == vault.KindAttachment:
		return nil, w.attachment(ctx, e, line)
	default:
		return w.note(ctx, e, line)
	}
	return nil, nil
}

func (w *batchWriter) attachment(ctx context.Context, e *entry, line *ImportFile) error {
	a := e.Attachment
	fresh, err := w.s.putAttachment(ctx, Attachment{Name: plain(a.Name), SourcePath: w.plan.source(e.Path), MediaType: a.MIME,
		Size: int64(len(a.Data)), Hash: fmt.Sprintf("%x", a.Sum), Data: a.Data})
	line.Outcome = Unchanged
	if fresh {
		line.Outcome, w.changed = Imported, true
	}
	return err
}

func (w *batchWriter) note(ctx context.Context, e *entry, line *ImportFile) (func() error, error) {
	k, found := w.known[e.n.SourcePath]
	line.NoteID = k.ID
	switch {
	case found && k.DeletedAt != nil && k.sum == e.sum:
		line.Outcome, line.Reason, line.NoteID = Kept, "it is in the trash here: restore it there", ""
		return nil, nil
	case found && k.DeletedAt == nil && k.sum == e.sum:
		line.Outcome = Unchanged
		return nil, nil
	case found && k.DeletedAt == nil && contentSum(k.Note) != k.content:
		line.Outcome, line.Reason = Kept, "it was changed here since the last import, and what is here wins"
		return nil, nil
	case found && k.DeletedAt == nil:
		return w.replaceNote(ctx, e, k, line)
	}
	return w.addNote(ctx, e, line)
}

func (w *batchWriter) addNote(ctx context.Context, e *entry, line *ImportFile) (func() error, error) {
	n := e.n
	n.ID = w.freshID()
	if n.Genre == Wiki {
		var err error
		if n.ParentID, err = w.parent(ctx, dirOf(e.Path)); err != nil {
			return nil, err
		}
		n.Segment = w.plan.segment[e.Path]
	}
	if n.Segment == "" {
		n.Segment = Segment(n.Title)
	}
	segment, err := w.free(ctx, n)
	if err != nil {
		return nil, err
	}
	if n.Genre != Raw && segment != Segment(n.Title) && e.n.Segment == "" {
		line.Reason = joinReasons(line.Reason, "another note has its address: it stands at "+segment)
	}
	n.Segment = segment
	w.insert(n, e.sum, false)
	w.alias(n, e.Note.Front.Permalink)
	w.links[n.ID] = e.f.links
	w.known[n.SourcePath] = known{Note: n, sum: e.sum, content: contentSum(n)}
	line.Outcome, line.NoteID, w.changed = Imported, n.ID, true
	return func() error { return w.visible(ctx, Note{Genre: n.Genre}, n) }, nil
}

func (w *batchWriter) replaceNote(ctx context.Context, e *entry, k known, line *ImportFile) (func() error, error) {
	n := k.Note
	was := k.Note
	if n.Segment == Segment(n.Title) && Segment(e.n.Title) != n.Segment {
		n.Title, n.Segment = e.n.Title, Segment(e.n.Title)
		segment, err := w.free(ctx, n)
		if err != nil {
			return nil, err
		}
		n.Segment = segment
	}
	n.Title, n.Body, n.Tags, n.Aliases, n.Description, n.BodyTags, n.Folder = e.n.Title, e.n.Body, e.n.Tags, e.n.Aliases, e.n.Description, e.n.BodyTags, false
	if e.n.Dated != nil {
		n.Dated = e.n.Dated
	}
	// The author's word on being public counts when it is new: what the owner
	// decided here stays as long as the file says what it said before.
	if !sameWord(e.sum, k.sum) || e.Note.Front.Unreadable {
		n.Published = e.n.Published
	}
	if n.Genre == Raw {
		n.Published = false
	}
	w.queue.Queue(`update public.notes set segment = $2, title = $3, body = $4, tags = $5, aliases = $6, description = $7, body_tags = $8, dated = $9,
			published = $10, folder = false, source_hash = $11, source_content = $12 where id = $1`,
		n.ID, n.Segment, n.Title, n.Body, n.Tags, n.Aliases, n.Description, n.BodyTags, n.Dated, n.Published, e.sum, contentSum(n))
	w.alias(n, e.Note.Front.Permalink)
	w.links[n.ID] = e.f.links
	line.Outcome, line.NoteID, w.changed = Imported, n.ID, true
	w.touched = append(w.touched, n.ParentID)
	return func() error { return w.visible(ctx, was, n) }, nil
}

// sameWord tells whether two sums agree on whether the file is to be public.
func sameWord(a, b string) bool {
	return a[strings.LastIndexByte(a, ':')+1:] == b[strings.LastIndexByte(b, ':')+1:]
}

func (w *batchWriter) visible(ctx context.Context, was, n Note) error {
	if n.Genre != Writing || was.Published == n.Published {
		return nil
	}
	saved, err := w.s.live(ctx, n.ID)
	if err != nil {
		return err
	}
	return w.d.recordVisibility(ctx, w.tx, was, saved)
}

func (w *batchWriter) insert(n Note, sum string, folder bool) {
	w.queue.Queue(`insert into public.notes (id, owner_id, genre, parent_id, segment, path, title, body, tags, aliases, description, published, dated,
			body_tags, folder, source_path, source_hash, source_content)
		values ($1, `+theOwner+`, $2, $3, $4, '', $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16)`,
		n.ID, n.Genre, nullable(n.ParentID), n.Segment, n.Title, n.Body, notNil(n.Tags), notNil(n.Aliases), n.Description, n.Published, n.Dated,
		notNil(n.BodyTags), folder, n.SourcePath, sum, contentSum(n))
	w.touched = append(w.touched, n.ParentID)
}

// alias makes a permalink of the vault lead to the note.
func (w *batchWriter) alias(n Note, permalink string) {
	p := pathOnly(permalink)
	if p == "" || n.Genre == Raw || storable("", p) != nil {
		return
	}
	p = segments(p)
	w.queue.Queue(`insert into public.note_addresses (owner_id, genre, path, note_id) values (`+theOwner+`, $1, $2, $3)
		on conflict (owner_id, genre, md5(path)) do update set note_id = excluded.note_id`, n.Genre, p, n.ID)
}

// parent is the note that stands for a folder; it is made if it is not there.
func (w *batchWriter) parent(ctx context.Context, dir string) (string, error) {
	if id, ok := w.parents[dir]; ok {
		return id, nil
	}
	f := w.plan.folders[dir]
	if f == nil { // the vault changed between the two readings
		f = &folder{path: dir}
	}
	for _, source := range []string{f.note, dir + "/"} {
		if k, ok := w.known[w.plan.source(source)]; ok && source != "" && k.DeletedAt == nil && k.Genre == Wiki {
			w.parents[dir] = k.ID
			return k.ID, nil
		}
	}
	up, err := w.parent(ctx, dirOf(dir))
	if err != nil {
		return "", err
	}
	segment := w.plan.segment[dir+"/"]
	if segment == "" {
		segment = Segment(path.Base(dir))
	}
	n := Note{ID: w.freshID(), Genre: Wiki, ParentID: up, Title: clip(path.Base(dir), TitleLimit), Segment: segment, Published: f.public,
		SourcePath: w.plan.source(dir) + "/"}
	if n.Segment, err = w.free(ctx, n); err != nil {
		return "", err
	}
	w.insert(n, "", true)
	w.parents[dir], w.changed = n.ID, true
	w.taken[n.ID] = map[string]bool{}
	w.known[n.SourcePath] = known{Note: n}
	return n.ID, nil
}

// free is n's segment, numbered when a sibling has it.
func (w *batchWriter) free(ctx context.Context, n Note) (string, error) {
	if n.Genre == Raw {
		return n.Segment, nil
	}
	key := string(n.Genre) + n.ParentID
	used := w.taken[key]
	if used == nil {
		rows, err := w.tx.Query(ctx, `select segment from public.notes where genre = $1 and parent_id is not distinct from $2 and deleted_at is null`,
			n.Genre, nullable(n.ParentID))
		if err != nil {
			return "", fmt.Errorf("read the addresses in use: %w", err)
		}
		segments, err := collectStrings(rows)
		if err != nil {
			return "", fmt.Errorf("read the addresses in use: %w", err)
		}
		used = map[string]bool{}
		for _, s := range segments {
			used[s] = true
		}
		w.taken[key] = used
	}
	s := unused(n.Segment, used)
	used[s] = true
	return s, nil
}

// contentSum is a digest of what the owner can edit and a file can bring.
func contentSum(n Note) string {
	b, err := json.Marshal([]any{n.Title, n.Body, notNil(n.Tags), notNil(n.Aliases), n.Description})
	if err != nil { // strings always marshal
		return ""
	}
	return fmt.Sprintf("%x", sha256.Sum256(b))
}

func notNil(s []string) []string {
	if s == nil {
		return []string{}
	}
	return s
}

func joinReasons(a, b string) string {
	if a == "" {
		return b
	}
	return a + "; " + b
}

// pathOnly is a permalink without scheme, host and query.
func pathOnly(permalink string) string {
	u, err := url.Parse(permalink)
	if err != nil {
		return ""
	}
	return strings.Trim(u.Path, "/")
}
