package corpus

import (
	"context"
	"encoding/json"

	"github.com/gatehouse-hq/gatehouse/internal/infra/events"
)

// The event types of this domain. NoteChanged is born in the triggers of
// schema.sql, so that no way of writing can forget it; the others are facts.
const (
	NoteChanged        = "corpus.note.changed"
	WritingPublished   = "writing.published"
	WritingUnpublished = "writing.unpublished"
	VaultImported      = "vault.imported"
)

// Types are the events of this domain.
func Types() []events.Type {
	return []events.Type{{
		Name:  NoteChanged,
		Title: "Note changed",
		Description: "A note was created, changed or deleted. Going to the trash is a deletion, coming back a creation. " +
			"Renaming a parent changes the address of each note below it: one event for each.",
		Subject: "the note's address, such as wiki://garden/pump; for a deletion, or when a note was unpublished, the last one it was known by",
		Example: json.RawMessage(`{"op":"updated","note_id":"0197d0f0-5f2c-7c3e-9d50-1c9a7f0a4b11","genre":"wiki","parent_id":null,` +
			`"published":true,"was_published":false,"path_changed":false}`),
		Exposure: events.Webhook,
	}, {
		Name:        WritingPublished,
		Title:       "Writing published",
		Description: "A writing became public: for the first time, again, or by coming back from the trash.",
		Subject:     "the writing's address, such as writing://first-frost",
		Example:     json.RawMessage(`{"note_id":"0197d0f0-5f2c-7c3e-9d50-1c9a7f0a4b11"}`),
		Exposure:    events.Webhook,
	}, {
		Name:        WritingUnpublished,
		Title:       "Writing unpublished",
		Description: "A public writing was taken back, or went to the trash.",
		Subject:     "the address it was public at, such as writing://first-frost",
		Example:     json.RawMessage(`{"note_id":"0197d0f0-5f2c-7c3e-9d50-1c9a7f0a4b11"}`),
		Exposure:    events.Webhook,
	}, {
		Name:        VaultImported,
		Title:       "Vault imported",
		Description: "An import that changed something has ended. One that found every file unchanged is no event.",
		Subject:     "vault:// and the vault's name",
		Example: json.RawMessage(`{"import_id":"0197d0f0-5f2c-7c3e-9d50-1c9a7f0a4b11","imported":171,"unchanged":0,"kept":0,` +
			`"skipped":2,"refused":0}`),
		Exposure: events.Webhook,
	}}
}

type writingData struct {
	NoteID string `json:"note_id"`
}

func recordPublished(ctx context.Context, rec events.Recorder, ownerID string, n Note) error {
	_, err := rec.Record(ctx, ownerID, WritingPublished, n.URI(), writingData{NoteID: n.ID})
	return err
}

// recordUnpublished takes the writing as it was while public: its new address
// may tell what visitors must not know.
func recordUnpublished(ctx context.Context, rec events.Recorder, ownerID string, was Note) error {
	_, err := rec.Record(ctx, ownerID, WritingUnpublished, was.URI(), writingData{NoteID: was.ID})
	return err
}

type vaultData struct {
	ImportID  string `json:"import_id"`
	Imported  int    `json:"imported"`
	Unchanged int    `json:"unchanged"`
	Kept      int    `json:"kept"`
	Skipped   int    `json:"skipped"`
	Refused   int    `json:"refused"`
}

func recordImported(ctx context.Context, rec events.Recorder, ownerID, name string, r ImportReport) error {
	_, err := rec.Record(ctx, ownerID, VaultImported, "vault://"+name, vaultData{
		ImportID: r.ID, Imported: r.Counts[Imported], Unchanged: r.Counts[Unchanged], Kept: r.Counts[Kept],
		Skipped: r.Counts[Skipped], Refused: r.Counts[Refused]})
	return err
}
