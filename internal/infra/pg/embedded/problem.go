package embedded

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"syscall"
)

// unwritable turns a refusal of the file system into a sentence that says which and what to do.
func unwritable(dataDir string, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, syscall.EROFS):
		return fmt.Errorf("the data directory %s is on a read-only file system: set GATEHOUSE_DATA_DIR to another place: %w", dataDir, err)
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return fmt.Errorf("the disk that holds the data directory %s is full: free some space and start again: %w", dataDir, err)
	case errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("the data directory %s may not be written by this user: "+
			"set GATEHOUSE_DATA_DIR to another place, or change its owner: %w", dataDir, err)
	case errors.Is(err, syscall.ENOTDIR):
		return fmt.Errorf("the data directory %s cannot be made, because something on the way to it is a file: "+
			"set GATEHOUSE_DATA_DIR to another place: %w", dataDir, err)
	}
	return fmt.Errorf("prepare the data directory %s: %w", dataDir, err)
}

// errSurvivors: the PostgreSQL before was killed, and its backends have not noticed yet. They end by themselves.
var errSurvivors = errors.New("processes of the PostgreSQL that was killed before are still there")

// programFailed turns what a PostgreSQL program said before it gave up into one sentence.
func programFailed(what, dataDir, said string) error {
	switch {
	case strings.Contains(said, "No space left on device"):
		return unwritable(dataDir, syscall.ENOSPC)
	case strings.Contains(said, "Read-only file system"):
		return unwritable(dataDir, syscall.EROFS)
	case strings.Contains(said, "pre-existing shared memory block"):
		return fmt.Errorf("%s: %w", what, errSurvivors)
	}
	if line := telling(said); line != "" {
		return fmt.Errorf("%s: %s", what, line)
	}
	return fmt.Errorf("%s, without saying why", what)
}

// telling picks the line of a program's output that says most: its last fatal one, else its last error, else its last.
func telling(said string) string {
	var last string
	for _, mark := range []string{"PANIC:", "FATAL:", "error:", ""} {
		for line := range strings.Lines(said) {
			line = strings.TrimSpace(line)
			if at := strings.Index(line, mark); line != "" && at >= 0 {
				last = line[at:] // without the time and process before it
			}
		}
		if last != "" {
			return last
		}
	}
	return ""
}

// readFrom returns what was written to a file after offset: at most the last 64 KiB, which hold the reason of a failure.
func readFrom(path string, offset int64) string {
	const most = 64 << 10
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	size, err := f.Seek(0, 2)
	if err != nil || size <= offset {
		return ""
	}
	offset = max(offset, size-most)
	buf := make([]byte, size-offset)
	n, _ := f.ReadAt(buf, offset)
	return string(buf[:n])
}
