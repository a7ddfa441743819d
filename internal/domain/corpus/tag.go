package corpus

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
)

// TagCount is a tag and how many notes have it or a tag below it.
type TagCount struct {
	Tag   string `json:"tag"`
	Notes int    `json:"notes"`
}

// tagRow is one note's spelling of one tag.
type tagRow struct{ note, tag string }

func (s store) tagRows(ctx context.Context, publicOnly bool) ([]tagRow, error) {
	rows, err := s.q.Query(ctx, `
		select n.id::text, t from public.notes n, unnest(n.tags || n.body_tags) t
		where n.deleted_at is null and (n.published or not $1) order by t, n.id`, publicOnly)
	if err != nil {
		return nil, fmt.Errorf("read tags: %w", err)
	}
	defer rows.Close()
	var out []tagRow
	for rows.Next() {
		var r tagRow
		if err := rows.Scan(&r.note, &r.tag); err != nil {
			return nil, fmt.Errorf("read tags: %w", err)
		}
		out = append(out, r)
	}
	return out, rows.Err()
}

// spellings are all tags in use that are tag or stand below it.
func (s store) spellings(ctx context.Context, tag string) ([]string, error) {
	if err := storable("tag", tag); err != nil {
		return nil, err
	}
	rows, err := s.q.Query(ctx, `select distinct t from public.notes n, unnest(n.tags || n.body_tags) t where n.deleted_at is null`)
	if err != nil {
		return nil, fmt.Errorf("read tags: %w", err)
	}
	all, err := collectStrings(rows)
	if err != nil {
		return nil, fmt.Errorf("read tags: %w", err)
	}
	want := foldTag(tag)
	return slices.DeleteFunc(all, func(t string) bool {
		t = foldTag(t)
		return t != want && !strings.HasPrefix(t, want+"/")
	}), nil
}

// countTags counts notes per tag. The spelling shown is the commonest; a
// nested tag counts for those above it, too.
func countTags(rows []tagRow) []TagCount {
	type entry struct {
		notes     map[string]bool
		spellings map[string]int
	}
	by := map[string]*entry{}
	for _, r := range rows {
		parts := strings.Split(r.tag, "/")
		for i := range parts {
			spelling := strings.Join(parts[:i+1], "/")
			e := by[foldTag(spelling)]
			if e == nil {
				e = &entry{map[string]bool{}, map[string]int{}}
				by[foldTag(spelling)] = e
			}
			e.notes[r.note] = true
			e.spellings[spelling]++
		}
	}
	out := make([]TagCount, 0, len(by))
	for _, e := range by {
		best := ""
		for s, n := range e.spellings {
			if best == "" || n > e.spellings[best] || n == e.spellings[best] && s < best {
				best = s
			}
		}
		out = append(out, TagCount{Tag: best, Notes: len(e.notes)})
	}
	slices.SortFunc(out, func(a, b TagCount) int { return cmp.Compare(foldTag(a.Tag), foldTag(b.Tag)) })
	return out
}

// Tags lists the tags of all live notes, by name.
func (d *Domain) Tags(ctx context.Context) ([]TagCount, error) {
	rows, err := d.store().tagRows(ctx, false)
	return countTags(rows), err
}

// PublicTags lists the tags of published notes, by name.
func (d *Domain) PublicTags(ctx context.Context) ([]TagCount, error) {
	rows, err := d.store().tagRows(ctx, true)
	return countTags(rows), err
}
