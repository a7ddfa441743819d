package corpus

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/gatehouse-hq/gatehouse/internal/infra/op"
)

func FuzzSegment(f *testing.F) {
	for _, s := range []string{"", "Hello, World!", "反向链接", "İ\u0307", "H\u0331", "\xff\x00", "a/../b", strings.Repeat("é-", 100), "❤\ufe0f"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, title string) {
		s := Segment(title)
		switch {
		case s == "", strings.ContainsAny(s, "/. \x00%?#"), strings.HasPrefix(s, "-"), strings.HasSuffix(s, "-"), strings.Contains(s, "--"):
			t.Errorf("Segment(%q) = %q is no step of an address", title, s)
		case !utf8.ValidString(s), utf8.RuneCountInString(s) > SegmentLimit:
			t.Errorf("Segment(%q) = %q is too long or no text", title, s)
		case Segment(s) != s:
			t.Errorf("Segment(%q) = %q is not stable: %q", title, s, Segment(s))
		}
	})
}

func FuzzCursor(f *testing.F) {
	f.Add("")
	f.Add(cursor{ID: "01900000-0000-7000-8000-000000000001", Text: "a"}.String())
	f.Fuzz(func(t *testing.T, s string) {
		c, err := readCursor(s)
		if err != nil {
			if op.CodeOf(err) != op.Invalid {
				t.Errorf("%q: %v", s, err)
			}
			return
		}
		if again, err := readCursor(c.String()); err != nil || again.ID != c.ID || again.Text != c.Text || !again.Time.Equal(c.Time) {
			t.Errorf("%q reads as %+v and then as %+v, %v", s, c, again, err)
		}
	})
}

// Whatever stands in a link, choosing its target ends, and an exact source path always wins.
func FuzzChoose(f *testing.F) {
	for _, s := range []string{"Pump", "../Pump", "../../../..", "a/b/c", ".md", "/", "./", "Notes/Pump.md", "\x00"} {
		f.Add(s, "Garden/Deep")
	}
	f.Fuzz(func(t *testing.T, link, folder string) {
		among := []target{
			{id: "1", title: "Pump", path: "notes/pump", vault: "v", source: "Notes/Pump"},
			{id: "2", title: "Pump", path: "garden/pump", vault: "v", source: "Garden/Pump", aliases: []string{"Plan: second"}},
			{id: "3", title: "Own", path: "own"},
		}
		got, ok := choose(link, place{vault: "v", folder: folder}, false, among)
		if ok && got.id == "" {
			t.Errorf("[[%s]] leads to nothing", link)
		}
		linkName(link, true)
		if got, ok := choose("Notes/Pump", place{vault: "v", folder: folder}, false, among); !ok || got.id != "1" {
			t.Errorf("an exact path from %q leads to %+v", folder, got)
		}
	})
}
