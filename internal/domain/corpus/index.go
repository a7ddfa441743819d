package corpus

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/gatehouse-hq/gatehouse/internal/domain/corpus/markdown"
	"github.com/gatehouse-hq/gatehouse/internal/infra/pg"
	"github.com/gatehouse-hq/gatehouse/internal/infra/search"
)

// indexBatch is how many documents go to the engine at once.
const indexBatch = 100

// linkersLimit bounds how many notes are indexed again because one that they
// link to came or went. Beyond, and until it is done, searches notice by
// themselves (see Search).
const linkersLimit = 500

// indexRounds bounds how often Index follows notes that change while it works.
const indexRounds = 5

var errStillChanging = errors.New("the notes change faster than they are indexed")

// Index brings search to the current state of some notes: it reads them again
// and upserts or removes. Which event asked for it does not matter, nor when:
// whoever comes last looks last, so that an old job's late retry cannot bring
// an old state back (field case F31).
func (d *Domain) Index(ctx context.Context, ids []string) error {
	for range indexRounds {
		done, err := d.indexOnce(ctx, ids)
		if err != nil {
			return err
		}
		// A note that changed meanwhile, or one that it names, may have been
		// indexed by somebody else before we wrote our older state over it.
		now, err := d.store().versions(ctx, ids)
		if err != nil {
			return err
		}
		telling, err := d.store().telling(ctx, ids)
		if err != nil {
			return err
		}
		ids = slices.DeleteFunc(slices.Clone(ids), func(id string) bool { return now[id] == done[id] && !slices.Contains(telling, id) })
		if len(ids) == 0 {
			return nil
		}
	}
	return errStillChanging
}

// IndexChanged is Index for a note and those that name it or should: when it
// went, or is named otherwise, its name must go from their text; when it came
// (created, restored, published, at another address), links to it have become
// words.
func (d *Domain) IndexChanged(ctx context.Context, id string, came bool) error {
	if err := d.Index(ctx, []string{id}); err != nil {
		return err
	}
	ids, err := d.store().linkers(ctx, id, came)
	if err != nil {
		return err
	}
	for part := range slices.Chunk(ids, indexBatch) {
		if err := d.Index(ctx, part); err != nil {
			return err
		}
	}
	return nil
}

func (d *Domain) indexOnce(ctx context.Context, ids []string) (done map[string]int64, err error) {
	began, err := pg.Now(ctx, d.db)
	if err != nil {
		return nil, fmt.Errorf("read the clock: %w", err)
	}
	notes, err := d.store().notes(ctx, noteColumns, `where n.id = any($1::uuid[]) and n.deleted_at is null`, ids)
	if err != nil {
		return nil, err
	}
	done = map[string]int64{}
	docs := make([]search.Document, 0, len(notes))
	mentions := map[string][]string{}
	for _, n := range notes {
		doc, named, err := d.document(ctx, n)
		if err != nil {
			return nil, err
		}
		done[n.ID], mentions[n.ID] = n.Version, named
		docs = append(docs, doc)
	}
	gone := slices.DeleteFunc(slices.Clone(ids), func(id string) bool { _, live := done[id]; return live })
	// Before the document, because a name it holds must be known when it can be
	// found; and again behind it, because another worker may have struck it out.
	if err := d.store().addMentions(ctx, mentions); err != nil {
		return nil, err
	}
	if len(docs) > 0 {
		if err := d.engine.Upsert(ctx, docs); err != nil {
			return nil, fmt.Errorf("index %d notes: %w", len(docs), err)
		}
	}
	if len(gone) > 0 {
		if err := d.engine.Remove(ctx, gone); err != nil {
			return nil, fmt.Errorf("remove %d notes from search: %w", len(gone), err)
		}
	}
	return done, d.store().settleMentions(ctx, mentions, began)
}

// document is what search keeps of a note: of a published one the text that
// visitors read, with the names of other notes only where these are public.
func (d *Domain) document(ctx context.Context, n Note) (search.Document, []string, error) {
	l := newLinker(d.store(), n.Published)
	refs, err := d.markdown.Links(n.Body)
	if err == nil {
		l.places[n.ID] = placeOf(n)
		err = l.prefetch(ctx, refs)
	}
	text := ""
	if err == nil {
		text, err = d.markdown.Plain(ctx, n.Body, markdown.Options{From: n.ID, Title: n.Title, Resolver: l, Words: d.words, ShowMissing: !n.Published})
	}
	if err != nil && !errors.Is(err, markdown.ErrTooLarge) {
		return search.Document{}, nil, fmt.Errorf("read the text of note %s: %w", n.ID, err)
	}
	if n.Description != "" {
		text += "\n" + n.Description
	}
	named := []string{n.ID} // naming itself: the mark that it was indexed, see linkers
	delete(l.named, n.ID)
	for id := range l.named {
		named = append(named, id)
	}
	return search.Document{ID: n.ID, Genre: string(n.Genre), Title: n.Title, Aliases: n.Aliases, Tags: n.AllTags(), Body: text,
		Published: n.Published, UpdatedAt: n.UpdatedAt, Version: n.Version}, named, nil
}

// mentionRows are of as two columns.
func mentionRows(of map[string][]string) (notes, targets []string) {
	notes, targets = []string{}, []string{}
	for id, named := range of {
		for _, t := range named {
			notes, targets = append(notes, id), append(targets, t)
		}
	}
	return notes, targets
}

// insertMentions leaves out notes that are purged at this moment.
const insertMentions = `
	insert into public.note_mentions (note_id, target_id)
	select w.n, w.t from unnest($1::uuid[], $2::uuid[]) w(n, t)
	where exists (select 1 from public.notes where id = w.n) and exists (select 1 from public.notes where id = w.t)
	order by 1, 2 on conflict `

func (s store) addMentions(ctx context.Context, of map[string][]string) error {
	notes, targets := mentionRows(of)
	if _, err := s.q.Exec(ctx, insertMentions+`do nothing`, notes, targets); err != nil {
		return fmt.Errorf("write which notes are named: %w", err)
	}
	return nil
}

// settleMentions confirms of and strikes out what is older than the work that
// found it.
func (s store) settleMentions(ctx context.Context, of map[string][]string, began time.Time) error {
	notes, targets := mentionRows(of)
	_, err := s.q.Exec(ctx, insertMentions+`(note_id, target_id) do update set since = clock_timestamp()`, notes, targets)
	if err == nil {
		_, err = s.q.Exec(ctx, `delete from public.note_mentions where note_id = any($1::uuid[]) and since < $2`, slices.Collect(maps.Keys(of)), began)
	}
	if err != nil {
		return fmt.Errorf("write which notes are named: %w", err)
	}
	return nil
}

// versions of live notes.
func (s store) versions(ctx context.Context, ids []string) (map[string]int64, error) {
	rows, err := s.q.Query(ctx, `select id::text, version from public.notes where id = any($1::uuid[]) and deleted_at is null`, ids)
	if err != nil {
		return nil, fmt.Errorf("read versions: %w", err)
	}
	defer rows.Close()
	out := map[string]int64{}
	for rows.Next() {
		var id string
		var v int64
		if err := rows.Scan(&id, &v); err != nil {
			return nil, fmt.Errorf("read versions: %w", err)
		}
		out[id] = v
	}
	return out, rows.Err()
}

// linkers are live notes whose indexed text is no longer right because of note
// id. Those that were never indexed are left to their own job: of an import,
// each note would else be indexed once for each that links to it.
func (s store) linkers(ctx context.Context, id string, came bool) ([]string, error) {
	rows, err := s.q.Query(ctx, `
		with t as (select id, names, published and deleted_at is null as public, deleted_at is null as live from public.notes where id = $1),
		wrong as (
			select m.note_id from public.note_mentions m join public.notes n on n.id = m.note_id, t
			where m.target_id = t.id and m.note_id <> t.id and (not t.live or n.published and not t.public
				or not exists (select 1 from public.note_links l where l.note_id = m.note_id and l.name = any(t.names)))
			union
			select l.note_id from public.note_links l join public.notes n on n.id = l.note_id, t
			where $2 and t.live and not l.file and l.note_id <> t.id and l.name = any((select names from t)::text[]) and (t.public or not n.published)
				and exists (select 1 from public.note_mentions m where m.note_id = l.note_id and m.target_id = l.note_id)
				and not exists (select 1 from public.note_mentions m where m.note_id = l.note_id and m.target_id = t.id)
		)
		select w.note_id::text from wrong w join public.notes n on n.id = w.note_id and n.deleted_at is null order by 1 limit $3`, id, came, linkersLimit)
	if err != nil {
		return nil, fmt.Errorf("read who links to note %s: %w", id, err)
	}
	return collectStrings(rows)
}

// Reindex brings the whole index to the database's state and removes what the
// database does not have. progress may be nil.
func (d *Domain) Reindex(ctx context.Context, progress func(done int)) (indexed, removed int, err error) {
	// Strangers first, and what claims to be newer than the note (the database
	// was restored from a backup): engines keep the newer of two versions.
	err = d.engine.Each(ctx, func(held []search.Held) error {
		ids := make([]string, len(held))
		for i, h := range held {
			ids[i] = h.ID
		}
		ids = slices.DeleteFunc(ids, func(id string) bool { return !pg.ValidUUID(id) })
		now, err := d.store().versions(ctx, ids)
		if err != nil {
			return err
		}
		var strangers []string
		for _, h := range held {
			if v, live := now[h.ID]; !live || h.Version > v {
				strangers = append(strangers, h.ID)
			}
		}
		removed += len(strangers)
		if len(strangers) == 0 {
			return nil
		}
		return d.engine.Remove(ctx, strangers)
	})
	if err != nil {
		return 0, 0, fmt.Errorf("compare the index with the notes: %w", err)
	}
	last := "00000000-0000-0000-0000-000000000000"
	for {
		rows, err := d.db.Query(ctx, `select id::text from public.notes where id > $1 and deleted_at is null order by id limit $2`, last, indexBatch)
		if err != nil {
			return indexed, removed, fmt.Errorf("list notes to index: %w", err)
		}
		ids, err := collectStrings(rows)
		if err != nil {
			return indexed, removed, fmt.Errorf("list notes to index: %w", err)
		}
		if len(ids) == 0 {
			return indexed, removed, nil
		}
		if err := d.Index(ctx, ids); err != nil {
			return indexed, removed, err
		}
		indexed, last = indexed+len(ids), ids[len(ids)-1]
		if progress != nil {
			progress(indexed)
		}
	}
}
