package corpus

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gatehouse-hq/gatehouse/internal/infra/op"
	"github.com/gatehouse-hq/gatehouse/internal/infra/pg"
)

// TrashLife is how long the trash is kept.
const TrashLife = 90 * 24 * time.Hour

// Batch is what one deletion put into the trash.
type Batch struct {
	ID        string    `json:"id"`
	Notes     int       `json:"notes" jsonschema:"how many notes, those below included"`
	Titles    []string  `json:"titles" jsonschema:"the first of them, at most 5"`
	DeletedAt time.Time `json:"deleted_at"`
	PurgeAt   time.Time `json:"purge_at" jsonschema:"when it is gone for good"`
}

var errNoBatch = op.Errorf(op.NotFound, "There is no such deletion in the trash. The panel lists what is there under Notes, Trash.")

// Delete puts notes and all below them into the trash, as one batch.
func (d *Domain) Delete(ctx context.Context, ids []string) (Batch, error) {
	return d.delete(ctx, DeleteIn{IDs: ids})
}

func (d *Domain) delete(ctx context.Context, in DeleteIn) (Batch, error) {
	ids, err := checkIDs(in.IDs)
	if err != nil {
		return Batch{}, err
	}
	var batch string
	_, err = d.write(ctx, false, func(tx pg.Tx, s store) error {
		if err := s.lockTree(ctx); err != nil {
			return err
		}
		gone, err := s.notes(ctx, noteColumns, `where n.deleted_at is null and n.id in (
			with recursive below as (
				select id from public.notes where id = any($1::uuid[]) and deleted_at is null
				union
				select c.id from public.notes c join below b on c.parent_id = b.id where c.deleted_at is null
			) select id from below) order by n.id for no key update`, ids)
		if err != nil {
			return err
		}
		all, up := []string{}, []string{}
		for _, n := range gone {
			all, up = append(all, n.ID), append(up, n.ParentID)
		}
		for _, id := range ids {
			if !slices.Contains(all, id) {
				return errNotFound
			}
		}
		if in.Seen != "" && in.Seen != fingerprint(all) {
			return op.Errorf(op.Conflict, "Notes have come, gone or moved below these meanwhile; now it would be %d in all. Nothing was deleted. Look again, then decide.", len(all))
		}
		err = tx.QueryRow(ctx, `
			with b as (select public.uuid_v7() id, clock_timestamp() now), gone as (
				update public.notes n set deleted_at = b.now, trash_batch = b.id from b where n.id = any($1::uuid[]))
			select id::text from b`, all).Scan(&batch)
		if err != nil {
			return fmt.Errorf("put into the trash: %w", err)
		}
		for _, n := range gone {
			if err := d.recordVisibility(ctx, tx, n, Note{Genre: n.Genre}); err != nil {
				return err
			}
		}
		return s.settleFolders(ctx, up...)
	})
	if err != nil {
		return Batch{}, err
	}
	return d.store().batch(ctx, batch)
}

// fingerprint tells one set of notes from another; ids are in their order.
func fingerprint(ids []string) string {
	sum := sha256.Sum256([]byte(strings.Join(ids, ",")))
	return hex.EncodeToString(sum[:])
}

// Restore brings a batch back under the same ids. A note whose parent is gone
// comes back at the top; one whose address was taken meanwhile gets the next
// free one.
func (d *Domain) Restore(ctx context.Context, batch string) (Batch, error) {
	if !pg.ValidUUID(batch) {
		return Batch{}, errNoBatch
	}
	var restored Batch
	_, err := d.write(ctx, false, func(tx pg.Tx, s store) error {
		if err := s.lockTree(ctx); err != nil {
			return err
		}
		var err error
		if restored, err = s.batch(ctx, batch); err != nil {
			return err
		}
		// Shallow ones first: a child's address is made from its parent's.
		gone, err := s.notes(ctx, noteColumns, `where n.trash_batch = $1 order by length(n.path) - length(replace(n.path, '/', '')), n.id for update`, batch)
		if err != nil {
			return err
		}
		for _, n := range gone {
			back, err := s.restore(ctx, n)
			if err != nil {
				return err
			}
			if err := d.recordVisibility(ctx, tx, Note{Genre: n.Genre}, back); err != nil {
				return err
			}
			if err := s.settleFolders(ctx, back.ParentID); err != nil {
				return err
			}
		}
		return nil
	})
	return restored, err
}

func (s store) restore(ctx context.Context, n Note) (Note, error) {
	if n.ParentID != "" {
		if _, err := s.live(ctx, n.ParentID); op.CodeOf(err) == op.NotFound {
			n.ParentID = ""
		} else if err != nil {
			return Note{}, err
		}
	}
	segment, err := s.freeSegment(ctx, n.Genre, n.ParentID, n.Segment)
	if err != nil {
		return Note{}, err
	}
	back, err := scanNote(s.q.QueryRow(ctx, `
		update public.notes n set deleted_at = null, trash_batch = null, parent_id = $2, segment = $3,
			source_path = case when exists (select 1 from public.notes o where o.deleted_at is null and md5(o.source_path) = md5(n.source_path))
				then null else n.source_path end
		where n.id = $1 returning `+noteColumns, n.ID, nullable(n.ParentID), segment))
	if err != nil {
		return Note{}, fmt.Errorf("restore note: %w", err)
	}
	return back, nil
}

// freeSegment is segment, or the first of segment-2, segment-3 … that no
// sibling has.
func (s store) freeSegment(ctx context.Context, genre Genre, parentID, segment string) (string, error) {
	if genre == Raw {
		return segment, nil
	}
	rows, err := s.q.Query(ctx, `select segment from public.notes
		where genre = $1 and deleted_at is null and parent_id is not distinct from $2 and starts_with(segment, $3)`,
		genre, nullable(parentID), shorten(segment))
	if err != nil {
		return "", fmt.Errorf("look for a free address: %w", err)
	}
	taken, err := collectStrings(rows)
	if err != nil {
		return "", fmt.Errorf("look for a free address: %w", err)
	}
	used := map[string]bool{}
	for _, t := range taken {
		used[t] = true
	}
	return unused(segment, used), nil
}

// unused numbers segment until it is not among used.
func unused(segment string, used map[string]bool) string {
	for n, s := 2, segment; ; n++ {
		if !used[s] {
			return s
		}
		s = shorten(segment) + "-" + strconv.Itoa(n)
	}
}

// shorten leaves room for a number within SegmentLimit.
func shorten(segment string) string {
	if r := []rune(segment); len(r) > SegmentLimit-8 {
		return string(r[:SegmentLimit-8])
	}
	return segment
}

func (s store) batch(ctx context.Context, id string) (Batch, error) {
	found, err := s.batches(ctx, `and trash_batch = $1`, id)
	if err == nil && len(found) == 0 {
		err = errNoBatch
	}
	if err != nil {
		return Batch{}, err
	}
	return found[0], nil
}

func (s store) batches(ctx context.Context, rest string, args ...any) ([]Batch, error) {
	rows, err := s.q.Query(ctx, `
		select trash_batch::text, count(*), (array_agg(title order by length(path), path))[1:5], max(deleted_at)
		from public.notes where deleted_at is not null and trash_batch is not null `+rest+`
		group by trash_batch order by max(deleted_at) desc, trash_batch limit 200`, args...)
	if err != nil {
		return nil, fmt.Errorf("read the trash: %w", err)
	}
	defer rows.Close()
	out := []Batch{}
	for rows.Next() {
		var b Batch
		if err := rows.Scan(&b.ID, &b.Notes, &b.Titles, &b.DeletedAt); err != nil {
			return nil, fmt.Errorf("read the trash: %w", err)
		}
		b.PurgeAt = b.DeletedAt.Add(TrashLife)
		out = append(out, b)
	}
	return out, rows.Err()
}

// Trash lists the newest 200 batches.
func (d *Domain) Trash(ctx context.Context) ([]Batch, error) { return d.store().batches(ctx, "") }

// purgeStep is how many notes leave the trash in one transaction.
const purgeStep = 500

// Purge removes for good what is longer in the trash than TrashLife. It is no
// event: the note was gone when it was deleted.
func (d *Domain) Purge(ctx context.Context) error {
	for {
		tag, err := d.db.Exec(ctx, `delete from public.notes where id in (
			select id from public.notes where deleted_at < clock_timestamp() - $1::interval order by deleted_at limit $2)`, TrashLife, purgeStep)
		if err != nil {
			return fmt.Errorf("empty the trash: %w", err)
		}
		if tag.RowsAffected() == 0 {
			return nil
		}
	}
}
