package embedded

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
)

// characterTypes are the locales tried, in this order, for what is a letter. Sorting is always by code point ("C"), so
// that an update of the system's locales can never make an index wrong. Debian and Red Hat have the first, macOS the
// second; the last is everywhere, but knows letters of ASCII only.
func characterTypes() []string { return []string{"C.UTF-8", "en_US.UTF-8", "C"} }

// existing returns the major version of the cluster in the data directory, "" when there is none yet. Anything else in
// its place is an error: it may be somebody's data.
func (l layout) existing() (major string, err error) {
	switch _, err := os.Lstat(l.cluster()); {
	case errors.Is(err, fs.ErrNotExist):
		return "", nil
	case err != nil:
		return "", fmt.Errorf("look for the database: %w", err)
	}
	text, err := os.ReadFile(filepath.Join(l.data(), "PG_VERSION"))
	if err != nil {
		return "", fmt.Errorf("%s is not a PostgreSQL cluster (%w); nothing was changed: move it away or put its files back", l.data(), err)
	}
	return strings.TrimSpace(string(text)), nil
}

// initialise makes a new cluster in a directory of its own and renames it to its place, so that what lies in that place
// is always whole. durable says whether initdb must have reached the disk before the rename.
func (l layout) initialise(ctx context.Context, acct account, progs programs, durable bool) error {
	l.discardUnfinished()
	work, err := os.MkdirTemp(l.home, "init-")
	if err != nil {
		return unwritable(l.dataDir, err)
	}
	defer os.RemoveAll(work) // finds nothing after the rename
	if acct.switched() {
		if err := os.Chmod(work, 0o711); err != nil {
			return unwritable(l.dataDir, err)
		}
	}
	data, handed := filepath.Join(work, "data"), filepath.Join(work, "admin-password")
	if err := acct.prepare(work, data, handed); err != nil {
		return unwritable(l.dataDir, err)
	}
	if err := l.initdb(ctx, acct, progs, data, handed, durable); err != nil {
		return err
	}
	if err := os.Remove(handed); err != nil {
		return unwritable(l.dataDir, err)
	}
	if err := os.Rename(work, l.cluster()); err != nil {
		return unwritable(l.dataDir, err)
	}
	return syncDir(l.home)
}

// prepare fills work with what initdb needs: an empty directory the account owns, and the superuser's password in a file
// the account can read, because initdb takes it no other way.
func (a account) prepare(work, data, handed string) error {
	pw := newPasswords()
	if err := os.Mkdir(data, 0o700); err != nil {
		return err
	}
	if err := a.own(data); err != nil {
		return err
	}
	if err := pw.write(filepath.Join(work, "pgpass")); err != nil {
		return err
	}
	if err := os.WriteFile(handed, []byte(pw.admin+"\n"), 0o600); err != nil {
		return err
	}
	return a.own(handed)
}

func (l layout) initdb(ctx context.Context, acct account, progs programs, data, passwordFile string, durable bool) error {
	var said string
	for _, ctype := range characterTypes() {
		args := []string{"--pgdata=" + data, "--username=" + adminRole, "--pwfile=" + passwordFile,
			"--auth=scram-sha-256", "--encoding=UTF8", "--locale=C", "--lc-ctype=" + ctype, "--data-checksums"}
		if !durable {
			args = append(args, "--no-sync")
		}
		cmd := exec.CommandContext(ctx, progs.initdb(), args...)
		acct.run(cmd, data)
		// initdb starts a postgres of its own: both go when the start is called off.
		cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
		var out bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &out
		err := cmd.Run()
		if err == nil {
			return nil
		}
		if ctx.Err() != nil {
			return fmt.Errorf("create the database: %w", ctx.Err())
		}
		if said = out.String(); said == "" {
			said = err.Error()
		}
		if !strings.Contains(said, "invalid locale") {
			break
		}
	}
	return programFailed("PostgreSQL could not create its database", l.dataDir, said)
}

// syncDir makes a rename in dir survive a power cut.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return fmt.Errorf("open %s: %w", dir, err)
	}
	defer d.Close()
	if err := d.Sync(); err != nil {
		return fmt.Errorf("write %s to the disk: %w", dir, err)
	}
	return nil
}
