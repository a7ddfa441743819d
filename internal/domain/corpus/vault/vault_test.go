package vault_test

import (
	"archive/zip"
	"bytes"
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gatehouse-hq/gatehouse/internal/domain/corpus/vault"
)

const png = "\x89PNG\r\n\x1a\nrest"

// packed is one file of an archive to be made.
type packed struct {
	name, content string
	change        func(*zip.FileHeader)
}

func archive(t testing.TB, files ...packed) []byte {
	t.Helper()
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	for _, f := range files {
		h := &zip.FileHeader{Name: f.name, Method: zip.Deflate}
		if f.change != nil {
			f.change(h)
		}
		fw, err := w.CreateHeader(h)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.HasSuffix(f.name, "/") {
			if _, err := fw.Write([]byte(f.content)); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func fromZip(t testing.TB, raw []byte, limits vault.Limits) []vault.Record {
	t.Helper()
	v, err := vault.OpenZip(bytes.NewReader(raw), int64(len(raw)), limits)
	if err != nil {
		t.Fatal(err)
	}
	return records(t, v)
}

func records(t testing.TB, v *vault.Vault) []vault.Record {
	t.Helper()
	var all []vault.Record
	for r, err := range v.Records(context.Background()) {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, r)
	}
	if len(all) != v.Len() {
		t.Errorf("%d records, Len says %d", len(all), v.Len())
	}
	return all
}

// outline writes records as "path: kind (reason)".
func outline(all []vault.Record) string {
	var b strings.Builder
	for _, r := range all {
		fmt.Fprintf(&b, "%s: %s", r.Path, r.Kind)
		if r.Reason != "" {
			fmt.Fprintf(&b, " (%s)", r.Reason)
		}
		b.WriteByte('\n')
	}
	return b.String()
}

func expect(t *testing.T, all []vault.Record, want ...string) {
	t.Helper()
	if got := outline(all); got != strings.Join(want, "\n")+"\n" {
		t.Errorf("got\n%swant\n%s", got, strings.Join(want, "\n"))
	}
}

func TestFolder(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, content := range map[string]string{
		"b.md": "body", "a/Cafe\u0301.md": "---\npublish: yes\n---\nx", "a/pic.PNG": png, "a/fake.png": "<script>", "run.exe": "MZ", "LICENSE": "x", "empty.pdf": "",
		"broken.md": "\xff", ".obsidian/app.json": "{}", ".trash/old.md": "x", ".git/HEAD": "x", "a/.hidden.md": "x", "big.txt": strings.Repeat("x", 2000), "x.MARKDOWN": "",
		"drawing.svg": "<svg xmlns='http://www.w3.org/2000/svg'/>", "board.canvas": "{}", "bad\xff.md": "x", "bad\xffdir/x.md": "x", "new\nline.md": "x",
		"B.md": "other case", "d/e/f/g/deep.md": "x",
	} {
		p := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(p, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	outside := filepath.Join(t.TempDir(), "secret.md")
	if err := os.WriteFile(outside, []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, link := range []struct{ to, name string }{{outside, "link.md"}, {filepath.Dir(outside), "linked"}} {
		if err := os.Symlink(link.to, filepath.Join(dir, link.name)); err != nil {
			t.Fatal(err)
		}
	}
	limits := vault.DefaultLimits()
	limits.Attachment, limits.Depth = 1000, 3
	v, err := vault.Open(dir, limits)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = v.Close() }()
	all := records(t, v)
	expect(t, all,
		".git/: skipped (version control)",
		".obsidian/: skipped (Obsidian's own settings)",
		".trash/: skipped (the vault's trash)",
		"B.md: note",
		"LICENSE: refused (files of this kind are not taken (no extension))",
		"a/.hidden.md: skipped (hidden)",
		"a/Café.md: note",
		"a/fake.png: refused (its name says a PNG image, but its content is text/html)",
		"a/pic.PNG: attachment",
		`b.md: refused (its name differs from "B.md" only in case)`,
		"bad\ufffd.md: refused (its name is not UTF-8; rename it, or pack the archive again with UTF-8 names)",
		"bad\ufffddir/: refused (its name is not UTF-8; rename it, or pack the archive again with UTF-8 names)",
		"big.txt: refused (larger than 1000 bytes)",
		"board.canvas: attachment",
		"broken.md: refused (line 1 is not UTF-8 text)",
		"d/e/f/g/deep.md: refused (it lies too deep in folders)",
		"drawing.svg: attachment",
		"empty.pdf: refused (the file is empty)",
		"link.md: refused (symbolic links are not followed)",
		"linked: refused (symbolic links are not followed)",
		"new\ufffdline.md: refused (its name holds a control character)",
		"run.exe: refused (files of this kind are not taken (.exe))",
		"x.MARKDOWN: note",
	)
	for _, r := range all {
		if r.Path == "a/Café.md" && (r.Note.Title != "Café" || r.Note.Front.Publish != vault.PublishYes || r.Note.Body != "x") {
			t.Errorf("%+v", r.Note)
		}
		if r.Path == "a/pic.PNG" && (r.Attachment.MIME != "image/png" || string(r.Attachment.Data) != png) {
			t.Errorf("%+v", r.Attachment)
		}
	}
}

func TestZipIsReadLikeItsFolder(t *testing.T) {
	t.Parallel()
	raw := archive(t,
		packed{name: "My vault/"}, packed{name: "My vault/b.md", content: "b"}, packed{name: "My vault/a/c.md", content: "c"}, packed{name: "My vault/.obsidian/app.json"},
		packed{name: "My vault/.obsidian/x/y.json"}, packed{name: "__MACOSX/My vault/._b.md"}, packed{name: "My vault/a/pic.png", content: png}, packed{name: "My vault/.obsidian/"},
	)
	expect(t, fromZip(t, raw, vault.DefaultLimits()),
		".obsidian/: skipped (Obsidian's own settings)", "__MACOSX/: skipped (macOS's own data)", "a/c.md: note", "a/pic.png: attachment", "b.md: note")

	name := filepath.Join(t.TempDir(), "v.zip")
	if err := os.WriteFile(name, raw, 0o600); err != nil {
		t.Fatal(err)
	}
	v, err := vault.Open(name, vault.DefaultLimits())
	if err != nil {
		t.Fatal(err)
	}
	if got := outline(records(t, v)); got != outline(fromZip(t, raw, vault.DefaultLimits())) {
		t.Errorf("the second reading differs:\n%s", got)
	}
	if err := v.Close(); err != nil {
		t.Error(err)
	}
}

func TestHostileArchive(t *testing.T) {
	t.Parallel()
	unicodeName := func(h *zip.FileHeader) {
		field := append([]byte{1}, uint32Bytes(crc32.ChecksumIEEE([]byte(h.Name)))...)
		field = append(field, "名.md"...)
		h.Extra = append([]byte{0x75, 0x70, byte(len(field)), 0}, field...)
		h.NonUTF8 = true
	}
	raw := archive(t,
		packed{name: "good.md", content: "x"}, packed{name: "../up.md"}, packed{name: "a/../../up.md"}, packed{name: "a/../sideways.md"}, packed{name: "/etc/passwd.md"},
		packed{name: "C:/x.md"}, packed{name: `..\back.md`}, packed{name: `win\dows.md`, content: "w"}, packed{name: "./dot//x.md", content: "d"},
		packed{name: "link.md", content: "/etc/passwd", change: func(h *zip.FileHeader) { h.SetMode(os.ModeSymlink | 0o777) }},
		packed{name: "pipe.md", change: func(h *zip.FileHeader) { h.SetMode(os.ModeNamedPipe | 0o600) }},
		packed{name: "locked.md", content: "x", change: func(h *zip.FileHeader) { h.Flags |= 1 }},
		packed{name: "twice.md", content: "publish"}, packed{name: "twice.md", content: "other"},
		packed{name: "e\u0301.md", content: "x"}, packed{name: "\u00e9.md", content: "y"}, packed{name: "Case.md"}, packed{name: "case.md"},
		packed{name: "\xc3\xfb.md", change: func(h *zip.FileHeader) { h.NonUTF8 = true }}, packed{name: "\xc3\xfc.md", content: "n", change: unicodeName},
		packed{name: "nul\x00.md"}, packed{name: strings.Repeat("d/", 40) + "deep.md"},
	)
	expect(t, fromZip(t, raw, vault.DefaultLimits()),
		"../back.md: refused (its path leads out of the archive)",
		"../up.md: refused (its path leads out of the archive)",
		"/etc/passwd.md: refused (its path is absolute)",
		"C:/x.md: refused (its path is absolute)",
		"Case.md: note",
		"a/../../up.md: refused (its path leads out of the archive)",
		"a/../sideways.md: refused (its path leads out of its folder)",
		`case.md: refused (its name differs from "Case.md" only in case)`,
		strings.Repeat("d/", 40)+"deep.md: refused (it lies too deep in folders)",
		"dot/x.md: note",
		"good.md: note",
		"link.md: refused (symbolic links are not followed)",
		"locked.md: refused (it is encrypted)",
		"nul\ufffd.md: refused (its name holds a control character)",
		"pipe.md: refused (it is not a regular file)",
		"twice.md: refused (2 files have this name)",
		"twice.md: refused (2 files have this name)",
		"win/dows.md: note",
		"é.md: refused (2 files have this name)",
		"é.md: refused (2 files have this name)",
		"名.md: note",
		"\ufffd.md: refused (its name is not UTF-8; rename it, or pack the archive again with UTF-8 names)",
	)
}

func uint32Bytes(n uint32) []byte { return []byte{byte(n), byte(n >> 8), byte(n >> 16), byte(n >> 24)} }

// Sizes in an archive are what its author wrote there. Only what is really read counts.
func TestBombsAreBoundedByBytesRead(t *testing.T) {
	t.Parallel()
	limits := vault.Limits{Note: 1 << 10, Attachment: 4 << 10, Total: 10 << 10, Files: 100, Depth: 8}
	text := strings.Repeat("a", 1<<10)
	raw := archive(t,
		packed{name: "a.md", content: strings.Repeat("a", 1<<20)}, packed{name: "b.md", content: text}, packed{name: "c.txt", content: strings.Repeat("b", 4<<10)},
		packed{name: "d.txt", content: strings.Repeat("b", 4<<10)}, packed{name: "e.txt", content: strings.Repeat("b", 4<<10)}, packed{name: "f.md", content: "x"},
	)
	lying := bytes.Clone(raw)
	for i := 0; i+46 < len(lying); i++ {
		if bytes.HasPrefix(lying[i:], []byte("PK\x01\x02")) {
			copy(lying[i+24:], []byte{1, 0, 0, 0}) // every file is one byte long, they say
		}
	}
	honest := outline(fromZip(t, raw, limits))
	for _, want := range []string{"a.md: refused (larger than 1 KiB)", "b.md: note", "d.txt: attachment", "e.txt: refused (the vault is larger than 10 KiB", "f.md: refused (the vault"} {
		if !strings.Contains(honest, want) {
			t.Errorf("want %q in\n%s", want, honest)
		}
	}
	for _, r := range fromZip(t, lying, limits) {
		if r.Kind != vault.KindRefused && !(r.Path == "f.md") {
			t.Errorf("%s: %s although its size is a lie", r.Path, r.Kind)
		}
	}
}

func TestTooManyFiles(t *testing.T) {
	t.Parallel()
	limits := vault.DefaultLimits()
	limits.Files = 3
	var files []packed
	for i := range 4 {
		files = append(files, packed{name: fmt.Sprintf("%d.md", i)})
	}
	raw := archive(t, files...)
	if _, err := vault.OpenZip(bytes.NewReader(raw), int64(len(raw)), limits); !errors.Is(err, vault.ErrTooManyFiles) {
		t.Error(err)
	}
	for i := range 20_000 {
		files = append(files, packed{name: fmt.Sprintf("long-long-name-%040d.md", i)})
	}
	raw = archive(t, files...)
	if _, err := vault.OpenZip(bytes.NewReader(raw), int64(len(raw)), limits); !errors.Is(err, vault.ErrTooManyFiles) {
		t.Error(err)
	}
	dir := t.TempDir()
	for i := range 4 {
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprint(i)), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := vault.Open(dir, limits); !errors.Is(err, vault.ErrTooManyFiles) {
		t.Error(err)
	}
}

func TestWhatIsNoVault(t *testing.T) {
	t.Parallel()
	name := filepath.Join(t.TempDir(), "x.zip")
	if err := os.WriteFile(name, []byte("no archive"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := vault.Open(name, vault.DefaultLimits()); !errors.Is(err, vault.ErrNotVault) {
		t.Error(err)
	}
	if _, err := vault.Open(name+".not", vault.DefaultLimits()); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
}

func TestCancelled(t *testing.T) {
	t.Parallel()
	raw := archive(t, packed{name: "a.md"})
	v, err := vault.OpenZip(bytes.NewReader(raw), int64(len(raw)), vault.DefaultLimits())
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, err := range v.Records(ctx) {
		if !errors.Is(err, context.Canceled) {
			t.Errorf("a record after cancelling: %v", err)
		}
	}
}

func FuzzOpenZip(f *testing.F) {
	f.Add(archive(f, packed{name: "v/a.md", content: "x"}, packed{name: "v/.obsidian/a"}))
	f.Add(archive(f, packed{name: "../a.md", content: "x"}, packed{name: "a.png", content: png}))
	limits := vault.Limits{Note: 1 << 10, Attachment: 1 << 10, Total: 8 << 10, Files: 50, Depth: 4}
	f.Fuzz(func(t *testing.T, raw []byte) {
		v, err := vault.OpenZip(bytes.NewReader(raw), int64(len(raw)), limits)
		if err != nil {
			return
		}
		for _, r := range records(t, v) {
			taken := r.Kind == vault.KindNote || r.Kind == vault.KindAttachment
			if taken != (r.Reason == "") || r.Path == "" {
				t.Errorf("%+v", r)
			}
			if taken && (strings.HasPrefix(r.Path, "/") || strings.Contains("/"+r.Path+"/", "/../")) {
				t.Errorf("a path leads out: %q", r.Path)
			}
		}
	})
}
