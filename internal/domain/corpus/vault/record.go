package vault

import (
	"fmt"
	"time"
)

// Kind is what became of a file.
type Kind string

// A file ends as one of these.
const (
	KindNote       Kind = "note"
	KindAttachment Kind = "attachment"
	KindSkipped    Kind = "skipped" // not part of a vault's content
	KindRefused    Kind = "refused" // meant as content, but cannot be taken
)

// Record is what became of one file, or of a folder left out with all it holds (its path ends with a slash).
type Record struct {
	Path       string // slash-separated, relative to the vault, NFC
	Kind       Kind
	Reason     string      // of KindSkipped and KindRefused: a sentence without a full stop
	Note       *Note       // of KindNote
	Attachment *Attachment // of KindAttachment
}

// Note is a Markdown file.
type Note struct {
	Title    string // from the front matter, else the file's name
	Body     string // UTF-8, NFC, lines ended by \n, without front matter; with it where it could not be told from the body
	BodyLine int    // the line of the file on which Body begins, from 1
	Front    FrontMatter
	Warnings []Warning
	Sum      [32]byte // SHA-256 of the file
}

// FrontMatter is what a note says about itself. All texts are NFC and as typed: dates and numbers are not reformatted.
type FrontMatter struct {
	Present     bool // there was a block, or something meant as one
	Unreadable  bool // and it could not be read: Publish is No, everything else is empty
	Title       string
	Aliases     []string
	Tags        []string // without #
	Publish     Publish
	Permalink   string
	Slug        string
	Description string
	Created     Date
	Updated     Date
	Date        Date
	Extra       map[string]string // every other key
	Raw         string            // the block as typed, without its --- lines
}

// Publish is the author's word on whether a note is public.
type Publish int

// PublishUnset leaves the choice to whoever imports.
const (
	PublishUnset Publish = iota
	PublishYes
	PublishNo
)

func (p Publish) String() string {
	return [...]string{"unset", "yes", "no"}[p]
}

// Date is a point in time as typed. Time is zero when there was none or it could not be read; without a zone it is UTC.
type Date struct {
	Text string
	Time time.Time
}

// Warning is something in a note that its author should know of.
type Warning struct {
	Line    int // of the file, from 1
	Message string
}

func (w Warning) String() string { return fmt.Sprintf("line %d: %s", w.Line, w.Message) }

// Attachment is a file that notes may show or link.
type Attachment struct {
	Name string // with extension
	MIME string // by content, checked against the extension
	Data []byte
	Sum  [32]byte // SHA-256
}

// Limits bound what is read.
type Limits struct {
	Note       int64 // bytes of one note
	Attachment int64 // bytes of one attachment
	Total      int64 // bytes of all files together, those refused while reading included
	Files      int   // entries of a folder tree or archive
	Depth      int   // folders inside each other
}

// DefaultLimits are 2 MiB a note, 10 MiB an attachment, 512 MiB in all, 20,000 files, 32 folders deep.
func DefaultLimits() Limits {
	return Limits{Note: 2 << 20, Attachment: 10 << 20, Total: 512 << 20, Files: 20_000, Depth: 32}
}
