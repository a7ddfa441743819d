package markdown

import (
	"cmp"
	"context"
	"path"
	"strings"
)

// Resolver says what the targets of links are, for one reader. What it does not give is treated as absent: a note that is missing and one
// that the reader may not see must both be answered with false. An error stops the rendering and is returned from Render.
//
// from is Options.From, or inside an embedded note that note's ID. Answers are asked for once per target and page; a caller that
// answers from the database can fetch them all beforehand with Renderer.Links.
type Resolver interface {
	// Note finds a note by what stands in a link: a title, an alias, a path with or without .md, relative or from the vault's root, or, for
	// Markdown links that begin with a slash, an address of the site (which may resolve to a Note without ID).
	Note(ctx context.Context, target, from string) (Note, bool, error)
	// File finds an attachment by name or path.
	File(ctx context.Context, target, from string) (File, bool, error)
	// Body gives the Markdown of a note that Note returned, for embedding it.
	Body(ctx context.Context, id string) (string, bool, error)
	// Tag gives the address of a tag's page, or "" for none.
	Tag(name string) string
}

// Note is a link target that the reader may open.
type Note struct {
	ID    string
	Title string // shown above an embedded note
	Href  string // an address on this site, without fragment
}

// File is an attachment that the reader may open.
type File struct {
	ID   string
	Name string // with extension
	Href string // an address on this site
	MIME string // image/* is shown, everything else is linked
}

// Words are the few words that rendering itself adds to a page. Empty fields take the English default.
type Words struct {
	MissingNote string // in place of a link without alias that does not resolve
	MissingFile string
	Loop        string // where a note embeds itself
	TooMany     string // where the bounds on embedding end it
	Done, Open  string // the names of task boxes
	Table       string // the name of a table's scrolling frame
	Back        string // the name of the link from a footnote to its place
	Remote      string // a link to a remote image or frame without words of its own; the host follows
}

func (w Words) withDefaults() Words {
	return Words{
		MissingNote: cmp.Or(w.MissingNote, "missing or private note"),
		MissingFile: cmp.Or(w.MissingFile, "missing or private file"),
		Loop:        cmp.Or(w.Loop, "This note embeds itself here."),
		TooMany:     cmp.Or(w.TooMany, "Too much is embedded to show it here."),
		Done:        cmp.Or(w.Done, "done"),
		Open:        cmp.Or(w.Open, "to do"),
		Table:       cmp.Or(w.Table, "Table"),
		Back:        cmp.Or(w.Back, "Back to the text"),
		Remote:      cmp.Or(w.Remote, "Content at"),
	}
}

// NamesFile tells whether a link target is an attachment by its extension (photo.png, not v1.2), as against a note.
func NamesFile(target string) bool {
	switch strings.ToLower(path.Ext(target)) {
	case ".png", ".jpg", ".jpeg", ".gif", ".webp", ".svg", ".avif", ".bmp", ".ico", ".tif", ".tiff", ".heic",
		".pdf", ".mp3", ".m4a", ".wav", ".ogg", ".oga", ".opus", ".flac", ".3gp", ".mp4", ".m4v", ".webm", ".ogv", ".mov", ".mkv",
		".canvas", ".base", ".txt", ".csv", ".json", ".yaml", ".yml", ".bib", ".tex", ".epub", ".zip",
		".docx", ".xlsx", ".pptx", ".odt", ".ods", ".odp":
		return true
	}
	return false
}
