package vault

import (
	"fmt"
	"io"
	"io/fs"
	"os"

	"golang.org/x/text/unicode/norm"
)

// openFolder lists a folder. Symbolic links are not followed, and os.Root keeps reading inside the folder even if one is put in place of a
// file meanwhile.
func openFolder(name string, limits Limits) (*Vault, error) {
	root, err := os.OpenRoot(name)
	if err != nil {
		return nil, fmt.Errorf("open vault: %w", err)
	}
	l := folderLister{files: root.FS(), limits: limits}
	if err := fs.WalkDir(l.files, ".", l.visit); err != nil {
		_ = root.Close()
		return nil, fmt.Errorf("list vault: %w", err)
	}
	return &Vault{entries: settle(l.entries), limits: limits, closer: root}, nil
}

type folderLister struct {
	files   fs.FS
	limits  Limits
	entries []entry
	seen    int
}

func (l *folderLister) visit(p string, d fs.DirEntry, err error) error {
	if p == "." {
		return err
	}
	if l.seen++; l.seen > l.limits.Files {
		return ErrTooManyFiles
	}
	shown := norm.NFC.String(p)
	leave := func(kind Kind, path, reason string) error {
		if d.IsDir() {
			if path[len(path)-1] != '/' {
				path += "/"
			}
			l.entries = append(l.entries, entry{path: path, kind: kind, reason: reason})
			return fs.SkipDir
		}
		l.entries = append(l.entries, entry{path: path, kind: kind, reason: reason})
		return nil
	}
	if err != nil {
		return leave(KindRefused, printable(shown), readFault(err))
	}
	if reason := badName(p, l.limits.Depth); reason != "" {
		return leave(KindRefused, printable(shown), reason)
	}
	if _, reason, ok := skipped(shown); ok {
		return leave(KindSkipped, shown, reason)
	}
	switch {
	case d.IsDir():
		return nil
	case d.Type()&fs.ModeSymlink != 0:
		return leave(KindRefused, shown, "symbolic links are not followed")
	case !d.Type().IsRegular():
		return leave(KindRefused, shown, "it is not a regular file")
	}
	e := entry{path: shown, open: func() (io.ReadCloser, error) { return l.files.Open(p) }}
	if info, err := d.Info(); err == nil {
		e.stated = info.Size()
	}
	l.entries = append(l.entries, e)
	return nil
}
