package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/gatehouse-hq/gatehouse/internal/infra/pg/pgtest"
	"github.com/gatehouse-hq/gatehouse/internal/infra/seal"
)

// A key that can be read need not be the right one: doctor tries it on what is sealed, and makes none.
func TestDoctorTriesTheKey(t *testing.T) {
	t.Parallel()
	s := newSite(t, pgtest.URL(t))
	line := func() string {
		t.Helper()
		_, said := s.says("doctor")
		return regexp.MustCompile(`(?m)^seal key .*`).FindString(said)
	}
	expect := func(now string, parts ...string) {
		t.Helper()
		got := line()
		for _, part := range parts {
			if !strings.Contains(got, part) {
				t.Errorf("%s: %q lacks %q", now, got, part)
			}
		}
	}
	s.inside(func(*app) {})
	expect("before the first endpoint", "ok", "nothing is sealed under it yet")
	s.fill()
	expect("with its own key", "ok", "opens the secrets of 1 webhook endpoint")

	s.env["GATEHOUSE_SEAL_KEY"] = strings.Repeat("5e", seal.KeyBytes)
	expect("with another key", "PROBLEM", "1 webhook endpoint are sealed under key", "the key in use is", "put the old key back")
	delete(s.env, "GATEHOUSE_SEAL_KEY")

	file := filepath.Join(s.dataDir(), seal.KeyFile)
	if err := os.Rename(file, file+".away"); err != nil {
		t.Fatal(err)
	}
	expect("without a key", "PROBLEM", "there is no key here", "before the next start")
	if _, err := os.Stat(file); !os.IsNotExist(err) {
		t.Errorf("doctor has made a key: %v", err)
	}
	if err := os.Rename(file+".away", file); err != nil {
		t.Fatal(err)
	}

	s.inside(func(a *app) {
		if _, err := a.pool.Exec(t.Context(), `update webhook_endpoints set secrets_enc = secrets_enc || '\x00'`); err != nil {
			t.Fatal(err)
		}
	})
	expect("with damaged secrets", "PROBLEM", "are damaged")
}
