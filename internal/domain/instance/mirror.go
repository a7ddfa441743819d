package instance

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/gatehouse-hq/gatehouse/internal/infra/pg"
)

// mirror is what a data directory remembers of a database: under which home it is known there, and the nonce of its last
// start. While a start is under way Next is the coming nonce: killed between file and database, both are right. At the
// first start Nonce is empty, which stands for a database that does not know the home yet.
type mirror struct {
	Home  string    `json:"home"`
	Nonce string    `json:"nonce,omitempty"`
	Next  string    `json:"next,omitempty"`
	At    time.Time `json:"at"` // of the last start, by the database's clock
}

// mirrorFile is one file for each database, so that a data directory may serve several, one after the other.
func mirrorFile(dir, instance string) string { return filepath.Join(dir, "instance-"+instance+".json") }

// readMirror returns nil when there is none. A file that cannot be read as one is worth as much as none.
func readMirror(path string) (*mirror, error) {
	raw, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read what the data directory remembers of the database: %w", err)
	}
	var m mirror
	if json.Unmarshal(raw, &m) != nil || !pg.ValidUUID(m.Home) || m.Nonce == "" && m.Next == "" {
		return nil, nil
	}
	return &m, nil
}

func (m *mirror) knows(nonce string) bool { return nonce == m.Nonce || m.Next != "" && nonce == m.Next }

// write replaces the file as a whole and brings it to the disk.
func (m *mirror) write(path string) error {
	raw, err := json.Marshal(m)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*")
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(f.Name()) }()
	_, err = f.Write(append(raw, '\n'))
	if err == nil {
		err = f.Sync()
	}
	if closed := f.Close(); err == nil {
		err = closed
	}
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	return err
}
