package notes

import (
	"encoding/json"

	"github.com/gatehouse-hq/gatehouse/internal/domain/corpus"
)

// told says what an event of a note was about; one that cannot be read is named by its type.
func told(kind string, data json.RawMessage) string {
	switch kind {
	case corpus.WritingPublished:
		return "Became public"
	case corpus.WritingUnpublished:
		return "Taken back"
	case corpus.NoteChanged:
	default:
		return kind
	}
	var d struct {
		Op           string `json:"op"`
		Published    bool   `json:"published"`
		WasPublished bool   `json:"was_published"`
		PathChanged  bool   `json:"path_changed"`
	}
	if err := json.Unmarshal(data, &d); err != nil {
		return kind
	}
	switch {
	case d.Op == "created":
		return "Created"
	case d.Op == "deleted":
		return "Deleted"
	case d.Published && !d.WasPublished:
		return "Published"
	case !d.Published && d.WasPublished:
		return "Unpublished"
	case d.PathChanged:
		return "Moved or renamed"
	}
	return "Changed"
}
