package embedded

import (
	"fmt"
	"io"
	"os"
)

// maxLog is the size in bytes at which the log is set aside; the one set aside before is dropped.
const maxLog = 4 << 20

// openLog opens PostgreSQL's log and says where the new part begins.
func (l layout) openLog() (*os.File, int64, error) {
	if info, err := os.Stat(l.log()); err == nil && info.Size() > maxLog {
		if err := os.Rename(l.log(), l.log()+".1"); err != nil {
			return nil, 0, unwritable(l.dataDir, err)
		}
	}
	// Every process of PostgreSQL writes to this one description, each time at the end of the file: boundLog relies on it.
	f, err := os.OpenFile(l.log(), os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return nil, 0, unwritable(l.dataDir, err)
	}
	info, err := f.Stat()
	if err != nil {
		_ = f.Close() // nothing was written; the first error is the one to tell
		return nil, 0, fmt.Errorf("look at PostgreSQL's log: %w", err)
	}
	return f, info.Size(), nil
}

// boundLog sets a log aside that has grown too large while PostgreSQL writes to it: what is there is copied, then cut
// off. A line written between the two is lost. On a full disk there is no copy, and the room is freed all the same.
func (l layout) boundLog() error {
	info, err := os.Stat(l.log())
	if err != nil || info.Size() <= maxLog {
		return err
	}
	if err := copyEnd(l.log(), l.log()+".1", 2*maxLog); err != nil {
		_ = os.Remove(l.log() + ".1") // half a copy helps nobody
	}
	return os.Truncate(l.log(), 0)
}

// copyEnd copies at most the last most bytes.
func copyEnd(from, to string, most int64) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	info, err := in.Stat()
	if err != nil {
		return err
	}
	if _, err := in.Seek(max(0, info.Size()-most), io.SeekStart); err != nil {
		return err
	}
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = io.CopyN(out, in, min(info.Size(), most))
	if end := out.Close(); err == nil {
		err = end
	}
	return err
}
