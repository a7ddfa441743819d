package corpus

import (
	"context"
	"fmt"
	"maps"
	"path"
	"strings"

	"github.com/gatehouse-hq/gatehouse/internal/domain/corpus/vault"
	"github.com/gatehouse-hq/gatehouse/internal/infra/pg"
)

// Bounds of one transaction of an import.
const (
	importRows  = 200
	importBytes = 8 << 20
)

// importer is one import under way.
type importer struct {
	d       *Domain
	id      string
	o       ImportOptions
	plan    *plan
	counts  map[Outcome]int
	done    int
	changed bool
	// parents are the notes that stand for folders, by path; taken the segments
	// in use below a note (key: its id, or the genre for writings).
	parents map[string]string
	taken   map[string]map[string]bool
	touched []string // ids of folders to settle in the end
}

func (im *importer) run(ctx context.Context, v *vault.Vault) (err error) {
	if im.plan, err = newPlan(ctx, v, im.o); err != nil {
		return fmt.Errorf("read the vault: %w", err)
	}
	var batch []vault.Record
	size := 0
	for r, err := range v.Records(ctx) {
		if err != nil {
			return fmt.Errorf("read the vault: %w", err)
		}
		batch = append(batch, r)
		size += weigh(r)
		if len(batch) == importRows || size > importBytes {
			if err := im.write(ctx, batch); err != nil {
				return err
			}
			batch, size = nil, 0
		}
	}
	return im.write(ctx, batch)
}

func weigh(r vault.Record) int {
	switch {
	case r.Note != nil:
		return len(r.Note.Body)
	case r.Attachment != nil:
		return len(r.Attachment.Data)
	}
	return 0
}

// write stores one batch and its lines of the report, all or nothing.
func (im *importer) write(ctx context.Context, records []vault.Record) error {
	if len(records) == 0 {
		return nil
	}
	entries, err := im.prepare(ctx, records)
	if err != nil {
		return err
	}
	before := im.snapshot()
	_, err = im.d.write(ctx, false, func(tx pg.Tx, s store) error {
		im.revert(before)
		w := &batchWriter{importer: im, tx: tx, s: s}
		return w.write(ctx, entries)
	})
	if err != nil {
		im.revert(before)
		return fmt.Errorf("store %d files from %s: %w", len(records), records[0].Path, err)
	}
	if im.o.Progress != nil {
		im.o.Progress(im.done, im.plan.total)
	}
	return nil
}

// snapshot and revert keep what is known in step with the database: a
// transaction may be run twice, or not at all.
type progress struct {
	counts  map[Outcome]int
	done    int
	changed bool
}

func (im *importer) snapshot() progress {
	return progress{counts: maps.Clone(im.counts), done: im.done, changed: im.changed}
}

func (im *importer) revert(p progress) {
	im.done, im.changed, im.counts = p.done, p.changed, maps.Clone(p.counts)
	im.parents = map[string]string{"": im.o.Into, ".": im.o.Into}
	im.taken = map[string]map[string]bool{}
}

// entry is a record with what is derived from it before the transaction.
type entry struct {
	vault.Record
	n       Note // of a note: as the file has it
	f       facts
	sum     string // digest of the file and of whether it is to be public
	refused string // why it cannot be stored
	line    int
}

func (im *importer) prepare(ctx context.Context, records []vault.Record) ([]entry, error) {
	entries := make([]entry, 0, len(records))
	for _, r := range records {
		e := entry{Record: r}
		if r.Kind == vault.KindNote {
			if err := im.prepareNote(ctx, &e); err != nil {
				return nil, err
			}
		}
		entries = append(entries, e)
	}
	return entries, nil
}

func (im *importer) prepareNote(ctx context.Context, e *entry) error {
	note := e.Note
	public := isPublic(note, im.o)
	in, err := NewNote{Genre: genreOf(note), Title: clip(note.Title, TitleLimit), Body: note.Body, Slug: slugOf(note), Tags: clipAll(note.Front.Tags, TagLimit, TagsLimit),
		Aliases: clipAll(note.Front.Aliases, AliasLimit, AliasesLimit), Description: clip(oneLine(note.Front.Description), DescriptionLimit),
		Published: public, Dated: datedOf(note)}.clean()
	if err != nil {
		e.refused = err.Error()
		return nil
	}
	if e.f, err = im.d.derive(ctx, in.Body); err != nil {
		e.refused = "its text cannot be read as Markdown"
		return nil
	}
	e.n = Note{Genre: in.Genre, Title: in.Title, Body: in.Body, Segment: in.Slug, Tags: in.Tags, Aliases: in.Aliases, Description: in.Description,
		Published: public, Dated: in.Dated, BodyTags: e.f.tags, SourcePath: im.plan.source(e.Path)}
	e.sum = fmt.Sprintf("%x:%t", note.Sum, public)
	for i, w := range note.Warnings {
		if i == 0 {
			e.line = w.Line
		}
		e.Reason = strings.TrimPrefix(e.Reason+"; "+w.Message, "; ")
	}
	return nil
}

// slugOf is the address a writing asks for.
func slugOf(n *vault.Note) string {
	if genreOf(n) == Wiki {
		return ""
	}
	return clip(n.Front.Slug, SegmentLimit)
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// clip shortens what is longer than a field takes: a vault is not refused for
// a long description.
func clip(s string, limit int) string {
	if r := []rune(s); len(r) > limit {
		return string(r[:limit])
	}
	return s
}

func clipAll(in []string, limit, most int) []string {
	out := make([]string, 0, len(in))
	for _, s := range in[:min(len(in), most)] {
		out = append(out, clip(oneLine(s), limit))
	}
	return out
}

// finish settles folders, ends the report and records the fact, if anything
// changed at all.
func (im *importer) finish(ctx context.Context) error {
	_, err := im.d.write(ctx, false, func(tx pg.Tx, s store) error {
		if err := s.lockTree(ctx); err != nil {
			return err
		}
		if err := s.settleFolders(ctx, im.touched...); err != nil {
			return err
		}
		if err := s.endImport(ctx, im.id, "completed", ""); err != nil || !im.changed {
			return err
		}
		owner, err := s.ownerID(ctx)
		if err != nil {
			return err
		}
		return recordImported(ctx, im.d.rec.With(tx), owner, im.plan.name, ImportReport{ID: im.id, Counts: im.counts})
	})
	if err != nil {
		return fmt.Errorf("end the import: %w", err)
	}
	return nil
}

// dirOf is the folder of a file within the vault, "" at its root.
func dirOf(file string) string {
	if d := path.Dir(file); d != "." {
		return d
	}
	return ""
}
