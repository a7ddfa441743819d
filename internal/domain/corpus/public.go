package corpus

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/gatehouse-hq/gatehouse/internal/infra/op"
)

// Found is what stands at an address: a note, or where it is now.
type Found struct {
	Note     Note
	Redirect string // an address on this site for a permanent redirect; Note is then empty
}

// PublicByAddress finds a published note by its address within a genre. Old
// addresses and other spellings of it answer with a redirect. Private and
// missing are the same: not found.
func (d *Domain) PublicByAddress(ctx context.Context, genre Genre, p string) (Found, error) {
	if genre != Wiki && genre != Writing || storable("", p) != nil {
		return Found{}, errNotFound
	}
	s := d.store()
	p = strings.Trim(p, "/")
	n, err := s.publicAt(ctx, genre, p)
	if err == nil || op.CodeOf(err) != op.NotFound {
		return Found{Note: n}, err
	}
	n, err = s.one(ctx, `join public.note_addresses a on a.note_id = n.id
		where a.genre = $1 and md5(a.path) = md5($2) and a.path = $2 and n.published and n.deleted_at is null`, genre, p)
	if other := segments(p); op.CodeOf(err) == op.NotFound && other != p {
		n, err = s.publicAt(ctx, genre, other)
	}
	if err != nil {
		return Found{}, err
	}
	return Found{Redirect: n.Address()}, nil
}

func (s store) publicAt(ctx context.Context, genre Genre, p string) (Note, error) {
	return s.one(ctx, `where n.genre = $1 and md5(n.path) = md5($2) and n.path = $2 and n.published and n.deleted_at is null`, genre, p)
}

// PublicByTag pages through the published notes that have a tag, newest first.
func (d *Domain) PublicByTag(ctx context.Context, tag, cursor string, limit int) (NoteList, error) {
	return d.store().list(ctx, Filter{Tag: tag, Published: new(true), Sort: ByDate, Cursor: cursor, Limit: limit}, listColumns, ` and not n.folder`)
}

// PublicWritings pages through the published writings with their bodies,
// newest first.
func (d *Domain) PublicWritings(ctx context.Context, cursor string, limit int) (NoteList, error) {
	return d.store().list(ctx, Filter{Genre: Writing, Published: new(true), Sort: ByDate, Cursor: cursor, Limit: limit}, noteColumns, "")
}

// PublicRecent are the published notes that changed last, folders aside.
func (d *Domain) PublicRecent(ctx context.Context, limit int) ([]Note, error) {
	return d.store().notes(ctx, listColumns, `where n.published and n.deleted_at is null and not n.folder order by n.updated_at desc, n.id limit $1`,
		min(max(limit, 1), 100))
}

// Month is the published writings of one month, newest first.
type Month struct {
	Year  int
	Month time.Month
	Notes []Note
}

// PublicArchive is all published writings by month, newest first, in the zone
// that zone names.
func (d *Domain) PublicArchive(ctx context.Context, zone *time.Location) ([]Month, error) {
	notes, err := d.store().notes(ctx, listColumns, `where n.genre = 'writing' and n.published and n.deleted_at is null
		order by coalesce(n.dated, n.published_at, n.created_at) desc, n.id desc`)
	if err != nil {
		return nil, err
	}
	if zone == nil {
		zone = time.UTC
	}
	out := []Month{}
	for _, n := range notes {
		at := n.Date().In(zone)
		if k := len(out) - 1; k < 0 || out[k].Year != at.Year() || out[k].Month != at.Month() {
			out = append(out, Month{Year: at.Year(), Month: at.Month()})
		}
		last := &out[len(out)-1]
		last.Notes = append(last.Notes, n)
	}
	return out, nil
}

// PublicSitemap calls fn with every public address and when it last changed.
func (d *Domain) PublicSitemap(ctx context.Context, fn func(address string, changed time.Time) error) error {
	rows, err := d.db.Query(ctx, `select genre, path, updated_at from public.notes where published and deleted_at is null order by genre, path`)
	if err != nil {
		return fmt.Errorf("read the sitemap: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		var g Genre
		var p string
		var at time.Time
		if err := rows.Scan(&g, &p, &at); err != nil {
			return fmt.Errorf("read the sitemap: %w", err)
		}
		if err := fn(address(g, "", p), at); err != nil {
			return err
		}
	}
	return rows.Err()
}

// PublicStamp changes whenever anything changes that visitors can see. It
// changes with nothing they cannot see. Times are not part of it: of two changes
// the later one can be stored first, and clocks are set back.
func (d *Domain) PublicStamp(ctx context.Context) (string, error) {
	var count, versions int64
	err := d.db.QueryRow(ctx, `select count(*), coalesce(bit_xor(uuid_hash_extended(id, version)), 0)
		from public.notes where published and deleted_at is null`).Scan(&count, &versions)
	if err != nil {
		return "", fmt.Errorf("read the state of public notes: %w", err)
	}
	return fmt.Sprintf("%x-%x", count, uint64(versions)), nil
}

// Ancestors are the notes above a note, topmost first.
func (d *Domain) Ancestors(ctx context.Context, id string) ([]Crumb, error) {
	return d.store().ancestors(ctx, id, false)
}

// PublicAncestors are the published ones among the notes above.
func (d *Domain) PublicAncestors(ctx context.Context, id string) ([]Crumb, error) {
	return d.store().ancestors(ctx, id, true)
}

func (s store) ancestors(ctx context.Context, id string, publicOnly bool) ([]Crumb, error) {
	n, err := s.live(ctx, id)
	if err != nil || publicOnly && !n.Published {
		return nil, cmp.Or(err, errNotFound)
	}
	above, err := s.notes(ctx, listColumns, `join (
		with recursive up as (
			select id, parent_id, 0 as height from public.notes where id = $1
			union all
			select p.id, p.parent_id, up.height + 1 from public.notes p join up on p.id = up.parent_id
		) select id, height from up where height > 0) u on u.id = n.id
		where n.published or not $2 order by u.height desc`, id, publicOnly)
	return crumbs(above), err
}

// PublicChildren are the published notes directly below a note, in order.
func (d *Domain) PublicChildren(ctx context.Context, id string) ([]Crumb, error) {
	n, err := d.Get(ctx, id)
	if err != nil || !n.Published {
		return nil, cmp.Or(err, errNotFound)
	}
	below, err := d.store().notes(ctx, listColumns, `where n.parent_id = $1 and n.published and n.deleted_at is null order by n.position, lower(n.title), n.id`, id)
	return crumbs(below), err
}

func crumbs(notes []Note) []Crumb {
	out := make([]Crumb, 0, len(notes))
	for _, n := range notes {
		out = append(out, crumb(n))
	}
	return out
}
