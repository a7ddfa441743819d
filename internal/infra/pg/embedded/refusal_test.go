package embedded

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// tree describes every file below dir: a refusal must leave it as it was.
func tree(t *testing.T, dir string) []string {
	t.Helper()
	var all []string
	must(t, filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := os.Lstat(path)
		if err != nil {
			return err
		}
		all = append(all, fmt.Sprint(path, info.Mode(), info.ModTime(), info.Size()))
		return nil
	}))
	return all
}

func refused(t *testing.T, cfg Config, want ...string) {
	t.Helper()
	c, err := Start(t.Context(), cfg)
	if err == nil {
		stopped(t, c)
		t.Fatal("it started")
	}
	for _, part := range want {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("it says %q, which lacks %q", err, part)
		}
	}
}

func TestOtherMajorVersionIsRefusedUntouched(t *testing.T) {
	t.Parallel()
	dir := dataDir(t)
	c := started(t, quick(dir))
	keep(t, c.URL(), "precious")
	stopped(t, c)
	file := filepath.Join(c.lay.data(), "PG_VERSION")
	real, err := os.ReadFile(file)
	must(t, err)
	must(t, os.WriteFile(file, []byte("9\n"), 0o600))
	before := tree(t, c.lay.cluster())

	refused(t, quick(dir), "made by PostgreSQL 9,", "has only PostgreSQL "+strings.TrimSpace(string(real)), "nothing was changed", "install PostgreSQL 9 ")
	if !slices.Equal(before, tree(t, c.lay.cluster())) {
		t.Error("the refused cluster was changed")
	}
	must(t, os.WriteFile(file, real, 0o600))
	c = started(t, quick(dir))
	defer stopped(t, c)
	if got := remembered(t, c.URL()); got != "precious" {
		t.Errorf("after the refusal: %q", got)
	}
}

func TestWhatIsNoClusterIsRefusedUntouched(t *testing.T) {
	t.Parallel()
	dir := dataDir(t)
	lay := newLayout(dir)
	must(t, os.MkdirAll(lay.data(), 0o700))
	must(t, os.WriteFile(filepath.Join(lay.data(), "somebody's"), []byte("work"), 0o600))
	before := tree(t, lay.cluster())
	refused(t, quick(dir), "is not a PostgreSQL cluster", "nothing was changed")
	if !slices.Equal(before, tree(t, lay.cluster())) {
		t.Error("it was changed")
	}
}

func TestLostPasswordsAreSaid(t *testing.T) {
	t.Parallel()
	dir := dataDir(t)
	c := started(t, quick(dir))
	stopped(t, c)
	must(t, os.Rename(c.lay.passwords(), c.lay.passwords()+".aside"))
	refused(t, quick(dir), c.lay.passwords(), "nothing was changed")
	if pm, ok := c.lay.readPostmaster(); ok {
		t.Errorf("the refused start left PostgreSQL running as process %d", pm.pid)
	}
	must(t, os.Rename(c.lay.passwords()+".aside", c.lay.passwords()))
	stopped(t, started(t, quick(dir)))
}

// Not parallel: it empties PATH.
func TestNoProgramsFound(t *testing.T) {
	dir := dataDir(t)
	t.Setenv("PATH", dir)
	_, err := start(t.Context(), quick(dir), []string{dir + "/*/bin"})
	if err == nil || !strings.Contains(err.Error(), "install PostgreSQL 14 or newer") || !strings.Contains(err.Error(), "DATABASE_URL") {
		t.Errorf("without PostgreSQL it says %v", err)
	}
}

// Root may write anywhere, but the user it hands PostgreSQL to may not pass a closed directory; a plain user may not
// write into one.
func TestClosedDataDirectory(t *testing.T) {
	t.Parallel()
	dir := dataDir(t)
	closed, want := os.FileMode(0o500), "may not be written by this user"
	if os.Geteuid() == 0 {
		closed, want = 0o700, "cannot be reached by the user postgres"
	}
	must(t, os.Chmod(dir, closed))
	inside := filepath.Join(dir, "gatehouse")
	refused(t, quick(inside), inside, want, "GATEHOUSE_DATA_DIR")
	if _, err := os.Stat(inside); !errors.Is(err, fs.ErrNotExist) {
		t.Error("the refused directory was made")
	}
}

// Not parallel: the umask is the process's. A root whose umask is 077 would close what it makes to the database's user.
func TestUmaskClosesNothingToTheDatabase(t *testing.T) {
	dir := filepath.Join(dataDir(t), "made", "on", "the", "way")
	before := syscall.Umask(0o077)
	defer syscall.Umask(before)
	stopped(t, started(t, quick(dir)))
}

func TestUnfinishedInitdbIsRedone(t *testing.T) {
	t.Parallel()
	dir := dataDir(t)
	lay := newLayout(dir)
	cmd, _, _ := owner(t, dir)
	eventually(t, "initdb is at work", func() bool {
		found, _ := filepath.Glob(lay.home + "/init-*/data/global")
		return len(found) > 0
	})
	must(t, cmd.Process.Kill())
	_ = cmd.Wait()
	if _, err := os.Stat(lay.cluster()); !errors.Is(err, fs.ErrNotExist) {
		t.Fatal("the process was killed too late to show anything")
	}
	c := started(t, quick(dir))
	keep(t, c.URL(), "whole")
	stopped(t, c)
	eventually(t, "what the killed one left is removed", func() bool {
		lay.discardUnfinished() // as each start does; the orphaned initdb may have written a little longer
		left, _ := filepath.Glob(lay.home + "/init-*")
		return len(left) == 0
	})
}

func TestCalledOffStartLeavesNothing(t *testing.T) {
	t.Parallel()
	dir := dataDir(t)
	lay := newLayout(dir)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		_, err := Start(ctx, quick(dir))
		done <- err
	}()
	eventually(t, "initdb is at work", func() bool {
		found, _ := filepath.Glob(lay.home + "/init-*/data/global")
		return len(found) > 0
	})
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("a start called off returned %v", err)
	}
	if left, _ := filepath.Glob(lay.home + "/[ic]*"); len(left) != 0 {
		t.Errorf("left behind: %v", left)
	}
	stopped(t, started(t, quick(dir)))
}

// A container started again, or a machine after a power cut: the number in postmaster.pid is another process's now.
func TestStalePidOfAnotherProcess(t *testing.T) {
	t.Parallel()
	dir := dataDir(t)
	c := started(t, quick(dir))
	keep(t, c.URL(), "kept")
	text, err := os.ReadFile(c.lay.pidFile())
	must(t, err)
	stopped(t, c)

	other := exec.Command("/bin/sleep", "60")
	c.acct.run(other, "/")
	must(t, other.Start())
	defer func() {
		must(t, other.Process.Kill())
		_ = other.Wait()
	}()
	_, rest, _ := strings.Cut(string(text), "\n")
	must(t, os.WriteFile(c.lay.pidFile(), fmt.Appendf(nil, "%d\n%s", other.Process.Pid, rest), 0o600))
	must(t, c.acct.own(c.lay.pidFile()))

	c = started(t, quick(dir))
	defer stopped(t, c)
	if got := remembered(t, c.URL()); got != "kept" || c.Adopted() {
		t.Errorf("after a stale pid: %q, adopted %v", got, c.Adopted())
	}
	if err := other.Process.Signal(syscall.Signal(0)); err != nil {
		t.Errorf("the other process was harmed: %v", err)
	}
}

func TestUnusableSocketPathMeansLoopback(t *testing.T) {
	t.Parallel()
	for name, dir := range map[string]string{"too long": strings.Repeat("a very long name ", 8), "comma": "a,b"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			servesOnLoopback(t, filepath.Join(dataDir(t), dir))
		})
	}
}

func servesOnLoopback(t *testing.T, dir string) {
	t.Helper()
	c := started(t, quick(dir))
	defer stopped(t, c)
	if !strings.Contains(c.URL(), "@127.0.0.1:") {
		t.Error("the address is not on loopback")
	}
	if got := query[string](t, c.URL(), "SHOW listen_addresses"); got != "127.0.0.1" {
		t.Errorf("it listens on %q", got)
	}
	second := started(t, quick(dir))
	defer stopped(t, second)
	if !second.Adopted() || second.URL() != c.URL() {
		t.Error("a second user did not find the loopback address")
	}
}

func TestPathWithSpacesAndQuotes(t *testing.T) {
	t.Parallel()
	c := started(t, quick(filepath.Join(dataDir(t), `it's "odd" %41`)))
	defer stopped(t, c)
	if strings.Contains(c.URL(), "127.0.0.1") {
		t.Error("the socket was not used")
	}
	query[int](t, c.URL(), "SELECT 1")
}
