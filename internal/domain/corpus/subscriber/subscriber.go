// Package subscriber does the work of the corpus in the background: search is
// brought to the state of the notes, and uploaded vaults are read.
package subscriber

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/gatehouse-hq/gatehouse/internal/domain/corpus"
	"github.com/gatehouse-hq/gatehouse/internal/infra/events"
	"github.com/gatehouse-hq/gatehouse/internal/infra/jobs"
	"github.com/gatehouse-hq/gatehouse/internal/infra/pg"
)

// Handlers are the handlers of the corpus. Each may run more than once for the
// same args, and at the same time as another.
type Handlers struct{ notes *corpus.Domain }

var _ corpus.Handlers = Handlers{}

// New builds the handlers.
func New(notes *corpus.Domain) Handlers { return Handlers{notes: notes} }

// changed is what Index reads of corpus.note.changed.
type changed struct {
	Op           string `json:"op"`
	NoteID       string `json:"note_id"`
	Published    bool   `json:"published"`
	WasPublished bool   `json:"was_published"`
	PathChanged  bool   `json:"path_changed"`
}

// Index brings one note into search as it is now. When it came into or out of
// sight, so do the notes that name it.
func (h Handlers) Index(ctx context.Context, e events.Event) error {
	var c changed
	if err := json.Unmarshal(e.Data, &c); err != nil || !pg.ValidUUID(c.NoteID) {
		return jobs.Discard(fmt.Errorf("event %s names no note", e.ID))
	}
	// An imported note comes into being with hundreds of others, most of them
	// not there yet when those that link to them are indexed: op created counts.
	return h.notes.IndexChanged(ctx, c.NoteID, c.Op != "updated" || c.Published != c.WasPublished || c.PathChanged)
}

// Reindex rebuilds the whole index.
func (h Handlers) Reindex(ctx context.Context, _ json.RawMessage) error {
	indexed, removed, err := h.notes.Reindex(ctx, func(done int) { jobs.Report(ctx, map[string]int{"indexed": done}) })
	if err != nil {
		return err
	}
	jobs.Report(ctx, map[string]int{"indexed": indexed, "removed": removed})
	return nil
}

// Import reads an uploaded archive.
func (h Handlers) Import(ctx context.Context, args json.RawMessage) error {
	var a corpus.ImportArgs
	if err := json.Unmarshal(args, &a); err != nil || !pg.ValidUUID(a.ImportID) {
		return jobs.Discard(fmt.Errorf("the arguments name no import"))
	}
	report, err := h.notes.ImportUploaded(ctx, a.ImportID)
	if err != nil {
		return err
	}
	jobs.Report(ctx, report.Counts)
	return nil
}
