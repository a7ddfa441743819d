package main

import (
	"archive/tar"
	"compress/gzip"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// along is what goes into an archive beside the binary, from the root of the checkout.
var along = []string{"README.md", "CHANGELOG.md", "deploy"}

// pack writes one target's archive and bill of materials and returns their names.
func pack(out, binary string, t target, version string, at time.Time) (names []string, err error) {
	base := "gatehouse_" + version + "_" + t.String()
	bill := base + ".cdx.json"
	raw, err := billOf(binary, version, at)
	if err != nil {
		return nil, err
	}
	if err := os.WriteFile(filepath.Join(out, bill), raw, 0o644); err != nil {
		return nil, err
	}
	archive := base + ".tar.gz"
	file, err := os.Create(filepath.Join(out, archive))
	if err != nil {
		return nil, err
	}
	defer file.Close()
	zipped, err := gzip.NewWriterLevel(file, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	w := tar.NewWriter(zipped)
	add := func(path, name string, mode int64) error {
		raw, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		// Owner, time and mode are the same wherever the archive is made.
		h := &tar.Header{Name: base + "/" + name, Mode: mode, Size: int64(len(raw)), ModTime: at, Typeflag: tar.TypeReg, Format: tar.FormatUSTAR}
		if err := w.WriteHeader(h); err != nil {
			return err
		}
		_, err = w.Write(raw)
		return err
	}
	if err := add(binary, "gatehouse", 0o755); err != nil {
		return nil, err
	}
	for _, root := range along {
		// WalkDir goes in the order of names.
		err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			return add(path, filepath.ToSlash(path), 0o644)
		})
		if err != nil {
			return nil, err
		}
	}
	for _, end := range []func() error{w.Close, zipped.Close, file.Close} {
		if err := end(); err != nil {
			return nil, fmt.Errorf("write %s: %w", archive, err)
		}
	}
	return []string{archive, bill}, nil
}
