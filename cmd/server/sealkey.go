package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/gatehouse-hq/gatehouse/internal/infra/seal"
)

// loadSealer is the key that seals secrets at rest. A data directory that
// cannot keep it is the second likeliest mistake of a first start.
func loadSealer(c config) (*seal.Sealer, error) {
	s, err := seal.Load(c.sealKey, c.dataDir)
	switch {
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.EROFS), errors.Is(err, syscall.ENOTDIR):
		err = fmt.Errorf("the key that seals secrets cannot be kept in the data directory %s: set GATEHOUSE_DATA_DIR to a place this user may write, "+
			"or give the key itself as GATEHOUSE_SEAL_KEY: %w", c.dataDir, err)
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		err = fmt.Errorf("the disk that holds the data directory %s is full: free some space and start again: %w", c.dataDir, err)
	}
	return s, err
}

// mayBeWritten asks, without writing, whether the first start may make dir.
func mayBeWritten(dir string) error {
	const write = 2 // W_OK of access(2)
	at := dir
	for at != "/" && errors.Is(syscall.Access(at, 0), fs.ErrNotExist) {
		at = filepath.Dir(at)
	}
	if err := syscall.Access(at, write); err != nil {
		return fmt.Errorf("the data directory %s may not be written by this user: set GATEHOUSE_DATA_DIR to another place, or change its owner", dir)
	}
	return nil
}

// sealKey looks at the key without making one: that is for the first start.
func sealKey(c config) (string, error) {
	if c.sealKey == "" {
		if _, err := os.Stat(filepath.Join(c.dataDir, seal.KeyFile)); errors.Is(err, fs.ErrNotExist) {
			return "none yet; the first start makes one", nil
		}
	}
	if _, err := loadSealer(c); err != nil {
		return "", err
	}
	return "can be read", nil
}
