package corpus

import (
	"cmp"
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	"golang.org/x/text/unicode/norm"
)

// target is what a link may lead to: a note or an attachment.
type target struct {
	id      string
	genre   Genre
	title   string
	path    string // of a note: its address
	aliases []string
	vault   string // first part of the source path
	source  string // the rest of it, of a note without extension
	mime    string // of an attachment
	public  bool
}

// place is where a link stands.
type place struct{ vault, folder, notePath string }

// linkName is the key under which the target of a link is looked up: its last
// part by the address rule, as notes.names and attachments.key hold it.
func linkName(link string, file bool) string {
	base := path.Base(strings.TrimSpace(link))
	if !file {
		base = trimMarkdown(base)
	}
	return Segment(base)
}

func trimMarkdown(s string) string {
	for _, ext := range []string{".md", ".markdown"} {
		if len(s) > len(ext) && strings.EqualFold(s[len(s)-len(ext):], ext) {
			return s[:len(s)-len(ext)]
		}
	}
	return s
}

// splitSource parts a stored source path into vault and path within it.
func splitSource(s string) (vault, rest string) {
	vault, rest, _ = strings.Cut(s, "/")
	return vault, rest
}

// How well a target answers a link, best first. noMatch is no answer.
const (
	exactPath = iota
	foldedPath
	pathEnd
	exactName
	foldedName
	exactTitle
	foldedTitle
	alias
	segmentName
	noMatch
)

// rank says how t answers the link, as Obsidian resolves: a path from the
// vault's root or relative to the note, the end of a path, a file's name, and
// here also titles, aliases and addresses. Case makes no difference, but the
// same case is better.
func (t target) rank(link string, from place, file bool) int {
	if !file {
		link = trimMarkdown(link)
	}
	link = norm.NFC.String(strings.TrimSpace(link))
	if rel, ok := relative(link, from.folder); ok {
		link = rel
		if link == t.source {
			return exactPath
		}
		if strings.EqualFold(link, t.source) {
			return foldedPath
		}
		return noMatch
	}
	link = strings.Trim(link, "/")
	if strings.Contains(link, "/") {
		return t.rankPath(link)
	}
	base := path.Base(t.source)
	switch {
	case t.source != "" && link == t.source:
		return exactPath
	case t.source != "" && link == base:
		return exactName
	case t.source != "" && strings.EqualFold(link, base):
		return foldedName
	case file:
		return noMatch
	case link == t.title:
		return exactTitle
	case strings.EqualFold(link, t.title):
		return foldedTitle
	}
	for _, a := range t.aliases {
		if strings.EqualFold(link, norm.NFC.String(a)) {
			return alias
		}
	}
	seg := Segment(link)
	if seg != untitled && (seg == path.Base(t.path) || t.source != "" && seg == Segment(base)) {
		return segmentName
	}
	return noMatch
}

func (t target) rankPath(link string) int {
	source, folded := strings.ToLower(t.source), strings.ToLower(link)
	switch {
	case link == t.source:
		return exactPath
	case folded == source, t.path != "" && segments(link) == t.path:
		return foldedPath
	case strings.HasSuffix(source, "/"+folded), strings.HasSuffix(t.path, "/"+segments(link)):
		return pathEnd
	}
	return noMatch
}

// segments is a path with the address rule applied to each part.
func segments(p string) string {
	parts := strings.Split(p, "/")
	for i := range parts {
		parts[i] = Segment(parts[i])
	}
	return strings.Join(parts, "/")
}

// relative resolves ./a and ../a against the note's folder.
func relative(link, folder string) (string, bool) {
	if !strings.HasPrefix(link, "./") && !strings.HasPrefix(link, "../") {
		return link, false
	}
	joined := path.Join(folder, link)
	if strings.HasPrefix(joined, "../") { // above the vault: Obsidian stops at its root
		joined = strings.TrimLeft(joined, "./")
	}
	return joined, true
}

// choose picks the target a link leads to. Among equal answers the nearest
// wins: same vault, then the longest way in common, then the shortest path.
func choose(link string, from place, file bool, among []target) (target, bool) {
	best, bestRank := target{}, noMatch
	for _, t := range among {
		r := t.rank(link, from, file)
		if r < noMatch && (bestRank == noMatch || nearer(t, r, best, bestRank, from) < 0) {
			best, bestRank = t, r
		}
	}
	return best, bestRank < noMatch
}

func nearer(a target, rankA int, b target, rankB int, from place) int {
	foreign := func(t target) int {
		if from.vault != "" && t.vault != "" && t.vault != from.vault {
			return 1
		}
		return 0
	}
	way := func(t target) string { return cmp.Or(t.source, t.path) }
	return cmp.Or(
		cmp.Compare(foreign(a), foreign(b)),
		cmp.Compare(rankA, rankB),
		cmp.Compare(common(way(b), from), common(way(a), from)),
		cmp.Compare(strings.Count(way(a), "/"), strings.Count(way(b), "/")),
		cmp.Compare(len(way(a)), len(way(b))),
		cmp.Compare(way(a), way(b)),
		cmp.Compare(a.id, b.id),
	)
}

// common counts the folders that a path shares with the place of the link.
func common(way string, from place) int {
	here := strings.Split(cmp.Or(from.folder, path.Dir(from.notePath)), "/")
	there := strings.Split(path.Dir(way), "/")
	n := 0
	for n < len(here) && n < len(there) && strings.EqualFold(here[n], there[n]) {
		n++
	}
	return n
}

// targetsNamed reads the notes that answer to any of the names.
func (s store) targetsNamed(ctx context.Context, names []string, publicOnly bool) (map[string][]target, error) {
	out := map[string][]target{}
	for _, n := range names {
		out[n] = nil
	}
	rows, err := s.q.Query(ctx, `
		select n.id::text, n.genre, n.title, n.path, n.aliases, coalesce(n.source_path, ''), n.published, n.names
		from public.notes n where n.names && $1::text[] and n.deleted_at is null and (n.published or not $2)`, names, publicOnly)
	if err != nil {
		return nil, fmt.Errorf("look up link targets: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		var t target
		var source string
		var answers []string
		if err := rows.Scan(&t.id, &t.genre, &t.title, &t.path, &t.aliases, &source, &t.public, &answers); err != nil {
			return nil, fmt.Errorf("look up link targets: %w", err)
		}
		t.vault, t.source = splitSource(strings.TrimSuffix(trimMarkdown(source), "/"))
		for _, n := range answers {
			if _, asked := out[n]; asked {
				out[n] = append(out[n], t)
			}
		}
	}
	return out, rows.Err()
}

// filesNamed reads the attachments that answer to any of the names.
func (s store) filesNamed(ctx context.Context, names []string) (map[string][]target, error) {
	out := map[string][]target{}
	for _, n := range names {
		out[n] = nil
	}
	rows, err := s.q.Query(ctx, `select id::text, name, source_path, media_type, key from public.attachments where key = any($1::text[])`, names)
	if err != nil {
		return nil, fmt.Errorf("look up attachments: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		var t target
		var source, key string
		if err := rows.Scan(&t.id, &t.title, &source, &t.mime, &key); err != nil {
			return nil, fmt.Errorf("look up attachments: %w", err)
		}
		t.vault, t.source = splitSource(source)
		out[key] = append(out[key], t)
	}
	return out, rows.Err()
}

// placeOf is where the links of a note stand.
func placeOf(n Note) place {
	vault, rest := splitSource(n.SourcePath)
	folder := path.Dir(rest)
	if folder == "." {
		folder = ""
	}
	return place{vault: vault, folder: folder, notePath: n.Path}
}

// Resolve finds the note a wikilink in the note `from` leads to, for the owner.
func (d *Domain) Resolve(ctx context.Context, link, from string) (Note, error) {
	var at place
	if from != "" {
		n, err := d.Get(ctx, from)
		if err != nil {
			return Note{}, err
		}
		at = placeOf(n)
	}
	if err := storable("target", link); err != nil {
		return Note{}, err
	}
	name := linkName(link, false)
	found, err := d.store().targetsNamed(ctx, []string{name}, false)
	if err != nil {
		return Note{}, err
	}
	t, ok := choose(link, at, false, found[name])
	if !ok {
		return Note{}, errNotFound
	}
	return d.Get(ctx, t.id)
}

// Crumb is a note as a link to it shows it.
type Crumb struct {
	ID        string `json:"id"`
	Title     string `json:"title"`
	Address   string `json:"address"`
	Published bool   `json:"published"`
}

func crumb(n Note) Crumb {
	return Crumb{ID: n.ID, Title: n.Title, Address: n.Address(), Published: n.Published}
}

// Backlinks are the notes that link to a note, by title.
func (d *Domain) Backlinks(ctx context.Context, id string) ([]Crumb, error) {
	return d.store().backlinks(ctx, id, false)
}

// PublicBacklinks are the published notes that link to a published note.
func (d *Domain) PublicBacklinks(ctx context.Context, id string) ([]Crumb, error) {
	return d.store().backlinks(ctx, id, true)
}

func (s store) backlinks(ctx context.Context, id string, publicOnly bool) ([]Crumb, error) {
	n, err := s.live(ctx, id)
	if err != nil || publicOnly && !n.Published {
		return nil, cmp.Or(err, errNotFound)
	}
	rows, err := s.q.Query(ctx, `
		select n.id::text, n.genre, n.title, n.path, n.published, coalesce(n.source_path, ''), l.target, l.name
		from public.note_links l join public.notes n on n.id = l.note_id
		where l.name = any((select names from public.notes where id = $1)::text[]) and not l.file and n.id <> $1
			and n.deleted_at is null and (n.published or not $2) order by lower(n.title), n.id, l.n`, id, publicOnly)
	if err != nil {
		return nil, fmt.Errorf("read backlinks: %w", err)
	}
	defer rows.Close()
	type link struct {
		from         Note
		target, name string
	}
	var links []link
	var names []string
	for rows.Next() {
		var l link
		if err := rows.Scan(&l.from.ID, &l.from.Genre, &l.from.Title, &l.from.Path, &l.from.Published, &l.from.SourcePath, &l.target, &l.name); err != nil {
			return nil, fmt.Errorf("read backlinks: %w", err)
		}
		links, names = append(links, l), append(names, l.name)
	}
	if err := rows.Err(); err != nil {
		return nil, fmt.Errorf("read backlinks: %w", err)
	}
	slices.Sort(names)
	among, err := s.targetsNamed(ctx, slices.Compact(names), publicOnly)
	if err != nil {
		return nil, err
	}
	out, seen := []Crumb{}, map[string]bool{}
	for _, l := range links {
		if t, ok := choose(l.target, placeOf(l.from), false, among[l.name]); ok && t.id == id && !seen[l.from.ID] {
			seen[l.from.ID] = true
			out = append(out, crumb(l.from))
		}
	}
	return out, nil
}

// Suggestion completes a wikilink.
type Suggestion struct {
	Target string `json:"target"` // what stands between the brackets
	Title  string `json:"title"`
	Path   string `json:"path"`
}

// CompleteLink suggests up to 10 notes whose title or alias holds text.
func (d *Domain) CompleteLink(ctx context.Context, text string) ([]Suggestion, error) {
	if err := storable("text", text); err != nil {
		return nil, err
	}
	found, err := d.store().notes(ctx, listColumns, `
		where n.deleted_at is null and not n.folder and (strpos(lower(n.title), lower($1)) > 0 or strpos(lower(array_to_string(n.aliases, ' ')), lower($1)) > 0)
		order by lower(n.title) <> lower($1), not starts_with(lower(n.title), lower($1)), length(n.title), n.updated_at desc limit 10`, text)
	if err != nil {
		return nil, err
	}
	out := []Suggestion{}
	for _, n := range found {
		t := n.Title
		if strings.ContainsAny(t, "[]|#^") || strings.Contains(t, "/") {
			t = n.Path
		}
		out = append(out, Suggestion{Target: t, Title: n.Title, Path: n.Path})
	}
	return out, nil
}
