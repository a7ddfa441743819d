package embedded

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// maxSocketPath is the longest unix socket path both Linux (107 bytes) and macOS (103) accept.
const maxSocketPath = 103

// socketPort is only part of the socket's file name: nothing listens on this TCP port.
const socketPort = 5432

// layout is where the files of one data directory lie; doc.go says what each is.
type layout struct {
	dataDir string
	home    string
}

func newLayout(dataDir string) layout {
	return layout{dataDir: dataDir, home: filepath.Join(dataDir, "postgres")}
}

func (l layout) startLock() string { return filepath.Join(l.home, "start.lock") }
func (l layout) usersLock() string { return filepath.Join(l.home, "users.lock") }
func (l layout) log() string       { return filepath.Join(l.home, "postgres.log") }
func (l layout) socketDir() string { return filepath.Join(l.home, "run") }
func (l layout) cluster() string   { return filepath.Join(l.home, "cluster") }
func (l layout) data() string      { return filepath.Join(l.home, "cluster", "data") }
func (l layout) passwords() string { return filepath.Join(l.home, "cluster", "pgpass") }
func (l layout) pidFile() string   { return filepath.Join(l.data(), "postmaster.pid") }

// socketUsable reports whether the kernel accepts the path of the socket, and an address can name it: a comma separates
// hosts there.
func (l layout) socketUsable() bool {
	path := filepath.Join(l.socketDir(), fmt.Sprintf(".s.PGSQL.%d", socketPort))
	return len(path) <= maxSocketPath && !strings.Contains(path, ",")
}

// DefaultDataDir is where Gatehouse keeps its data when nobody says otherwise: /var/lib/gatehouse for root, whose
// home directory would be closed to the user postgres, and $XDG_DATA_HOME/gatehouse (~/.local/share/gatehouse) for
// everyone else. It fails when the user has no home directory.
func DefaultDataDir() (string, error) {
	if os.Geteuid() == 0 {
		return "/var/lib/gatehouse", nil
	}
	// The XDG base directory specification: a relative path in the variable is to be ignored.
	if dir := os.Getenv("XDG_DATA_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "gatehouse"), nil
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "", errors.New("there is no home directory to keep the data in")
	}
	return filepath.Join(home, ".local", "share", "gatehouse"), nil
}

// Exists reports whether a private cluster was ever made in the data directory.
func Exists(dataDir string) bool {
	_, err := os.Stat(newLayout(dataDir).cluster())
	return err == nil
}

// create makes the directories around the cluster. As root they let the database's user pass through, but not list.
func (l layout) create(acct account) error {
	mode := os.FileMode(0o700)
	if acct.switched() {
		mode = 0o711
		if err := acct.canReach(l.dataDir); err != nil {
			return err
		}
	}
	for _, dir := range []string{l.dataDir, l.home} {
		if err := makeDir(dir, mode); err != nil {
			return unwritable(l.dataDir, err)
		}
	}
	if err := os.MkdirAll(l.socketDir(), 0o700); err != nil {
		return unwritable(l.dataDir, err)
	}
	return unwritable(l.dataDir, acct.own(l.socketDir()))
}

// makeDir makes dir and what is missing above it, with the mode whatever the umask: a root whose umask is 077 would close
// it to the database's user.
func makeDir(dir string, mode os.FileMode) error {
	switch _, err := os.Stat(dir); {
	case err == nil:
		return nil
	case !errors.Is(err, fs.ErrNotExist):
		return err
	}
	if err := makeDir(filepath.Dir(dir), mode); err != nil {
		return err
	}
	if err := os.Mkdir(dir, mode); err != nil && !errors.Is(err, fs.ErrExist) { // another process starts as well
		return err
	}
	return os.Chmod(dir, mode)
}

// discardUnfinished removes what initdb runs left that never came to their end. Such a directory never held data: only
// a finished one is renamed to its place. The caller holds start.lock, so none of them is in the making; where the
// initdb of a killed process still writes, what it leaves is removed by the next start.
func (l layout) discardUnfinished() {
	left, _ := filepath.Glob(filepath.Join(l.home, "init-*"))
	for _, dir := range left {
		_ = os.RemoveAll(dir)
	}
}
