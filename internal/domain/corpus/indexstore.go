package corpus

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
)

// snapshot reads notes that are to be indexed, and when that was.
func (s store) snapshot(ctx context.Context, ids []string) (at time.Time, notes []Note, err error) {
	b := &pgx.Batch{}
	b.Queue(`select clock_timestamp()`).QueryRow(func(r pgx.Row) error { return r.Scan(&at) })
	b.Queue(`select `+noteColumns+` from public.notes n where n.id = any($1::uuid[]) and n.deleted_at is null`, ids).Query(func(rows pgx.Rows) error {
		notes, err = pgx.CollectRows(rows, func(r pgx.CollectableRow) (Note, error) { return scanNote(r) })
		return err
	})
	if err := s.q.SendBatch(ctx, b).Close(); err != nil {
		return at, nil, fmt.Errorf("read notes to index: %w", err)
	}
	return at, notes, nil
}

// insertMentions leaves out notes that are purged at this moment.
const insertMentions = `
	insert into public.note_mentions (note_id, target_id)
	select w.n, w.t from unnest($1::uuid[], $2::uuid[]) w(n, t)
	where exists (select 1 from public.notes where id = w.n) and exists (select 1 from public.notes where id = w.t)
	order by 1, 2 on conflict `

func (s store) addMentions(ctx context.Context, of map[string][]string) error {
	notes, targets := mentionRows(of)
	if len(notes) == 0 {
		return nil
	}
	if _, err := s.q.Exec(ctx, insertMentions+`do nothing`, notes, targets); err != nil {
		return fmt.Errorf("write which notes are named: %w", err)
	}
	return nil
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

// settle confirms the mentions and strikes out what is older than the work that
// found them; a note that names itself bears the mark that it was indexed (see
// linkers). It answers which versions the notes have now, and which of them
// tell of a note that is not public.
func (s store) settle(ctx context.Context, ids []string, of map[string][]string, began time.Time) (now map[string]int64, telling []string, err error) {
	notes, targets := mentionRows(of)
	indexed := slices.Collect(maps.Keys(of))
	b := &pgx.Batch{}
	b.Queue(insertMentions+`(note_id, target_id) do update set since = clock_timestamp()`, notes, targets)
	b.Queue(insertMentions+`do nothing`, indexed, indexed)
	b.Queue(`delete from public.note_mentions where note_id = any($1::uuid[]) and target_id <> note_id and since < $2`, indexed, began)
	b.Queue(versionsSQL, ids).Query(func(rows pgx.Rows) error { now, err = scanVersions(rows); return err })
	b.Queue(tellingSQL, ids).Query(func(rows pgx.Rows) error { telling, err = collectStrings(rows); return err })
	if err := s.q.SendBatch(ctx, b).Close(); err != nil {
		return nil, nil, fmt.Errorf("confirm what was indexed: %w", err)
	}
	return now, telling, nil
}

const versionsSQL = `select id::text, version from public.notes where id = any($1::uuid[]) and deleted_at is null`

// versions of live notes.
func (s store) versions(ctx context.Context, ids []string) (map[string]int64, error) {
	rows, err := s.q.Query(ctx, versionsSQL, ids)
	if err != nil {
		return nil, fmt.Errorf("read versions: %w", err)
	}
	return scanVersions(rows)
}

func scanVersions(rows pgx.Rows) (map[string]int64, error) {
	out := map[string]int64{}
	var id string
	var v int64
	_, err := pgx.ForEachRow(rows, []any{&id, &v}, func() error { out[id] = v; return nil })
	if err != nil {
		return nil, fmt.Errorf("read versions: %w", err)
	}
	return out, nil
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
