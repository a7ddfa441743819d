package corpus

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/gatehouse-hq/gatehouse/internal/infra/op"
	"github.com/gatehouse-hq/gatehouse/internal/infra/pg"
)

// Filter selects notes for List. Zero values select everything but the trash.
type Filter struct {
	Genre     Genre
	Tag       string  // set on the note or in its text, tags below it included; case makes no difference
	Text      string  // part of the title
	ParentID  *string // direct children of this note; empty: the top of the tree
	Published *bool
	Sort      Sort
	Cursor    string
	Limit     int // 1..100, default 50
}

// Sort is an order of notes.
type Sort string

const (
	ByUpdated Sort = "updated" // newest change first; the default
	ByTitle   Sort = "title"
	ByDate    Sort = "date" // newest date first
)

// Words are the orders, for the schema of what takes one.
func (Sort) Words() []string { return []string{string(ByUpdated), string(ByTitle), string(ByDate)} }

// NoteList is one page of notes.
type NoteList struct {
	Notes []Note `json:"notes"`
	Next  string `json:"next" jsonschema:"cursor of the next page; empty on the last"`
	Total int    `json:"total"`
}

// order is how a Sort reads in SQL: the key as text that sorts, and its direction.
type order struct{ key, dir, after string }

func orders(s Sort) (order, error) {
	switch s {
	case ByUpdated, "":
		return order{key: "n.updated_at", dir: "desc", after: "<"}, nil
	case ByTitle:
		return order{key: `lower(n.title)`, dir: "asc", after: ">"}, nil
	case ByDate:
		return order{key: "coalesce(n.dated, n.published_at, n.created_at)", dir: "desc", after: "<"}, nil
	}
	return order{}, op.Invalidf("sort", "Choose updated, title or date.")
}

type cursor struct {
	Time time.Time `json:"t,omitzero"`
	Text string    `json:"s,omitempty"`
	ID   string    `json:"i"`
}

func (c cursor) String() string {
	b, err := json.Marshal(c)
	if err != nil { // a time and two strings always marshal
		return ""
	}
	return base64.RawURLEncoding.EncodeToString(b)
}

func readCursor(s string) (c cursor, err error) {
	b, err := base64.RawURLEncoding.DecodeString(s)
	if err == nil {
		err = json.Unmarshal(b, &c)
	}
	if err != nil || !pg.ValidUUID(c.ID) || strings.ContainsRune(c.Text, 0) {
		return c, op.Invalidf("cursor", "This is no cursor of this list. Start again without it.")
	}
	return c, nil
}

// List pages through live notes, without their bodies.
func (d *Domain) List(ctx context.Context, f Filter) (NoteList, error) {
	return d.store().list(ctx, f, listColumns, "")
}

func (s store) list(ctx context.Context, f Filter, columns, also string) (NoteList, error) {
	by, err := orders(f.Sort)
	if err != nil {
		return NoteList{}, err
	}
	if f.Limit == 0 {
		f.Limit = 50
	}
	if f.Limit < 1 || f.Limit > 100 {
		return NoteList{}, op.Invalidf("limit", "Choose 1 to 100.")
	}
	where, args, err := s.conditions(ctx, f)
	if err != nil {
		return NoteList{}, err
	}
	where += also
	var out NoteList
	if err := s.q.QueryRow(ctx, `select count(*) from public.notes n where `+where, args...).Scan(&out.Total); err != nil {
		return NoteList{}, fmt.Errorf("count notes: %w", err)
	}
	if f.Cursor != "" {
		c, err := readCursor(f.Cursor)
		if err != nil {
			return NoteList{}, err
		}
		var key any = c.Time
		if f.Sort == ByTitle {
			key = c.Text
		}
		where += fmt.Sprintf(` and (%s, n.id) %s ($%d, $%d::uuid)`, by.key, by.after, len(args)+1, len(args)+2)
		args = append(args, key, c.ID)
	}
	args = append(args, f.Limit+1)
	rows, err := s.q.Query(ctx, fmt.Sprintf(`select %s, lower(n.title) from public.notes n where %s order by %s %s, n.id %s limit $%d`,
		columns, where, by.key, by.dir, by.dir, len(args)), args...)
	if err != nil {
		return NoteList{}, fmt.Errorf("list notes: %w", err)
	}
	var keys []string
	out.Notes, err = pgx.CollectRows(rows, func(r pgx.CollectableRow) (Note, error) {
		var key string
		n, err := scanNote(trailing{r, []any{&key}})
		keys = append(keys, key)
		return n, err
	})
	if err != nil {
		return NoteList{}, fmt.Errorf("list notes: %w", err)
	}
	if len(out.Notes) > f.Limit {
		out.Notes = out.Notes[:f.Limit]
		last := out.Notes[f.Limit-1]
		c := cursor{ID: last.ID, Time: last.UpdatedAt}
		switch f.Sort {
		case ByTitle:
			c.Time, c.Text = time.Time{}, keys[f.Limit-1]
		case ByDate:
			c.Time = last.Date()
		}
		out.Next = c.String()
	}
	return out, nil
}

// trailing scans more columns behind those of a note.
type trailing struct {
	pgx.Row
	more []any
}

func (t trailing) Scan(dest ...any) error { return t.Row.Scan(append(dest, t.more...)...) }

func (s store) conditions(ctx context.Context, f Filter) (string, []any, error) {
	where, args := `n.deleted_at is null`, []any{}
	add := func(sql string, v any) {
		args = append(args, v)
		where += fmt.Sprintf(sql, len(args))
	}
	switch f.Genre {
	case "":
	case Raw, Wiki, Writing:
		add(` and n.genre = $%d`, f.Genre)
	default:
		return "", nil, op.Invalidf("genre", "Choose raw, wiki or writing.")
	}
	if f.Published != nil {
		add(` and n.published = $%d`, *f.Published)
	}
	if f.ParentID != nil {
		if *f.ParentID != "" && !pg.ValidUUID(*f.ParentID) {
			return "", nil, errNotFound
		}
		add(` and n.genre = 'wiki' and n.parent_id is not distinct from $%d::uuid`, nullable(*f.ParentID))
	}
	if f.Text != "" {
		if err := storable("text", f.Text); err != nil {
			return "", nil, err
		}
		add(` and strpos(lower(n.title), lower($%d)) > 0`, f.Text)
	}
	if f.Tag != "" {
		spellings, err := s.spellings(ctx, f.Tag)
		if err != nil {
			return "", nil, err
		}
		add(` and (n.tags || n.body_tags) && $%d::text[]`, spellings)
	}
	return where, args, nil
}

func collectStrings(rows pgx.Rows) ([]string, error) {
	return pgx.CollectRows(rows, pgx.RowTo[string])
}

// Get reads a live note.
func (d *Domain) Get(ctx context.Context, id string) (Note, error) { return d.store().live(ctx, id) }

// Viewed notes when the owner last opened a note. It is bookkeeping: no event.
func (d *Domain) Viewed(ctx context.Context, id string) error {
	if !pg.ValidUUID(id) {
		return errNotFound
	}
	_, err := d.db.Exec(ctx, `update public.notes set viewed_at = clock_timestamp() where id = $1`, id)
	return err
}
