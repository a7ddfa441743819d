package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// What a backup consists of. The manifest is written last: without it, it is none.
const (
	manifestFile = "manifest.json"
	dumpFile     = "database.dump"
	backupFormat = 1
)

// manifest says what a backup is, so that a restore can refuse before it touches anything.
type manifest struct {
	Format     int       `json:"format"`
	MadeAt     time.Time `json:"made_at"`
	Gatehouse  string    `json:"gatehouse"`
	PostgreSQL int       `json:"postgresql"` // major version of the server it was made from
	PgDump     int       `json:"pg_dump"`    // major version of the program that made it
	Schema     int       `json:"schema"`
	Bytes      int64     `json:"bytes"`
	SHA256     string    `json:"sha256"` // of the dump
	// SealKey names the key that secrets are sealed under; empty while there is none. SealKeyHere: it lies beside.
	SealKey     string `json:"seal_key,omitempty"`
	SealKeyHere bool   `json:"seal_key_here"`
}

func (m manifest) write(dir string) error {
	raw, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return err
	}
	return writeDurably(filepath.Join(dir, manifestFile), append(raw, '\n'))
}

// readManifest answers with a sentence for everything that is not a whole backup.
func readManifest(ctx context.Context, dir string) (m manifest, err error) {
	raw, err := os.ReadFile(filepath.Join(dir, manifestFile))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return m, fmt.Errorf("%s is not a finished backup: it has no %s; give the directory that gatehouse backup has made", dir, manifestFile)
	case err != nil:
		return m, err
	}
	if err := json.Unmarshal(raw, &m); err != nil || m.Format < 1 {
		return m, fmt.Errorf("%s in %s cannot be read; take another backup", manifestFile, dir)
	}
	if m.Format > backupFormat {
		return m, fmt.Errorf("the backup was made by a newer Gatehouse (%s); restore it with that one", m.Gatehouse)
	}
	sum, size, err := digest(ctx, filepath.Join(dir, dumpFile))
	if err != nil {
		return m, fmt.Errorf("read the backup: %w", err)
	}
	if sum != m.SHA256 || size != m.Bytes {
		return m, fmt.Errorf("%s in %s is damaged: it has %d bytes and another checksum than when it was made (%d bytes); nothing was changed, take another backup", dumpFile, dir, size, m.Bytes)
	}
	return m, nil
}

func digest(ctx context.Context, path string) (sum string, size int64, err error) {
	f, err := os.Open(path)
	if err != nil {
		return "", 0, err
	}
	defer f.Close()
	h := sha256.New()
	for ctx.Err() == nil {
		n, err := io.CopyN(h, f, 16<<20)
		size += n
		if errors.Is(err, io.EOF) {
			return hex.EncodeToString(h.Sum(nil)), size, nil
		}
		if err != nil {
			return "", 0, err
		}
	}
	return "", 0, ctx.Err()
}

// writeDurably writes a file for the owner's eyes only and brings it to the disk. What is there already stays.
func writeDurably(path string, content []byte) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(content)
	return orFirst(orFirst(err, f.Sync()), f.Close())
}

// syncPath brings a file's or directory's content to the disk.
func syncPath(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	return orFirst(f.Sync(), f.Close())
}
