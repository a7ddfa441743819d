package corpus

import (
	"context"
	"fmt"
	"slices"

	"github.com/gatehouse-hq/gatehouse/internal/domain/corpus/markdown"
	"github.com/gatehouse-hq/gatehouse/internal/infra/op"
	"github.com/gatehouse-hq/gatehouse/internal/infra/pg"
)

func (s store) relink(ctx context.Context, id string, f facts) error {
	return s.replaceLinks(ctx, map[string][]markdown.Ref{id: f.links})
}

// settleFolders publishes the folders above a change that now hold something
// public, and takes back those that do not: a visitor must be able to go up
// the tree, and not see an empty or private shelf. The tree must be locked.
func (s store) settleFolders(ctx context.Context, parents ...string) error {
	slices.Sort(parents)
	for _, id := range slices.Compact(parents) {
		for id != "" {
			var up *string
			err := s.q.QueryRow(ctx, `
				with recursive below as (
					select id, published, folder from public.notes where parent_id = $1 and deleted_at is null
					union all
					select n.id, n.published, n.folder from public.notes n join below b on n.parent_id = b.id where n.deleted_at is null
				), settled as (
					update public.notes n set published = x.visible
					from (select exists (select 1 from below where published and not folder) as visible) x
					where n.id = $1 and n.folder and n.published <> x.visible
				)
				select parent_id::text from public.notes where id = $1`, id).Scan(&up)
			if pg.NoRows(err) {
				break
			}
			if err != nil {
				return fmt.Errorf("settle the folders above: %w", err)
			}
			id = ""
			if up != nil {
				id = *up
			}
		}
	}
	return nil
}

// Publish makes notes public, all of them or none.
func (d *Domain) Publish(ctx context.Context, ids []string) ([]Note, error) {
	return d.setPublished(ctx, ids, true)
}

// Unpublish takes notes back, all of them or none. When they were first
// published is kept.
func (d *Domain) Unpublish(ctx context.Context, ids []string) ([]Note, error) {
	return d.setPublished(ctx, ids, false)
}

// BulkLimit is how many notes one call changes at most.
const BulkLimit = 500

func checkIDs(ids []string) ([]string, error) {
	ids = slices.Clone(ids)
	slices.Sort(ids)
	ids = slices.Compact(ids)
	if len(ids) == 0 {
		return nil, op.Invalidf("ids", "Name at least one note.")
	}
	if len(ids) > BulkLimit {
		return nil, op.Invalidf("ids", "%d notes are named. At most %d are changed at once.", len(ids), BulkLimit)
	}
	for _, id := range ids {
		if !pg.ValidUUID(id) {
			return nil, errNotFound
		}
	}
	return ids, nil
}

func (d *Domain) setPublished(ctx context.Context, ids []string, published bool) ([]Note, error) {
	ids, err := checkIDs(ids)
	if err != nil {
		return nil, err
	}
	var out []Note
	_, err = d.write(ctx, false, func(tx pg.Tx, s store) error {
		if err := s.lockTree(ctx); err != nil {
			return err
		}
		out = nil
		for _, id := range ids {
			was, err := s.lock(ctx, id)
			if err != nil {
				return err
			}
			then := Change{Published: &published}.apply(was)
			n, err := d.replace(ctx, tx, s, was, then)
			if err != nil {
				return err
			}
			out = append(out, n)
		}
		return nil
	})
	return out, err
}

// Move puts a note of the wiki below another one, or at the top when parentID
// is empty. position orders it among its new siblings; nil keeps its own.
func (d *Domain) Move(ctx context.Context, id, parentID string, position *int, expectVersion int64) (Note, error) {
	if parentID != "" && !pg.ValidUUID(parentID) {
		return Note{}, op.Invalidf("parent_id", "There is no such note.")
	}
	var n Note
	_, err := d.write(ctx, false, func(tx pg.Tx, s store) error {
		was, err := s.lockFor(ctx, id, func(Note) bool { return true })
		switch {
		case err != nil:
			return err
		case expectVersion != 0 && expectVersion != was.Version:
			return errStale
		case was.Genre != Wiki:
			return op.Invalidf("id", "Only notes of the wiki have a place in the tree.")
		}
		then := was
		then.ParentID = parentID
		set(&then.Position, position)
		n, err = d.replace(ctx, tx, s, was, then)
		return err
	})
	return n, err
}

// Promote takes a raw note into the wiki, private as it is.
func (d *Domain) Promote(ctx context.Context, id, parentID string, expectVersion int64) (Receipt, error) {
	if parentID != "" && !pg.ValidUUID(parentID) {
		return Receipt{}, op.Invalidf("parent_id", "There is no such note.")
	}
	var n Note
	txid, err := d.write(ctx, false, func(tx pg.Tx, s store) error {
		was, err := s.lockFor(ctx, id, func(Note) bool { return true })
		switch {
		case err != nil:
			return err
		case expectVersion != 0 && expectVersion != was.Version:
			return errStale
		case was.Genre != Raw:
			return op.Invalidf("id", "Only raw notes are promoted. This one is a note of the %s already.", was.Genre)
		}
		then := was
		then.Genre, then.ParentID, then.Segment = Wiki, parentID, Segment(was.Title)
		n, err = d.replace(ctx, tx, s, was, then)
		return err
	})
	if err != nil {
		return Receipt{}, err
	}
	return d.receipt(ctx, n, txid), nil
}
