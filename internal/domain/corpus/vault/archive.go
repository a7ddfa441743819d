package vault

import (
	"archive/zip"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"path"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// OpenZip opens a zip archive. A single folder around everything, which is how a vault is usually packed, is taken off the paths.
// The reader stays the caller's.
func OpenZip(r io.ReaderAt, size int64, limits Limits) (*Vault, error) {
	// The list of files alone can be made to fill memory, and is read before it can be counted.
	metered := &meteredReader{r: r, left: int64(limits.Files)*512 + 1<<20}
	archive, err := zip.NewReader(metered, size)
	switch {
	case metered.left < 0:
		return nil, ErrTooManyFiles
	case errors.Is(err, zip.ErrInsecurePath): // the reader is good; each path is judged below
	case errors.Is(err, zip.ErrFormat):
		return nil, ErrNotVault
	case err != nil:
		return nil, fmt.Errorf("open vault: %w", err)
	}
	metered.off = true
	if len(archive.File) > limits.Files {
		return nil, ErrTooManyFiles
	}
	var entries []entry
	left := map[string]bool{}
	for _, f := range archive.File {
		e := zipEntry(f, limits)
		if e.kind == KindSkipped && left[e.path] {
			continue // one record stands for the folder
		}
		if e.path != "" {
			left[e.path] = left[e.path] || e.kind == KindSkipped
			entries = append(entries, e)
		}
	}
	unwrap(entries)
	return &Vault{entries: settle(entries), limits: limits}, nil
}

// zipEntry judges one file of an archive; an empty path means there is nothing to record, as for folders.
func zipEntry(f *zip.File, limits Limits) entry {
	name := strings.ReplaceAll(zipName(f), `\`, "/") // some Windows programs pack with backslashes
	refuse := func(reason string) entry {
		return entry{path: printable(name), kind: KindRefused, reason: reason}
	}
	folder := strings.HasSuffix(name, "/")
	p := strings.TrimSuffix(name, "/")
	switch {
	case strings.HasPrefix(p, "/") || (len(p) > 2 && p[1:3] == ":/"):
		return refuse("its path is absolute")
	case !fs.ValidPath(p) && utf8.ValidString(p):
		if p = path.Clean(p); !fs.ValidPath(p) {
			return refuse("its path leads out of the archive")
		}
		if strings.Contains("/"+name+"/", "/../") {
			return refuse("its path leads out of its folder")
		}
	}
	if reason := badName(p, limits.Depth); reason != "" {
		return refuse(reason)
	}
	p = norm.NFC.String(p)
	if record, reason, ok := skipped(p); ok {
		if folder && record == p {
			record += "/"
		}
		return entry{path: record, kind: KindSkipped, reason: reason}
	}
	mode := f.Mode()
	switch {
	case folder:
		return entry{}
	case mode&fs.ModeSymlink != 0:
		return refuse("symbolic links are not followed")
	case !mode.IsRegular():
		return refuse("it is not a regular file")
	case f.Flags&1 != 0:
		return refuse("it is encrypted")
	case f.Method != zip.Store && f.Method != zip.Deflate:
		return refuse("it is compressed by a method that is not supported")
	}
	return entry{path: p, stated: int64(min(f.UncompressedSize64, 1<<62)), open: f.Open}
}

// unicodePathExtra is Info-ZIP's field 0x7075: the UTF-8 name beside one in an old encoding (APPNOTE 4.6.9).
const unicodePathExtra = 0x7075

// zipName is the name of a file in an archive, in UTF-8 where the archive tells.
func zipName(f *zip.File) string {
	if utf8.ValidString(f.Name) {
		return f.Name
	}
	for extra := f.Extra; len(extra) >= 4; {
		id, length := binary.LittleEndian.Uint16(extra), int(binary.LittleEndian.Uint16(extra[2:]))
		if len(extra) < 4+length {
			break
		}
		field := extra[4 : 4+length]
		if id == unicodePathExtra && length > 5 && field[0] == 1 &&
			binary.LittleEndian.Uint32(field[1:]) == crc32.ChecksumIEEE([]byte(f.Name)) && utf8.Valid(field[5:]) {
			return string(field[5:])
		}
		extra = extra[4+length:]
	}
	return f.Name
}

// unwrap takes a single folder around all content off the paths.
func unwrap(entries []entry) {
	wrapper := ""
	for _, e := range entries {
		if e.kind != "" {
			continue
		}
		first, _, nested := strings.Cut(e.path, "/")
		if !nested || (wrapper != "" && wrapper != first) {
			return
		}
		wrapper = first
	}
	if wrapper == "" {
		return
	}
	for i := range entries {
		if rest, ok := strings.CutPrefix(entries[i].path, wrapper+"/"); ok && rest != "" {
			entries[i].path = rest
		}
	}
}

// meteredReader fails once more than left bytes were read, until it is switched off.
type meteredReader struct {
	r    io.ReaderAt
	left int64
	off  bool
}

func (m *meteredReader) ReadAt(b []byte, at int64) (int, error) {
	if !m.off {
		if m.left -= int64(len(b)); m.left < 0 {
			return 0, ErrTooManyFiles
		}
	}
	return m.r.ReadAt(b, at)
}
