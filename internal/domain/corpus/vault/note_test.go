package vault_test

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf16"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"github.com/gatehouse-hq/gatehouse/internal/domain/corpus/vault"
)

func read(t *testing.T, src string) *vault.Note {
	t.Helper()
	n, err := vault.ReadNote("folder/Name.md", []byte(src))
	if err != nil {
		t.Fatalf("%q: %v", src, err)
	}
	return n
}

// Field case F39: front matter means what it says.
func TestFrontMatterKeepsWhatWasTyped(t *testing.T) {
	t.Parallel()
	n := read(t, strings.Join([]string{
		"---", "title: 2027-04-12", "tags: [[garden, tools]]", `aliases: "Plan: second"`, `related: "[[Notes/Pump|the pump]]"`, "weight: 007",
		"publish: No", "created: 2027-13-45", "updated: 2027-04-12 08:30", "up: [[Notes/Pump|the pump]]", "rating: 1e3", "empty:", "nested:", "  a: 1", "---",
		"body", "", "---", "", "rest",
	}, "\n"))
	f := n.Front
	if n.Title != "2027-04-12" || !slices.Equal(f.Tags, []string{"garden", "tools"}) || !slices.Equal(f.Aliases, []string{"Plan: second"}) {
		t.Errorf("%q %q %q", n.Title, f.Tags, f.Aliases)
	}
	want := map[string]string{"related": "[[Notes/Pump|the pump]]", "weight": "007", "up": "[[Notes/Pump|the pump]]", "rating": "1e3", "empty": "", "nested": "a: 1"}
	for k, v := range want {
		if f.Extra[k] != v {
			t.Errorf("%s: got %q, want %q", k, f.Extra[k], v)
		}
	}
	if f.Publish != vault.PublishNo || f.Unreadable || f.Updated.Time.Hour() != 8 {
		t.Errorf("%+v", f)
	}
	if f.Created.Text != "2027-13-45" || !f.Created.Time.IsZero() || len(n.Warnings) != 1 || n.Warnings[0].Line != 8 {
		t.Errorf("created %+v, warnings %v", f.Created, n.Warnings)
	}
	if n.Body != "body\n\n---\n\nrest" || n.BodyLine != 16 {
		t.Errorf("body %q on line %d", n.Body, n.BodyLine)
	}
}

func TestPublish(t *testing.T) {
	t.Parallel()
	for typed, want := range map[string]vault.Publish{
		"publish: true": vault.PublishYes, "publish: yes": vault.PublishYes, "publish: On": vault.PublishYes, `publish: "true"`: vault.PublishYes, "Publish: TRUE": vault.PublishYes,
		"publish: false": vault.PublishNo, "publish: No": vault.PublishNo, "publish: off": vault.PublishNo, `publish: "false"`: vault.PublishNo, "publish: 'no'": vault.PublishNo,
		"publish:": vault.PublishNo, "publish: maybe": vault.PublishNo, "publish: [true]": vault.PublishYes, "publish: 0": vault.PublishNo, "publish: {a: true}": vault.PublishNo,
		"title: x": vault.PublishUnset, "publish: true\ndraft: true": vault.PublishNo, "draft: false": vault.PublishUnset, "draft: false\npublish: yes": vault.PublishYes, "private: yes": vault.PublishNo,
		"publish: true # for now": vault.PublishYes, "publish: false # true": vault.PublishNo,
	} {
		if got := read(t, "---\n"+typed+"\n---\nbody").Front.Publish; got != want {
			t.Errorf("%q: got %s, want %s", typed, got, want)
		}
	}
	if got := read(t, "body").Front; got.Publish != vault.PublishUnset || got.Present {
		t.Errorf("no front matter: %+v", got)
	}
}

// Field case F39: a block that cannot be read means private, is reported with its line, and keeps its body.
func TestUnreadableFrontMatterIsPrivate(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, src string
		line      int
	}{
		{"second colon", "---\npublish: true\ntitle: Plan: third\n---\nplum", 3},
		{"second colon on the first line", "---\ntitle: Plan: third\npublish: true\n---\nplum", 2},
		{"tab", "---\npublish: true\ntags:\n\t- a\n---\nplum", 4},
		{"key twice", "---\npublish: true\ntitle: a\npublish: false\n---\nplum", 4},
		{"key twice in another case", "---\nPublish: false\npublish: true\n---\nplum", 3},
		{"never closed", "---\npublish: true\ntitle: a\n\nplum", 1},
		{"closed by a rule far below", "---\npublish: true\n\nplum is text.\n\n---\n\nmore", 4},
		{"%YAML before", "%YAML 1.2\n---\npublish: true\n---\nplum", 1},
		{"%YAML inside", "---\n%YAML 1.2\npublish: true\n---\nplum", 2},
		{"a list", "---\n- publish\n- true\n---\nplum", 2},
		{"a sentence", "---\npublish true\n---\nplum", 2},
		{"open quote", "---\npublish: true\ntitle: \"a\n---\nplum", 3},
		{"unknown anchor", "---\npublish: *yes\n---\nplum", 2},
		{"NUL in an escape", "---\npublish: true\ntitle: \"a\\0b\"\n---\nplum", 3},
		{"space before, then faulty", " ---\npublish: true\ntitle: a: b\n---\nplum", 3},
		{"empty line before, never closed", "\n---\npublish: true\nplum", 2},
		{"too long", "---\npublish: true\na: " + strings.Repeat("x", 70_000) + "\n---\nplum", 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			n := read(t, c.src)
			if !n.Front.Unreadable || n.Front.Publish != vault.PublishNo {
				t.Errorf("%+v", n.Front)
			}
			if len(n.Warnings) != 1 || n.Warnings[0].Line != c.line {
				t.Errorf("warnings %v, want one on line %d", n.Warnings, c.line)
			}
			if !strings.Contains(n.Body, "plum") || n.Title != "Name" {
				t.Errorf("title %q, body %q", n.Title, n.Body)
			}
		})
	}
}

// Field case F40: what editors put before or into the block does not hide it.
func TestFrontMatterIsFoundInEveryGuise(t *testing.T) {
	t.Parallel()
	src := "---\npublish: false\ntitle: Kept back\n---\nsecret plum"
	utf16Of := func(order binary.AppendByteOrder, mark string) string {
		out := []byte(mark)
		for _, u := range utf16.Encode([]rune(src + " 🌱")) {
			out = order.AppendUint16(out, u)
		}
		return string(out)
	}
	for name, guise := range map[string]string{
		"plain": src, "BOM": "\ufeff" + src, "CRLF": strings.ReplaceAll(src, "\n", "\r\n"), "BOM and CRLF": "\ufeff" + strings.ReplaceAll(src, "\n", "\r\n"),
		"CR": strings.ReplaceAll(src, "\n", "\r"), "UTF-16 LE": utf16Of(binary.LittleEndian, "\xff\xfe"), "UTF-16 BE": utf16Of(binary.BigEndian, "\xfe\xff"),
		"empty line": "\n" + src, "lines of spaces": "  \n\t\n" + src, "space": " " + src, "trailing space": strings.Replace(src, "---\n", "---  \n", 1),
		"trailing tab on both": strings.ReplaceAll(src, "---\n", "---\t\n"), "ended by dots": strings.Replace(src, "\n---", "\n...", 1),
		"comment first": strings.Replace(src, "publish", "# mine\npublish", 1), "two BOMs": "\ufeff\ufeff" + src,
	} {
		n := read(t, guise)
		if n.Front.Publish != vault.PublishNo || n.Front.Unreadable || n.Title != "Kept back" || !strings.HasPrefix(n.Body, "secret plum") {
			t.Errorf("%s: %+v, title %q, body %q", name, n.Front, n.Title, n.Body)
		}
	}
}

func TestRulesAreBody(t *testing.T) {
	t.Parallel()
	for _, src := range []string{
		"text\n\n---\n\ntitle: x\n\n---\n", "---\n\nA rule at the top, then text.\n", "\n---\nText between rules.\n---\nrest", "---", "--- \n", "text\n---\npublish: false\n---", "----\npublish: true\n----\n",
	} {
		n := read(t, src)
		if n.Front.Present || n.Body != src {
			t.Errorf("%q: %+v, body %q", src, n.Front, n.Body)
		}
	}
}

func TestEmptyFrontMatter(t *testing.T) {
	t.Parallel()
	for _, src := range []string{"---\n---\nbody", "---\n\n---\nbody", "---\n# nothing\n---\nbody"} {
		n := read(t, src)
		if !n.Front.Present || n.Front.Unreadable || n.Front.Publish != vault.PublishUnset || n.Body != "body" {
			t.Errorf("%q: %+v, body %q", src, n.Front, n.Body)
		}
	}
}

func TestListsOfNames(t *testing.T) {
	t.Parallel()
	for typed, want := range map[string][]string{
		"tags: garden, tools": {"garden", "tools"}, "tags: garden tools": {"garden", "tools"}, "tags:": nil, "tags: []": nil, "tags: '#a/b'": {"a/b"},
		"tags:\n- a\n- A\n- [b, [c]]\n-": {"a", "b", "c"}, "tag: one\ntags: [two]": {"one", "two"}, "tags: 2027": {"2027"}, "tags:\n  - 花园": {"花园"},
	} {
		if got := read(t, "---\n"+typed+"\n---\n").Front.Tags; !slices.Equal(got, want) {
			t.Errorf("%q: got %q, want %q", typed, got, want)
		}
	}
	for typed, want := range map[string][]string{
		"aliases: one": {"one"}, "aliases: one, two": {"one", "two"}, `aliases: "one, two"`: {"one, two"}, "aliases:\n- a, b\n- c": {"a, b", "c"}, "alias: x": {"x"}, "aliases:": nil,
		"aliases: [2027-04-12]": {"2027-04-12"},
	} {
		if got := read(t, "---\n"+typed+"\n---\n").Front.Aliases; !slices.Equal(got, want) {
			t.Errorf("%q: got %q, want %q", typed, got, want)
		}
	}
}

// Field case F12: bytes that are no text are refused by name, with the line.
func TestWhatIsNotTextIsRefused(t *testing.T) {
	t.Parallel()
	for src, reason := range map[string]string{
		"one\ntwo\xff\xfe\x00": "line 2 is not UTF-8", "one\n\x00": "line 2 holds a NUL", "-\x00-\x00-\x00": "NUL", "\xff\xfe-": "cut in mid-character",
		"\xff\xfe\x00\xd8": "damaged UTF-16", "\xff\xfe\x00\xd8a\x00": "damaged UTF-16", "\xff\xfe\x00\x00a\x00\x00\x00": "UTF-32", "caf\xe9": "line 1 is not UTF-8",
	} {
		if _, err := vault.ReadNote("a.md", []byte(src)); err == nil || !strings.Contains(err.Error(), reason) {
			t.Errorf("%q: %v, want %q", src, err, reason)
		}
	}
}

func TestTextIsComposed(t *testing.T) {
	t.Parallel()
	n, err := vault.ReadNote("Cafe\u0301.md", []byte("---\ntitle: \"e\\u0301\"\n---\ncafe\u0301"))
	if err != nil {
		t.Fatal(err)
	}
	if n.Title != "é" || n.Body != "café" {
		t.Errorf("%q %q", n.Title, n.Body)
	}
}

func FuzzReadNote(f *testing.F) {
	f.Add([]byte("---\ntitle: a\ntags: [a, [b]]\npublish: no\ncreated: 2027-01-01\n---\nbody"))
	f.Add([]byte("\ufeff---\r\npublish: &a true\r\nx: *a\r\n---\r\n"))
	f.Add([]byte("\xff\xfe-\x00-\x00-\x00"))
	f.Add([]byte("---\n? [a]\n: b\n---\n"))
	f.Fuzz(func(t *testing.T, raw []byte) {
		n, err := vault.ReadNote("a.md", raw)
		if err != nil {
			return
		}
		for _, s := range append([]string{n.Title, n.Body, n.Front.Permalink, n.Front.Description}, append(n.Front.Tags, n.Front.Aliases...)...) {
			if !utf8.ValidString(s) || strings.ContainsAny(s, "\x00\r") && s == n.Body || !norm.NFC.IsNormalString(s) {
				t.Errorf("not clean: %q", s)
			}
		}
		if n.Front.Unreadable && (n.Front.Publish != vault.PublishNo || len(n.Warnings) == 0) {
			t.Errorf("unreadable but not private and reported: %+v", n)
		}
	})
}

// YAML from strangers can nest and refer to itself; reading a block has to stay linear in its size.
func TestFrontMatterCannotStall(t *testing.T) {
	t.Parallel()
	for _, unit := range []string{"[", "{", "- ", "? ", "a: [", "&a [*a, ", "{a: ", "!!x ", "'", "| \n ", "a: &a\n", "\"\\n", "<<: *a\n", ": ", "%", "#\n", "a:\n  "} {
		src := "---\nx: " + strings.Repeat(unit, 60_000/len(unit)) + "\n---\nbody"
		start := time.Now()
		read(t, src)
		// Quadratic would take minutes; a loaded machine under the race detector takes a few seconds.
		if took := time.Since(start); took > 30*time.Second {
			t.Errorf("%q took %s", unit, took)
		}
	}
	lol := "---\na: &a [x, x, x, x, x, x, x, x, x]\n"
	for c := 'b'; c < 'k'; c++ {
		lol += fmt.Sprintf("%c: &%c [%s]\n", c, c, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*%c, ", c-1), 9), ", "))
	}
	if n := read(t, lol+"tags: *j\n---\nbody"); len(n.Front.Tags) > 10 || len(n.Front.Extra["j"]) > 100 {
		t.Errorf("aliases were expanded: %d tags", len(n.Front.Tags))
	}
}
