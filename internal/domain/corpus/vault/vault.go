package vault

import (
	"archive/zip"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"path"
	"slices"
	"strings"

	"golang.org/x/text/unicode/norm"
)

// What Open and OpenZip fail with, besides errors of the file system.
var (
	ErrNotVault     = errors.New("vault: neither a folder nor a zip archive")
	ErrTooManyFiles = errors.New("vault: too many files")
)

// Vault is an opened vault. Its contents are listed; files are read while Records goes over them.
type Vault struct {
	entries []entry
	limits  Limits
	closer  io.Closer
}

// entry is one file before it is read, or a record already decided.
type entry struct {
	path   string
	kind   Kind // "" to be read
	reason string
	stated int64 // size as the file system or archive has it; never trusted to be no more
	open   func() (io.ReadCloser, error)
}

// Open opens a folder or a zip archive. The caller closes it.
func Open(name string, limits Limits) (*Vault, error) {
	info, err := os.Stat(name)
	if err != nil {
		return nil, fmt.Errorf("open vault: %w", err)
	}
	if info.IsDir() {
		return openFolder(name, limits)
	}
	if !info.Mode().IsRegular() {
		return nil, ErrNotVault
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, fmt.Errorf("open vault: %w", err)
	}
	v, err := OpenZip(f, info.Size(), limits)
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	v.closer = f
	return v, nil
}

// Close releases what Open opened.
func (v *Vault) Close() error {
	if v.closer == nil {
		return nil
	}
	return v.closer.Close()
}

// Len is the number of records.
func (v *Vault) Len() int { return len(v.entries) }

// Records reads the vault, record by record, in the order of their paths. Faults of single files are records; the error is that of ctx, and
// the last.
func (v *Vault) Records(ctx context.Context) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		left := v.limits.Total
		for _, e := range v.entries {
			if err := ctx.Err(); err != nil {
				yield(Record{}, fmt.Errorf("read vault: %w", err))
				return
			}
			record := Record{Path: e.path, Kind: e.kind, Reason: e.reason}
			if e.kind == "" {
				record = v.read(e, &left)
			}
			if !yield(record, nil) {
				return
			}
		}
	}
}

func isNote(name string) bool {
	ext := strings.ToLower(path.Ext(name))
	return ext == ".md" || ext == ".markdown"
}

func (v *Vault) read(e entry, left *int64) Record {
	refuse := func(reason string) Record { return Record{Path: e.path, Kind: KindRefused, Reason: reason} }
	limit := v.limits.Attachment
	if isNote(e.path) {
		limit = v.limits.Note
	} else if ext := strings.ToLower(path.Ext(e.path)); !isKnown(ext) {
		return refuse(fmt.Sprintf("files of this kind are not taken (%s)", orNone(ext)))
	}
	if e.stated > limit {
		return refuse("larger than " + size(limit))
	}
	if *left <= 0 {
		return refuse("the vault is larger than " + size(v.limits.Total) + " in all; the rest is not read")
	}
	data, err := readUpTo(e.open, min(limit, *left)+1)
	*left -= int64(len(data))
	switch {
	case err != nil:
		return refuse(readFault(err))
	case int64(len(data)) > limit:
		return refuse("larger than " + size(limit))
	case *left < 0:
		return refuse("the vault is larger than " + size(v.limits.Total) + " in all; the rest is not read")
	}
	if isNote(e.path) {
		n, err := ReadNote(e.path, data)
		if err != nil {
			return refuse(err.Error())
		}
		return Record{Path: e.path, Kind: KindNote, Note: n}
	}
	mime, err := sniff(e.path, data)
	if err != nil {
		return refuse(err.Error())
	}
	return Record{Path: e.path, Kind: KindAttachment,
		Attachment: &Attachment{Name: path.Base(e.path), MIME: mime, Data: data, Sum: sha256.Sum256(data)}}
}

func isKnown(ext string) bool {
	_, ok := formatOf(ext)
	return ok
}

func readUpTo(open func() (io.ReadCloser, error), limit int64) ([]byte, error) {
	r, err := open()
	if err != nil {
		return nil, err
	}
	data, err := io.ReadAll(io.LimitReader(r, limit))
	return data, errors.Join(err, r.Close())
}

// readFault says why a file could not be read, without the paths of this machine.
func readFault(err error) string {
	switch {
	case errors.Is(err, fs.ErrPermission):
		return "there is no permission to read it"
	case errors.Is(err, fs.ErrNotExist):
		return "it disappeared while the vault was read"
	case errors.Is(err, zip.ErrChecksum):
		return "it is damaged (its checksum differs)"
	case errors.Is(err, zip.ErrAlgorithm):
		return "it is compressed by a method that is not supported"
	}
	return "it cannot be read; it may be damaged"
}

func size(n int64) string {
	if n >= 1<<20 {
		return fmt.Sprintf("%d MiB", n>>20)
	}
	if n >= 1<<10 {
		return fmt.Sprintf("%d KiB", n>>10)
	}
	return fmt.Sprintf("%d bytes", n)
}

// settle puts entries in order and refuses those whose names collide. A name that stands there twice tells nothing about which of the two is
// meant, so neither is taken; of names that differ only in case, which one site address cannot tell apart, the first is.
func settle(entries []entry) []entry {
	slices.SortStableFunc(entries, func(a, b entry) int { return strings.Compare(a.path, b.path) })
	count := map[string]int{}
	for _, e := range entries {
		if e.kind == "" {
			count[e.path]++
		}
	}
	taken := map[string]string{}
	for i := range entries {
		e := &entries[i]
		if e.kind != "" {
			continue
		}
		if n := count[e.path]; n > 1 {
			e.kind, e.reason = KindRefused, fmt.Sprintf("%d files have this name", n)
			continue
		}
		fold := norm.NFC.String(strings.ToLower(e.path))
		if first, ok := taken[fold]; ok {
			e.kind, e.reason = KindRefused, fmt.Sprintf("its name differs from %q only in case", first)
			continue
		}
		taken[fold] = e.path
	}
	return entries
}
