package corpus

import (
	"archive/zip"
	"bytes"
	"fmt"
	"path"
	"strings"

	"github.com/gatehouse-hq/gatehouse/internal/domain/corpus/vault"
	"github.com/gatehouse-hq/gatehouse/internal/infra/op"
)

// Bounds of an import by operation.
const (
	bundleFiles = 200
	bundleBytes = 4 << 20
)

// bundle makes a vault of texts. It goes through the archive reader, so that
// files from an operation are held to exactly the same rules.
func bundle(files []importText) (*vault.Vault, error) {
	if len(files) == 0 || len(files) > bundleFiles {
		return nil, op.Invalidf("files", "Send 1 to %d files.", bundleFiles)
	}
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	size := 0
	for i, f := range files {
		if size += len(f.Text); size > bundleBytes {
			return nil, op.Errorf(op.TooLarge, "The files are larger than %d MiB together. Import in several steps.", bundleBytes>>20)
		}
		if err := checkBundlePath(f.Path); err != nil {
			return nil, op.Invalidf(fmt.Sprintf("files[%d].path", i), "%s", err)
		}
		w, err := z.CreateHeader(&zip.FileHeader{Name: "vault/" + f.Path, Method: zip.Store})
		if err != nil {
			return nil, fmt.Errorf("bundle the files: %w", err)
		}
		if _, err := w.Write([]byte(f.Text)); err != nil {
			return nil, fmt.Errorf("bundle the files: %w", err)
		}
	}
	if err := z.Close(); err != nil {
		return nil, fmt.Errorf("bundle the files: %w", err)
	}
	v, err := vault.OpenZip(bytes.NewReader(b.Bytes()), int64(b.Len()), vault.DefaultLimits())
	if err != nil {
		return nil, refuseVault(err)
	}
	return v, nil
}

func checkBundlePath(p string) error {
	switch {
	case storable("path", p) != nil || p == "" || len(p) > 1000:
		return fmt.Errorf("must be a path of at most 1000 bytes")
	case path.Clean("/"+p) != "/"+p || strings.HasPrefix(p, "/") || strings.Contains(p, `\`):
		return fmt.Errorf("must be relative and plain, such as garden/pump.md")
	case !strings.EqualFold(path.Ext(p), ".md"):
		return fmt.Errorf("must end in .md")
	}
	return nil
}
