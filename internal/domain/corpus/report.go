package corpus

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/gatehouse-hq/gatehouse/internal/infra/op"
	"github.com/gatehouse-hq/gatehouse/internal/infra/pg"
)

// Outcome is how a file of a vault ended.
type Outcome string

const (
	Imported  Outcome = "imported"
	Unchanged Outcome = "unchanged" // the file is as it was at the last import
	Kept      Outcome = "kept"      // changed here since the last import: what is here wins
	Skipped   Outcome = "skipped"   // not content of a vault
	Refused   Outcome = "refused"   // content that cannot be taken
)

// NeedsLook is no outcome but a choice of files, whatever their outcome: what was refused, what was kept as it is here, and
// what was taken with a remark.
const NeedsLook Outcome = "look"

// worthLook is that choice in SQL.
const worthLook = `(outcome in ('refused', 'kept') or outcome <> 'skipped' and reason <> '')`

// Outcomes lists them in the order of a report's last line.
func Outcomes() []Outcome { return []Outcome{Imported, Unchanged, Kept, Skipped, Refused} }

// ImportReport is one import and how far it is.
type ImportReport struct {
	ID         string          `json:"id"`
	Source     string          `json:"source" jsonschema:"the vault's name"`
	State      string          `json:"state" jsonschema:"running, completed or failed"`
	Total      int             `json:"total" jsonschema:"files of the vault"`
	Done       int             `json:"done"`
	Counts     map[Outcome]int `json:"counts" jsonschema:"files by outcome"`
	Error      string          `json:"error"`
	CreatedAt  time.Time       `json:"created_at"`
	FinishedAt *time.Time      `json:"finished_at,omitempty"`
}

// ImportFile is one line of an import's report.
type ImportFile struct {
	N       int     `json:"n"`
	Path    string  `json:"path"`
	Outcome Outcome `json:"outcome"`
	Reason  string  `json:"reason" jsonschema:"why it was not imported, or what its author should know"`
	Line    int     `json:"line" jsonschema:"of the file, from 1; 0 when the reason is about no line"`
	NoteID  string  `json:"note_id"`
}

var errNoImport = op.Errorf(op.NotFound, "There is no such import.")

const importColumns = `id::text, source, state, total, done, counts, error, created_at, finished_at`

func scanReport(row pgx.Row) (r ImportReport, err error) {
	var counts []byte
	if err := row.Scan(&r.ID, &r.Source, &r.State, &r.Total, &r.Done, &counts, &r.Error, &r.CreatedAt, &r.FinishedAt); err != nil {
		return r, err
	}
	r.Counts = map[Outcome]int{Imported: 0, Unchanged: 0, Kept: 0, Skipped: 0, Refused: 0}
	return r, json.Unmarshal(counts, &r.Counts)
}

// Imports lists the newest 50 imports.
func (d *Domain) Imports(ctx context.Context) ([]ImportReport, error) {
	rows, err := d.db.Query(ctx, `select `+importColumns+` from public.imports order by created_at desc, id desc limit 50`)
	if err != nil {
		return nil, fmt.Errorf("list imports: %w", err)
	}
	out, err := pgx.CollectRows(rows, func(r pgx.CollectableRow) (ImportReport, error) { return scanReport(r) })
	if out == nil {
		out = []ImportReport{}
	}
	return out, err
}

// ImportStatus is one import as it stands.
func (d *Domain) ImportStatus(ctx context.Context, id string) (ImportReport, error) {
	return d.store().report(ctx, id)
}

func (s store) report(ctx context.Context, id string) (ImportReport, error) {
	if !pg.ValidUUID(id) {
		return ImportReport{}, errNoImport
	}
	r, err := scanReport(s.q.QueryRow(ctx, `select `+importColumns+` from public.imports where id = $1`, id))
	if pg.NoRows(err) {
		return r, errNoImport
	}
	if err != nil {
		return r, fmt.Errorf("read import: %w", err)
	}
	return r, nil
}

// ImportToLookAt is how many files of an import NeedsLook chooses.
func (d *Domain) ImportToLookAt(ctx context.Context, id string) (n int, err error) {
	if !pg.ValidUUID(id) {
		return 0, errNoImport
	}
	if err = d.db.QueryRow(ctx, `select count(*) from public.import_files where import_id = $1 and `+worthLook, id).Scan(&n); err != nil {
		return 0, fmt.Errorf("count the remarks of an import: %w", err)
	}
	return n, nil
}

// ImportFiles pages through the report of an import, in the order of the
// vault; an empty outcome means all.
func (d *Domain) ImportFiles(ctx context.Context, id string, outcome Outcome, cursor string, limit int) (files []ImportFile, next string, err error) {
	if !pg.ValidUUID(id) {
		return nil, "", errNoImport
	}
	after := int64(-1)
	if cursor != "" {
		if after, err = strconv.ParseInt(cursor, 10, 32); err != nil {
			return nil, "", op.Invalidf("cursor", "This is no cursor of this list. Start again without it.")
		}
	}
	limit = min(max(limit, 1), 1000)
	rows, err := d.db.Query(ctx, `select n, path, outcome, reason, line, coalesce(note_id::text, '') from public.import_files
		where import_id = $1 and n > $2 and ($3 = '' or outcome = $3 or $3 = 'look' and `+worthLook+`) order by n limit $4`, id, after, outcome, limit+1)
	if err != nil {
		return nil, "", fmt.Errorf("read the report of an import: %w", err)
	}
	files, err = pgx.CollectRows(rows, pgx.RowToStructByPos[ImportFile])
	if err != nil {
		return nil, "", fmt.Errorf("read the report of an import: %w", err)
	}
	if files == nil {
		files = []ImportFile{}
	}
	if len(files) > limit {
		files = files[:limit]
		next = strconv.Itoa(files[limit-1].N)
	}
	return files, next, nil
}

func (s store) beginImport(ctx context.Context, id, source string, total int) error {
	_, err := s.q.Exec(ctx, `
		with old as (delete from public.import_files where import_id = $1)
		insert into public.imports (id, owner_id, source, total) values ($1, `+theOwner+`, $2, $3)
		on conflict (id) do update set state = 'running', total = excluded.total, done = 0, counts = '{}', error = '', finished_at = null`, id, source, total)
	if err != nil {
		return fmt.Errorf("begin the import's report: %w", err)
	}
	return nil
}

// addFiles writes lines of the report and how far it is.
func (s store) addFiles(ctx context.Context, id string, lines []ImportFile, counts map[Outcome]int, done int) error {
	_, err := s.q.CopyFrom(ctx, pgx.Identifier{"public", "import_files"}, []string{"import_id", "n", "path", "outcome", "reason", "line", "note_id"},
		pgx.CopyFromSlice(len(lines), func(i int) ([]any, error) {
			l := lines[i]
			return []any{id, l.N, l.Path, string(l.Outcome), l.Reason, l.Line, nullable(l.NoteID)}, nil
		}))
	if err == nil {
		_, err = s.q.Exec(ctx, `update public.imports set counts = $2, done = $3 where id = $1`, id, counts, done)
	}
	if err != nil {
		return fmt.Errorf("write the import's report: %w", err)
	}
	return nil
}

func (s store) endImport(ctx context.Context, id, state, problem string) error {
	_, err := s.q.Exec(ctx, `
		with upload as (delete from public.import_uploads where import_id = $1)
		update public.imports set state = $2, error = $3, finished_at = clock_timestamp() where id = $1`, id, state, problem)
	if err != nil {
		return fmt.Errorf("end the import's report: %w", err)
	}
	return nil
}
