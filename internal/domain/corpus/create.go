package corpus

import (
	"context"
	"time"

	"github.com/gatehouse-hq/gatehouse/internal/infra/op"
	"github.com/gatehouse-hq/gatehouse/internal/infra/pg"
)

// Create stores a new note. Its parent must exist; an address that is taken is
// a conflict.
func (d *Domain) Create(ctx context.Context, in NewNote) (Receipt, error) {
	in, err := in.clean()
	if err != nil {
		return Receipt{}, err
	}
	if in.ParentID != "" && !pg.ValidUUID(in.ParentID) {
		return Receipt{}, op.Invalidf("parent_id", "There is no such note.")
	}
	f, err := d.derive(ctx, in.Body)
	if err != nil {
		return Receipt{}, err
	}
	var n Note
	txid, err := d.write(ctx, in.Slug != "", func(tx pg.Tx, s store) error {
		if in.Published && in.ParentID != "" {
			if err := s.lockTree(ctx); err != nil {
				return err
			}
		}
		if n, err = s.insert(ctx, in, f); err != nil {
			return err
		}
		if err := d.recordVisibility(ctx, tx, Note{Genre: n.Genre}, n); err != nil {
			return err
		}
		if !n.Published {
			return nil
		}
		return s.settleFolders(ctx, n.ParentID)
	})
	if err != nil {
		return Receipt{}, err
	}
	return d.receipt(ctx, n, txid), nil
}

// Change is an update. Nil fields are kept.
type Change struct {
	ID string
	// ExpectVersion is the version the caller's form was filled from; if the
	// note has moved on, the update is a conflict. 0 does not ask.
	ExpectVersion int64
	Title         *string
	Body          *string
	Slug          *string // empty: made from the title again
	Description   *string
	Tags          *[]string
	Aliases       *[]string
	Published     *bool
	Dated         *time.Time
	ClearDate     bool
	Position      *int
	ParentID      *string // wiki only; empty is the top
}

func (c Change) clean() (Change, error) {
	var err error
	line := func(p *string, clean func(string) (string, error)) *string {
		if p == nil || err != nil {
			return p
		}
		var v string
		v, err = clean(*p)
		return &v
	}
	c.Title = line(c.Title, cleanTitle)
	c.Body = line(c.Body, cleanBody)
	c.Slug = line(c.Slug, cleanSlug)
	c.Description = line(c.Description, func(s string) (string, error) { return cleanLine("description", s, DescriptionLimit) })
	if c.ParentID != nil && *c.ParentID != "" && !pg.ValidUUID(*c.ParentID) && err == nil {
		err = op.Invalidf("parent_id", "There is no such note.")
	}
	if c.Tags != nil {
		var v []string
		v, err = cleanTags(*c.Tags, err)
		c.Tags = &v
	}
	if c.Aliases != nil && err == nil {
		var v []string
		v, err = cleanAliases(*c.Aliases)
		c.Aliases = &v
	}
	return c, err
}

// apply is n as c leaves it.
func (c Change) apply(n Note) Note {
	title := n.Title
	set(&n.Title, c.Title)
	switch {
	case c.Slug != nil && *c.Slug != "":
		n.Segment = *c.Slug
	case c.Slug != nil || n.Segment == Segment(title):
		// The address was the title's, and goes with it; one of its own stays.
		n.Segment = Segment(n.Title)
	}
	if c.Body != nil && *c.Body != n.Body {
		n.Body, n.Folder = *c.Body, false
	}
	set(&n.Description, c.Description)
	set(&n.Tags, c.Tags)
	set(&n.Aliases, c.Aliases)
	set(&n.Position, c.Position)
	set(&n.ParentID, c.ParentID)
	if c.Published != nil && *c.Published != n.Published {
		n.Published, n.Folder = *c.Published, false
	}
	if c.Dated != nil {
		n.Dated = c.Dated
	} else if c.ClearDate {
		n.Dated = nil
	}
	return n
}

func set[T any](to *T, from *T) {
	if from != nil {
		*to = *from
	}
}

// Update changes a note. Nothing is written, and no event born, when the note
// already is as asked.
func (d *Domain) Update(ctx context.Context, c Change) (Receipt, error) {
	c, err := c.clean()
	if err != nil {
		return Receipt{}, err
	}
	var n Note
	txid, err := d.write(ctx, c.Slug != nil && *c.Slug != "", func(tx pg.Tx, s store) error {
		was, err := s.lockFor(ctx, c.ID, func(was Note) bool {
			then := c.apply(was)
			return was.Genre == Wiki && (then.Segment != was.Segment || then.Published != was.Published || then.ParentID != was.ParentID)
		})
		if err != nil {
			return err
		}
		if c.ExpectVersion != 0 && c.ExpectVersion != was.Version {
			return errStale
		}
		n, err = d.replace(ctx, tx, s, was, c.apply(was))
		return err
	})
	if err != nil {
		return Receipt{}, err
	}
	return d.receipt(ctx, n, txid), nil
}

// lockFor locks a note, after the tree if the change needs it: rows are always
// locked in this order.
func (s store) lockFor(ctx context.Context, id string, needsTree func(Note) bool) (Note, error) {
	was, err := s.live(ctx, id)
	if err != nil {
		return Note{}, err
	}
	if needsTree(was) {
		if err := s.lockTree(ctx); err != nil {
			return Note{}, err
		}
	}
	return s.lock(ctx, id)
}

// replace saves then over was, with all that follows from it.
func (d *Domain) replace(ctx context.Context, tx pg.Tx, s store, was, then Note) (Note, error) {
	if then.Genre == Raw && then.Published {
		return Note{}, errRawPrivate
	}
	if then.Genre != Wiki && then.ParentID != "" {
		return Note{}, op.Invalidf("parent_id", "Only notes of the wiki stand below others.")
	}
	if then.Body != was.Body {
		f, err := d.derive(ctx, then.Body)
		if err != nil {
			return Note{}, err
		}
		then.BodyTags = f.tags
		if err := s.relink(ctx, then.ID, f); err != nil {
			return Note{}, err
		}
	}
	n, err := s.save(ctx, then)
	if err != nil {
		return Note{}, err
	}
	if err := d.recordVisibility(ctx, tx, was, n); err != nil {
		return Note{}, err
	}
	if was.Published == n.Published && was.ParentID == n.ParentID {
		return n, nil
	}
	return n, s.settleFolders(ctx, was.ParentID, n.ParentID)
}

// recordVisibility records the facts about a writing that came out or was taken back.
func (d *Domain) recordVisibility(ctx context.Context, tx pg.Tx, was, n Note) error {
	if n.Genre != Writing || was.Published == n.Published {
		return nil
	}
	owner, err := store{q: tx}.ownerID(ctx)
	if err != nil {
		return err
	}
	if n.Published {
		return recordPublished(ctx, d.rec.With(tx), owner, n)
	}
	return recordUnpublished(ctx, d.rec.With(tx), owner, was)
}
