package corpus

import (
	"context"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/gatehouse-hq/gatehouse/internal/domain/corpus/markdown"
	"github.com/gatehouse-hq/gatehouse/internal/infra/pg"
)

// store is the notes table and those beside it, on a pool or a transaction.
type store struct{ q pg.Querier }

// theOwner is the one owner of an instance.
const theOwner = `(select id from public.owners order by created_at limit 1)`

// noteColumns are scanned by scanNote, bodies left out of lists by listColumns.
const (
	noteHead = `n.id::text, n.genre, coalesce(n.parent_id::text, ''), n.segment, n.path, n.title, n.description, n.tags, n.body_tags, n.aliases,
		n.published, n.published_at, n.dated, n.position, n.folder, coalesce(n.source_path, ''), n.version, n.created_at, n.updated_at,
		n.deleted_at, coalesce(n.trash_batch::text, '')`
	noteColumns = noteHead + `, n.body, 0`
	listColumns = noteHead + `, '', (select count(*) from public.notes c where c.parent_id = n.id and c.deleted_at is null)`
)

func scanNote(row pgx.Row) (n Note, err error) {
	err = row.Scan(&n.ID, &n.Genre, &n.ParentID, &n.Segment, &n.Path, &n.Title, &n.Description, &n.Tags, &n.BodyTags, &n.Aliases,
		&n.Published, &n.PublishedAt, &n.Dated, &n.Position, &n.Folder, &n.SourcePath, &n.Version, &n.CreatedAt, &n.UpdatedAt,
		&n.DeletedAt, &n.TrashBatch, &n.Body, &n.Children)
	return n, err
}

// notes reads what `from` selects: SQL behind "select columns from public.notes n".
func (s store) notes(ctx context.Context, columns, rest string, args ...any) ([]Note, error) {
	rows, err := s.q.Query(ctx, `select `+columns+` from public.notes n `+rest, args...)
	if err != nil {
		return nil, fmt.Errorf("read notes: %w", err)
	}
	out, err := pgx.CollectRows(rows, func(r pgx.CollectableRow) (Note, error) { return scanNote(r) })
	if err != nil {
		return nil, fmt.Errorf("read notes: %w", err)
	}
	return out, nil
}

// one reads a single note; errNotFound when there is none.
func (s store) one(ctx context.Context, rest string, args ...any) (Note, error) {
	found, err := s.notes(ctx, noteColumns, rest, args...)
	switch {
	case err != nil:
		return Note{}, err
	case len(found) == 0:
		return Note{}, errNotFound
	}
	return found[0], nil
}

// live reads a note that is not in the trash. An id that is none is not found.
func (s store) live(ctx context.Context, id string) (Note, error) {
	if !pg.ValidUUID(id) {
		return Note{}, errNotFound
	}
	return s.one(ctx, `where n.id = $1 and n.deleted_at is null`, id)
}

// lock is live, and holds the row until the transaction ends.
func (s store) lock(ctx context.Context, id string) (Note, error) {
	if !pg.ValidUUID(id) {
		return Note{}, errNotFound
	}
	return s.one(ctx, `where n.id = $1 and n.deleted_at is null for no key update`, id)
}

// lockTree makes changes of the wiki's shape and of what is public in it wait
// for each other: they lock several rows, upwards and downwards, and would
// otherwise meet half-way. The number is arbitrary and stable.
func (s store) lockTree(ctx context.Context) error {
	_, err := s.q.Exec(ctx, `select pg_advisory_xact_lock(7310868735965849445)`)
	return err
}

func (s store) ownerID(ctx context.Context) (id string, err error) {
	err = s.q.QueryRow(ctx, `select `+theOwner+`::text`).Scan(&id)
	return id, err
}

func (s store) insert(ctx context.Context, in NewNote, f facts) (Note, error) {
	segment := in.Slug
	if segment == "" {
		segment = Segment(in.Title)
	}
	n, err := scanNote(s.q.QueryRow(ctx, `
		insert into public.notes as n (owner_id, genre, parent_id, segment, path, title, body, tags, aliases, description, published, dated, body_tags)
		values (`+theOwner+`, $1, $2, $3, '', $4, $5, $6, $7, $8, $9, $10, $11)
		returning `+noteColumns,
		in.Genre, nullable(in.ParentID), segment, in.Title, in.Body, in.Tags, in.Aliases, in.Description, in.Published, in.Dated, f.tags))
	if err != nil {
		return Note{}, fmt.Errorf("insert note: %w", err)
	}
	return n, s.replaceLinks(ctx, map[string][]markdown.Ref{n.ID: f.links})
}

// save writes every column a person can change; path, version and what else
// follows are the triggers'.
func (s store) save(ctx context.Context, n Note) (Note, error) {
	saved, err := scanNote(s.q.QueryRow(ctx, `
		update public.notes n set genre = $2, parent_id = $3, segment = $4, title = $5, body = $6, tags = $7, aliases = $8, description = $9,
			published = $10, dated = $11, position = $12, folder = $13, body_tags = $14
		where n.id = $1 and n.deleted_at is null returning `+noteColumns,
		n.ID, n.Genre, nullable(n.ParentID), n.Segment, n.Title, n.Body, n.Tags, n.Aliases, n.Description,
		n.Published, n.Dated, n.Position, n.Folder, n.BodyTags))
	if err != nil {
		return Note{}, fmt.Errorf("save note: %w", err)
	}
	return saved, nil
}

// replaceLinks rewrites the links of some notes.
func (s store) replaceLinks(ctx context.Context, of map[string][]markdown.Ref) error {
	var notes, targets, names, headings []string
	var numbers []int
	var embeds, files []bool
	ids := make([]string, 0, len(of))
	for id, refs := range of {
		ids = append(ids, id)
		for i, r := range refs {
			notes, numbers = append(notes, id), append(numbers, i)
			targets, names = append(targets, plain(r.Target)), append(names, linkName(r.Target, r.File))
			headings, embeds, files = append(headings, plain(r.Fragment)), append(embeds, r.Embed), append(files, r.File)
		}
	}
	b := &pgx.Batch{}
	b.Queue(`delete from public.note_links where note_id = any($1::uuid[])`, ids)
	if len(notes) > 0 {
		b.Queue(`insert into public.note_links (note_id, n, target, name, heading, embed, file)
			select * from unnest($1::uuid[], $2::int[], $3::text[], $4::text[], $5::text[], $6::bool[], $7::bool[])`,
			notes, numbers, targets, names, headings, embeds, files)
	}
	if err := s.q.SendBatch(ctx, b).Close(); err != nil {
		return fmt.Errorf("write links: %w", err)
	}
	return nil
}

// plain is text the database takes, whatever stood in a link (%00 among it).
func plain(s string) string { return strings.ToValidUTF8(strings.ReplaceAll(s, "\x00", ""), "") }

func nullable(id string) *string {
	if id == "" {
		return nil
	}
	return &id
}
