package instance

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"syscall"
)

// spaceBound is the free space, in bytes, below which a busy day may fill a disk; on a small disk it is a tenth.
const spaceBound = 1 << 30

// Disk is a place whose free space matters.
type Disk struct {
	Name string // "data directory"
	Path string
}

// Space is how much room a disk has, in bytes.
type Space struct {
	Name  string `json:"name"`
	Path  string `json:"path"`
	Free  uint64 `json:"free"`
	Total uint64 `json:"total"`
	Low   bool   `json:"low"`
}

// Look asks the disk. A directory that does not exist yet is on the disk of the nearest one that does.
func (k Disk) Look() (Space, error) {
	s := Space{Name: k.Name, Path: k.Path}
	var st syscall.Statfs_t
	for {
		err := syscall.Statfs(s.Path, &st)
		if err == nil {
			break
		}
		if !errors.Is(err, fs.ErrNotExist) || s.Path == filepath.Dir(s.Path) {
			return s, fmt.Errorf("ask how much room there is at %s: %w", s.Path, err)
		}
		s.Path = filepath.Dir(s.Path)
	}
	s.Free, s.Total = st.Bavail*uint64(st.Bsize), st.Blocks*uint64(st.Bsize)
	s.Low = s.Free < min(spaceBound, s.Total/10)
	return s, nil
}

// String is the sentence that doctor and the panel show.
func (s Space) String() string {
	return fmt.Sprintf("%.1f GB of %.1f GB free at %s", float64(s.Free)/1e9, float64(s.Total)/1e9, s.Path)
}

// Spaces looks at every disk; two names of one place are told once.
func (d *Domain) Spaces() ([]Space, error) {
	out := []Space{}
	for _, k := range d.Disks {
		s, err := k.Look()
		if err != nil {
			return nil, err
		}
		if len(out) > 0 && out[len(out)-1].Free == s.Free && out[len(out)-1].Total == s.Total {
			continue
		}
		out = append(out, s)
	}
	return out, nil
}
