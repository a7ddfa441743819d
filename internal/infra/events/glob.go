package events

import (
	"fmt"
	"regexp"
	"strings"
)

// Glob selects event types by name: `*` stands for any run of characters
// within one segment, `**` for any run at all, so that `code.*` is code.issued
// and `corpus.**` is corpus.note.changed.
type Glob struct {
	text string
	re   *regexp.Regexp
}

var globText = regexp.MustCompile(`^[a-z0-9_*]+(\.[a-z0-9_*]+)*$`)

// maxGlob bounds what a person can type; type names are far shorter.
const maxGlob = 100

// ParseGlob reads a glob. The error can be shown at the field it was typed in.
func ParseGlob(text string) (Glob, error) {
	if len(text) > maxGlob || !globText.MatchString(text) || strings.Contains(text, "***") {
		return Glob{}, fmt.Errorf("%.100q is not a pattern of event types such as corpus.note.changed, code.* or corpus.**", text)
	}
	pattern := regexp.QuoteMeta(text)
	pattern = strings.ReplaceAll(pattern, `\*\*`, `.*`)
	pattern = strings.ReplaceAll(pattern, `\*`, `[^.]*`)
	re, err := regexp.Compile("^" + pattern + "$")
	if err != nil {
		return Glob{}, fmt.Errorf("read pattern %q: %w", text, err)
	}
	return Glob{text: text, re: re}, nil
}

// Match reports whether the glob selects the type of that name.
func (g Glob) Match(name string) bool { return g.re != nil && g.re.MatchString(name) }

// String is the glob as it was typed.
func (g Glob) String() string { return g.text }

// literal reports whether g can match one name only.
func (g Glob) literal() bool { return !strings.Contains(g.text, "*") }
