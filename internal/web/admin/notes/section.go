// Package notes is the Notes section of the panel: the list and the tree, the editor with its preview, publishing,
// moving, the trash, and the import of vaults.
package notes

import (
	"context"
	"io"
	"net/http"

	"github.com/go-chi/chi/v5"

	"github.com/gatehouse-hq/gatehouse/internal/domain/corpus"
	"github.com/gatehouse-hq/gatehouse/internal/domain/corpus/markdown"
	"github.com/gatehouse-hq/gatehouse/internal/domain/tasks"
	"github.com/gatehouse-hq/gatehouse/internal/infra/op"
	"github.com/gatehouse-hq/gatehouse/internal/web/edge"
	"github.com/gatehouse-hq/gatehouse/internal/web/ui"
)

// Corpus is what the owner may ask of the notes. *corpus.Domain is one.
type Corpus interface {
	Create(ctx context.Context, in corpus.NewNote) (corpus.Receipt, error)
	Update(ctx context.Context, c corpus.Change) (corpus.Receipt, error)
	Publish(ctx context.Context, ids []string) ([]corpus.Note, error)
	Unpublish(ctx context.Context, ids []string) ([]corpus.Note, error)
	Move(ctx context.Context, id, parentID string, position *int, expectVersion int64) (corpus.Note, error)
	Promote(ctx context.Context, id, parentID string, expectVersion int64) (corpus.Receipt, error)
	Restore(ctx context.Context, batch string) (corpus.Batch, error)
	Trash(ctx context.Context) ([]corpus.Batch, error)
	Get(ctx context.Context, id string) (corpus.Note, error)
	Viewed(ctx context.Context, id string) error
	List(ctx context.Context, f corpus.Filter) (corpus.NoteList, error)
	Search(ctx context.Context, q corpus.SearchQuery) (corpus.SearchResults, error)
	Tree(ctx context.Context) ([]corpus.TreeNode, error)
	Ancestors(ctx context.Context, id string) ([]corpus.Crumb, error)
	Backlinks(ctx context.Context, id string) ([]corpus.Crumb, error)
	CompleteLink(ctx context.Context, text string) ([]corpus.Suggestion, error)
	Preview(ctx context.Context, title, body, from string) (markdown.Page, error)

	ImportUpload(ctx context.Context, archive io.Reader, o corpus.ImportOptions) (string, error)
	Imports(ctx context.Context) ([]corpus.ImportReport, error)
	ImportStatus(ctx context.Context, id string) (corpus.ImportReport, error)
	ImportToLookAt(ctx context.Context, id string) (int, error)
	ImportFiles(ctx context.Context, id string, outcome corpus.Outcome, cursor string, limit int) (files []corpus.ImportFile, next string, err error)
}

// Stream is where the history of a note is read. *tasks.Domain is one.
type Stream interface {
	ListEvents(ctx context.Context, q tasks.EventQuery) (tasks.EventPage, error)
}

// Section serves the pages below /admin/notes.
type Section struct {
	corpus Corpus
	stream Stream
	plans  *op.Plans
	edge   *edge.Edge
}

// New returns the section.
func New(c Corpus, s Stream, p *op.Plans, e *edge.Edge) *Section {
	return &Section{corpus: c, stream: s, plans: p, edge: e}
}

// Bounds of what is posted. A form's body may be three times its text, since each byte of it can be percent-encoded.
const (
	noteForm   = 3*corpus.BodyLimit + 1<<20
	uploadForm = corpus.UploadLimit + 1<<20
)

// Routes lists every route of the section, relative to /admin. They stand behind the sign-in gate.
func (s *Section) Routes(r chi.Router) {
	get := func(pattern string, h edge.Handler) { r.Method(http.MethodGet, pattern, s.edge.Handle(h)) }
	post := func(pattern string, h edge.Handler) { r.Method(http.MethodPost, pattern, s.edge.Handle(h)) }
	long := func(pattern string, h edge.Handler) {
		r.Method(http.MethodPost, pattern, s.edge.HandleSized(noteForm, h))
	}
	get("/notes", s.list)
	get("/notes/tree", s.tree)
	get("/notes/new", s.blank)
	long("/notes/new", s.create)
	long("/notes/preview", s.preview)
	get("/notes/complete", s.complete)
	post("/notes/publish", s.publishPicked)
	post("/notes/unpublish", s.unpublishPicked)
	post("/notes/delete", s.deletePicked)
	get("/notes/trash", s.trash)
	post("/notes/trash/{batch}/restore", s.restore)
	get("/notes/import", s.imports)
	r.Method(http.MethodPost, "/notes/import", s.edge.HandleSized(uploadForm, s.upload))
	get("/notes/import/{id}", s.report)
	get("/notes/{id}", s.editor)
	long("/notes/{id}", s.save)
	post("/notes/{id}/publish", s.publish)
	post("/notes/{id}/unpublish", s.unpublish)
	get("/notes/{id}/place", s.place)
	post("/notes/{id}/place", s.move)
	get("/notes/{id}/delete", s.confirmDelete)
}

// Messages are what the actions of this section say on the next page.
func Messages() map[string]edge.Message {
	trash := &ui.Link{Label: "Open the trash", Href: "/admin/notes/trash"}
	return map[string]edge.Message{
		"note-indexed":       {Tone: ui.Done, One: "Saved, and search finds it as it is now."},
		"note-saved":         {Tone: ui.Told, One: "Saved. Search still knows the state before; it follows in the background."},
		"note-unchanged":     {Tone: ui.Told, One: "Nothing was different, so nothing was written."},
		"note-moved":         {Tone: ui.Done, One: "Moved. Old addresses lead to the new ones."},
		"note-promoted":      {Tone: ui.Done, One: "The note is in the wiki now, private as it was."},
		"notes-published":    {Tone: ui.Done, One: "Published. Visitors can read it now.", Many: "Published # notes. Visitors can read them now."},
		"notes-unpublished":  {Tone: ui.Done, One: "Taken back. Visitors no longer find it anywhere.", Many: "Took # notes back. Visitors no longer find them anywhere."},
		"notes-deleted":      {Tone: ui.Done, One: "One note went to the trash.", Many: "# notes went to the trash.", Link: trash},
		"notes-restored":     {Tone: ui.Done, One: "The note is back. If its place was taken meanwhile, its address has a number now.", Many: "# notes are back. Those whose place was taken meanwhile have a number in their address now."},
		"notes-none-picked":  {Tone: ui.Warn, One: "Nothing was selected, so nothing was changed."},
		"notes-import-began": {Tone: ui.Told, One: "The archive has arrived. Its notes come in one after the other; this page shows how far it is."},
	}
}

const address = "/admin/notes"

func at(id string) string { return address + "/" + id }

// panel is the frame that all pages of the section share.
func panel(title, purpose string) ui.Panel {
	return ui.Panel{Title: title, Purpose: purpose, Section: address, Live: "/admin/live"}
}

func within(p ui.Panel, trail ...ui.Link) ui.Panel {
	p.Trail = append([]ui.Link{{Label: "Notes", Href: address}}, trail...)
	return p
}

func genreName(g corpus.Genre) string {
	switch g {
	case corpus.Wiki:
		return "Wiki"
	case corpus.Writing:
		return "Writing"
	}
	return "Inbox"
}

func stateOf(published bool) string {
	if published {
		return "published"
	}
	return "private"
}
