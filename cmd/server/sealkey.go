package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/gatehouse-hq/gatehouse/internal/domain/webhooks"
	"github.com/gatehouse-hq/gatehouse/internal/infra/pg"
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

// keyState is doctor's line about the key: whether it can be read and opens what is sealed in the database, where there is
// one. It makes no key: that is for the first start.
func keyState(ctx context.Context, c config, pool *pg.DB) (string, error) {
	var sealer *seal.Sealer
	_, err := os.Stat(filepath.Join(c.dataDir, seal.KeyFile))
	if c.sealKey != "" || !errors.Is(err, fs.ErrNotExist) {
		if sealer, err = loadSealer(c); err != nil {
			return "", err
		}
	}
	var use webhooks.KeyUse
	if pool != nil {
		use, err = webhooks.New(webhooks.Deps{DB: pool, Sealer: sealer}).TryKey(ctx)
		if state := pg.State(err); err != nil && state != "42P01" && state != "42703" { // an older schema, of which its own line tells
			return "", err
		}
	}
	for under, n := range use.Closed {
		const where = "GATEHOUSE_SEAL_KEY, or " + seal.KeyFile + " of the backup"
		if sealer == nil {
			return "", fmt.Errorf("the secrets of %s are sealed under key %s, and there is no key here: put it back (%s) before the next start, which would make a new one", endpoints(n), under, where)
		}
		return "", fmt.Errorf("the secrets of %s are sealed under key %s, and the key in use is %s: nothing can be sent to them; put the old key back (%s), or delete them and create them anew",
			endpoints(n), under, sealer.KeyID(), where)
	}
	switch {
	case len(use.Damaged) > 0:
		return "", fmt.Errorf("the secrets of %s are damaged (%s): delete them and create them anew", endpoints(len(use.Damaged)), strings.Join(use.Damaged, ", "))
	case sealer == nil:
		return "none yet; the first start makes one", nil
	case use.Opened == 0:
		return "can be read; nothing is sealed under it yet", nil
	}
	return "opens the secrets of " + endpoints(use.Opened), nil
}

func endpoints(n int) string {
	if n == 1 {
		return "1 webhook endpoint"
	}
	return fmt.Sprintf("%d webhook endpoints", n)
}
