package corpus

import (
	"context"
	"errors"
	"fmt"
	"slices"

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
		began, notes, err := d.store().snapshot(ctx, ids)
		if err != nil {
			return err
		}
		done, mentions, err := d.put(ctx, ids, notes)
		if err != nil {
			return err
		}
		// A note that changed meanwhile, or one that it names, may have been
		// indexed by somebody else before we wrote our older state over it.
		now, telling, err := d.store().settle(ctx, ids, mentions, began)
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

// put writes the state of ids that notes are into the engine, and says which
// versions these were and whose names their texts hold.
func (d *Domain) put(ctx context.Context, ids []string, notes []Note) (done map[string]int64, mentions map[string][]string, err error) {
	done, mentions = map[string]int64{}, map[string][]string{}
	docs := make([]search.Document, 0, len(notes))
	for _, n := range notes {
		doc, named, err := d.document(ctx, n)
		if err != nil {
			return nil, nil, err
		}
		done[n.ID], mentions[n.ID] = n.Version, named
		docs = append(docs, doc)
	}
	gone := slices.DeleteFunc(slices.Clone(ids), func(id string) bool { _, live := done[id]; return live })
	// Before the document, because a name it holds must be known when it can be
	// found; and again behind it, because another worker may have struck it out.
	if err := d.store().addMentions(ctx, mentions); err != nil {
		return nil, nil, err
	}
	if len(docs) > 0 {
		if err := d.engine.Upsert(ctx, docs); err != nil {
			return nil, nil, fmt.Errorf("index %d notes: %w", len(docs), err)
		}
	}
	if len(gone) > 0 {
		if err := d.engine.Remove(ctx, gone); err != nil {
			return nil, nil, fmt.Errorf("remove %d notes from search: %w", len(gone), err)
		}
	}
	return done, mentions, nil
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
	named := make([]string, 0, len(l.named))
	delete(l.named, n.ID)
	for id := range l.named {
		named = append(named, id)
	}
	return search.Document{ID: n.ID, Genre: string(n.Genre), Title: n.Title, Aliases: n.Aliases, Tags: n.AllTags(), Body: text,
		Published: n.Published, UpdatedAt: n.UpdatedAt, Version: n.Version}, named, nil
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
