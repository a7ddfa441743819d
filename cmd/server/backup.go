package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/gatehouse-hq/gatehouse/internal/domain/instance"
	"github.com/gatehouse-hq/gatehouse/internal/infra/pg"
	"github.com/gatehouse-hq/gatehouse/internal/infra/pg/embedded"
	"github.com/gatehouse-hq/gatehouse/internal/infra/seal"
)

// backup writes everything that is needed to stand the site up again into a new directory: the database as of one moment,
// and the seal key. The server may be running. The directory appears whole or not at all: it is built beside its place and
// renamed to it.
func backup(ctx context.Context, p *program, args []string) (err error) {
	if len(args) != 1 || args[0] == "" {
		return errUsage
	}
	dir, err := filepath.Abs(args[0])
	if err != nil {
		return err
	}
	if err := vacant(dir); err != nil {
		return err
	}
	if err := notThere(p.cfg); err != nil {
		return err
	}
	db, err := openDatabase(ctx, p.cfg, p.errOut)
	if err != nil {
		return err
	}
	defer func() { err = orFirst(err, db.close()) }()
	pool, err := pg.Open(ctx, db.url, pg.Options{MaxConns: 2, Application: "gatehouse backup"})
	if err != nil {
		return err
	}
	defer pool.Close()
	if err := os.MkdirAll(filepath.Dir(dir), 0o700); err != nil {
		return err
	}
	work, err := os.MkdirTemp(filepath.Dir(dir), "."+filepath.Base(dir)+".unfinished-") // made with 0700
	if err != nil {
		return fmt.Errorf("make room for the backup: %w", err)
	}
	defer func() { _ = os.RemoveAll(work) }() // finds nothing after the rename
	m, err := fill(ctx, p.cfg, db, pool, work)
	if err != nil {
		return err
	}
	if err := os.Rename(work, dir); err != nil {
		return fmt.Errorf("put the backup in its place: %w; give a directory that does not exist yet", err)
	}
	if err := syncPath(filepath.Dir(dir)); err != nil {
		return err
	}
	if err := instance.BackedUp(ctx, pool); err != nil && pg.State(err) != "42P01" { // a schema from before there was a place for it
		fmt.Fprintf(p.errOut, "The backup is whole, but the panel will not know of it: %v\n", err)
	}
	return m.tell(p, dir)
}

// vacant makes sure that nothing is overwritten.
func vacant(dir string) error {
	held, err := os.ReadDir(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return fmt.Errorf("%s cannot hold a backup: %w", dir, err)
	case len(held) > 0:
		return fmt.Errorf("%s is not empty, and a backup overwrites nothing; give a directory that does not exist yet, such as %s",
			dir, filepath.Join(dir, time.Now().UTC().Format("2006-01-02T150405Z")))
	}
	return nil
}

// fill makes the files of a backup, the manifest last.
func fill(ctx context.Context, c config, db *database, pool *pg.DB, work string) (m manifest, err error) {
	m = manifest{Format: backupFormat, Gatehouse: version}
	if m.Schema, err = pg.SchemaVersion(ctx, pool); err != nil {
		return m, err
	}
	if m.Schema == 0 {
		return m, errors.New("there is no Gatehouse in this database yet, so there is nothing to back up")
	}
	if m.PostgreSQL, err = serverMajor(ctx, pool); err != nil {
		return m, err
	}
	if m.MadeAt, err = pg.Now(ctx, pool); err != nil {
		return m, err
	}
	dump := filepath.Join(work, dumpFile)
	if m.PgDump, err = db.dump(ctx, m.PostgreSQL, dump); err != nil {
		return m, err
	}
	if err := errors.Join(os.Chmod(dump, 0o600), syncPath(dump)); err != nil {
		return m, err
	}
	if m.SHA256, m.Bytes, err = digest(ctx, dump); err != nil {
		return m, err
	}
	if m.SealKey, m.SealKeyHere, err = copySealKey(c, work); err != nil {
		return m, err
	}
	return m, errors.Join(m.write(work), syncPath(work))
}

// dump writes the database into a file and says which version of pg_dump it took.
func (d *database) dump(ctx context.Context, server int, to string) (major int, err error) {
	path, major, err := embedded.Client(ctx, "pg_dump", server)
	if err != nil {
		return 0, fmt.Errorf("PostgreSQL %d can only be backed up by a pg_dump that is at least as new: %w", server, err)
	}
	cmd, err := client(ctx, path, d.url, "--format=custom", "--no-password", "--file="+to)
	if err != nil {
		return 0, err
	}
	var said bytes.Buffer
	cmd.Stderr = &said
	if err := cmd.Run(); err != nil {
		if ctx.Err() != nil {
			return 0, errors.New("stopped; nothing was kept")
		}
		return 0, failed("pg_dump", err, &said)
	}
	return major, nil
}

// copySealKey copies the key file and names the key. One that is given by the environment is not copied: whoever gives it
// keeps it.
func copySealKey(c config, work string) (id string, copied bool, err error) {
	from := filepath.Join(c.dataDir, seal.KeyFile)
	if c.sealKey == "" {
		if _, err := os.Stat(from); errors.Is(err, fs.ErrNotExist) {
			return "", false, nil // made by the first start
		}
	}
	s, err := seal.Load(c.sealKey, c.dataDir)
	if err != nil || c.sealKey != "" {
		return keyID(s), false, err
	}
	raw, err := os.ReadFile(from)
	if err == nil {
		err = writeDurably(filepath.Join(work, seal.KeyFile), raw)
	}
	return s.KeyID(), true, err
}

func keyID(s *seal.Sealer) string {
	if s == nil {
		return ""
	}
	return s.KeyID()
}

// tell says what was made and how to treat it.
func (m manifest) tell(p *program, dir string) error {
	key := "It holds the seal key: whoever has it can read your webhook secrets."
	switch {
	case m.SealKey == "":
		key = "There is no seal key yet."
	case !m.SealKeyHere:
		key = "The seal key is not in it, because GATEHOUSE_SEAL_KEY gives it: keep that apart."
	}
	_, err := fmt.Fprintf(p.out, "Backed up to %s (%.1f MB, schema version %d). %s\n", dir, float64(m.Bytes)/1e6, m.Schema, key)
	return err
}
