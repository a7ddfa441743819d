package embedded

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The oldest program that is new enough is taken, and the refusal says what there is and what to install.
func TestClientIsNewEnoughAndNotNewer(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	home := t.TempDir()
	for _, major := range []string{"14", "16", "17"} {
		dir := filepath.Join(home, major, "bin")
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "pg_dump"), []byte("#!/bin/sh\necho 'pg_dump (PostgreSQL) "+major+".3'\n"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	places := []string{filepath.Join(home, "*", "bin")}
	for least, want := range map[int]int{13: 14, 14: 14, 15: 16, 16: 16, 17: 17} {
		path, major, err := client(t.Context(), places, "pg_dump", least)
		if err != nil || major != want || !strings.HasPrefix(path, home) {
			t.Errorf("at least %d: %d at %s, %v", least, major, path, err)
		}
	}
	if _, _, err := client(t.Context(), places, "pg_dump", 18); err == nil || !strings.Contains(err.Error(), "is of PostgreSQL 17, but 18 or newer is needed") || !strings.Contains(err.Error(), "postgresql-client-18") {
		t.Error(err)
	}
	if _, _, err := client(t.Context(), places, "psql", 15); err == nil || !strings.Contains(err.Error(), "there is no psql") {
		t.Error(err)
	}
}
