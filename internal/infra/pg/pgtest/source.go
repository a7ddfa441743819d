package pgtest

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// shapers are the files, under the module's root, that shape the template beyond the plan's own SQL: the queue's schema
// is made by code, and by a library whose version go.mod states.
func shapers() []string { return []string{"go.mod", "internal/infra/jobs/river/migrate*.go"} }

// writeShapers adds their content to the template's key. Tests run in their package's directory, below the root; a test
// program run elsewhere finds none, and serves the schema it was built with under the key of the plan alone.
func writeShapers(w io.Writer) error {
	root, err := os.Getwd()
	if err != nil {
		return err
	}
	for !exists(filepath.Join(root, "go.mod")) {
		if root == filepath.Dir(root) {
			return nil
		}
		root = filepath.Dir(root)
	}
	for _, pattern := range shapers() {
		found, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil {
			return err
		}
		for _, path := range found {
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			fmt.Fprintf(w, "%s %d\n%s", filepath.Base(path), len(text), text)
		}
	}
	return nil
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
