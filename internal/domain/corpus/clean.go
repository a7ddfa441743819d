package corpus

import (
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"github.com/gatehouse-hq/gatehouse/internal/domain/corpus/markdown"
	"github.com/gatehouse-hq/gatehouse/internal/infra/op"
)

// Bounds of a note's fields, in characters; of its body, in bytes.
const (
	TitleLimit       = 3000
	DescriptionLimit = 2000
	TagLimit         = 100
	AliasLimit       = 500
	TagsLimit        = 200
	AliasesLimit     = 100
	BodyLimit        = markdown.MaxSource
)

// NewNote is what Create takes.
type NewNote struct {
	Genre       Genre
	ParentID    string // wiki only; empty is the top
	Title       string
	Body        string
	Slug        string // empty: made from the title
	Description string
	Tags        []string
	Aliases     []string
	Published   bool
	Dated       *time.Time // writing only; empty is the day it is published
}

func (in NewNote) clean() (NewNote, error) {
	var err error
	first := func(e error) {
		if err == nil {
			err = e
		}
	}
	take := func(v string, e error) string { first(e); return v }
	switch in.Genre {
	case Raw, Wiki, Writing:
	default:
		first(op.Invalidf("genre", "Choose raw, wiki or writing."))
	}
	if in.Genre == Raw && in.Published {
		first(errRawPrivate)
	}
	if in.Genre != Wiki && in.ParentID != "" {
		first(op.Invalidf("parent_id", "Only notes of the wiki stand below others."))
	}
	in.Title = take(cleanTitle(in.Title))
	in.Body = take(cleanBody(in.Body))
	in.Slug = take(cleanSlug(in.Slug))
	in.Description = take(cleanLine("description", in.Description, DescriptionLimit))
	if in.Tags, err = cleanTags(in.Tags, err); err == nil {
		in.Aliases, err = cleanAliases(in.Aliases)
	}
	return in, err
}

func cleanTitle(s string) (string, error) {
	s, err := cleanLine("title", s, TitleLimit)
	if err == nil && s == "" {
		err = op.Invalidf("title", "A note needs a title.")
	}
	return s, err
}

// cleanSlug is an address typed by a person, as the address rule has it.
func cleanSlug(s string) (string, error) {
	s, err := cleanLine("slug", s, SegmentLimit)
	if err != nil || s == "" {
		return "", err
	}
	seg := Segment(s)
	if seg == untitled && !strings.EqualFold(s, untitled) {
		return "", op.Invalidf("slug", "At least one letter or digit is needed.")
	}
	return seg, nil
}

// cleanLine is text on one line: NFC, no NUL and no other control characters.
func cleanLine(field, s string, limit int) (string, error) {
	if err := storable(field, s); err != nil {
		return s, err
	}
	s = norm.NFC.String(strings.TrimSpace(s))
	if strings.ContainsFunc(s, unicode.IsControl) {
		return s, op.Invalidf(field, "must be one line without control characters")
	}
	if n := utf8.RuneCountInString(s); n > limit {
		return s, op.Invalidf(field, "has %d characters; at most %d are allowed", n, limit)
	}
	return s, nil
}

// cleanBody has lines ended by \n: forms send \r\n, and the same text must not
// become another version by it.
func cleanBody(s string) (string, error) {
	if err := storable("body", s); err != nil {
		return s, err
	}
	if len(s) > BodyLimit {
		return s, op.Invalidf("body", "The text has %d bytes. At most %d are taken.", len(s), BodyLimit)
	}
	return strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(s), nil
}

// storable refuses what PostgreSQL cannot hold (field case F12), at its field.
func storable(field, s string) error {
	switch {
	case strings.ContainsRune(s, 0):
		return op.Invalidf(field, "holds a NUL character (U+0000), which cannot be stored")
	case !utf8.ValidString(s):
		return op.Invalidf(field, "is not valid UTF-8 text")
	}
	return nil
}

func cleanTags(in []string, err error) ([]string, error) {
	if err != nil {
		return in, err
	}
	out := []string{}
	for _, t := range in {
		t, err := cleanLine("tags", strings.Trim(strings.TrimSpace(t), "#"), TagLimit)
		if err != nil {
			return in, err
		}
		if t = strings.Trim(strings.Join(strings.Fields(t), "-"), "/"); t != "" {
			out = append(out, t)
		}
	}
	out = distinctTags(out)
	if len(out) > TagsLimit {
		return in, op.Invalidf("tags", "A note can have at most %d tags.", TagsLimit)
	}
	return out, nil
}

func cleanAliases(in []string) ([]string, error) {
	out, seen := []string{}, map[string]bool{}
	for _, a := range in {
		a, err := cleanLine("aliases", a, AliasLimit)
		if err != nil {
			return in, err
		}
		if a != "" && !seen[a] {
			seen[a] = true
			out = append(out, a)
		}
	}
	if len(out) > AliasesLimit {
		return in, op.Invalidf("aliases", "A note can have at most %d aliases.", AliasesLimit)
	}
	return out, nil
}

// foldTag is how tags are compared: case makes no difference.
func foldTag(t string) string { return strings.ToLower(norm.NFC.String(t)) }

// distinctTags keeps the first spelling of each tag.
func distinctTags(in []string) []string {
	out, seen := []string{}, map[string]bool{}
	for _, t := range in {
		if k := foldTag(t); !seen[k] {
			seen[k] = true
			out = append(out, t)
		}
	}
	return out
}
