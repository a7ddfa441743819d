package embedded

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func TestParsePostmaster(t *testing.T) {
	t.Parallel()
	const whole = "4711\n/d\n1700000000\n5432\n/d/run\n\n  1 2\nready   \n"
	for name, c := range map[string]struct {
		text string
		want postmaster
		ok   bool
	}{
		"empty":         {text: ""},
		"no number":     {text: "x\n"},
		"not a process": {text: "-4711\n"},
		"just created":  {text: "4711\n/d\n1700000000\n5432\n", want: postmaster{pid: 4711}, ok: true},
		"ready":         {text: whole, want: postmaster{4711, "5432", "/d/run", true}, ok: true},
		"starting":      {text: strings.Replace(whole, "ready   ", "starting", 1), want: postmaster{4711, "5432", "/d/run", false}, ok: true},
	} {
		if got, ok := parsePostmaster(c.text); got != c.want || ok != c.ok {
			t.Errorf("%s: %+v %v, want %+v %v", name, got, ok, c.want, c.ok)
		}
	}
}

func FuzzParsePostmaster(f *testing.F) {
	f.Add("4711\n/d\n1700000000\n5432\n/d/run\n\n  1 2\nready   \n")
	f.Add("1\n")
	f.Fuzz(func(t *testing.T, text string) {
		// Signals are sent to the number: 0 and below would be groups of processes, 1 the system's first.
		if pm, ok := parsePostmaster(text); ok && pm.pid <= 1 {
			t.Errorf("%q gives process %d", text, pm.pid)
		}
	})
}

func TestPasswordsAreReadAsWritten(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "pgpass")
	want := newPasswords()
	must(t, want.write(path))
	if got, err := readPasswords(path); err != nil || got != want {
		t.Errorf("%v, %v", got, err)
	}
	if want.admin == want.app || len(want.app) != 48 {
		t.Errorf("passwords %+v", want)
	}
}

func FuzzParsePasswords(f *testing.F) {
	f.Add("*:*:*:postgres:a\n*:*:*:gatehouse:b\n")
	f.Add("::::\n")
	f.Fuzz(func(t *testing.T, text string) {
		if p, err := parsePasswords(text, "file"); err == nil && (p.admin == "" || p.app == "") {
			t.Errorf("%q gives an empty password without an error", text)
		}
	})
}

func TestProgramsAreChosenByVersion(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, version := range map[string]string{
		"13": "postgres (PostgreSQL) 13.9", "14": "postgres (PostgreSQL) 14.20 (Debian 14.20-1)",
		"17": "postgres (PostgreSQL) 17beta1", "odd": "something else",
	} {
		bin := filepath.Join(dir, name, "bin")
		must(t, os.MkdirAll(bin, 0o755))
		must(t, os.WriteFile(filepath.Join(bin, "initdb"), []byte("#!/bin/sh\n"), 0o755))
		must(t, os.WriteFile(filepath.Join(bin, "postgres"), []byte("#!/bin/sh\necho '"+version+"'\n"), 0o755))
	}
	must(t, os.MkdirAll(filepath.Join(dir, "18", "bin"), 0o755)) // a client without a server
	found := map[int]programs{}
	for _, p := range findPrograms(t.Context(), []string{dir + "/*/bin"}) {
		if strings.HasPrefix(p.bin, dir) {
			found[p.major] = p
		}
	}
	if len(found) != 2 || found[14].bin == "" || found[17].bin == "" {
		t.Fatalf("found %v, want 14 and 17", found)
	}
	all := []programs{found[14], found[17]}
	if p, err := newest(all); err != nil || p.major != 17 {
		t.Errorf("a new cluster would be made with %v, %v", p, err)
	}
	if p, err := matching(all, "14", "/d"); err != nil || p.major != 14 {
		t.Errorf("a cluster of 14 would be opened with %v, %v", p, err)
	}
	if _, err := matching(all, "16", "/d"); err == nil || !strings.Contains(err.Error(), "only PostgreSQL 14 and 17") {
		t.Errorf("a cluster of 16: %v", err)
	}
}

func TestProblemsAreSentences(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		err  error
		want string
	}{
		{unwritable("/d", &os.PathError{Op: "mkdir", Path: "/d", Err: syscall.EROFS}), "/d is on a read-only file system"},
		{unwritable("/d", &os.PathError{Op: "write", Path: "/d", Err: syscall.ENOSPC}), "holds the data directory /d is full"},
		{unwritable("/d", fmt.Errorf("x: %w", syscall.EACCES)), "/d may not be written by this user"},
		{unwritable("/d", errors.New("odd")), "prepare the data directory /d: odd"},
		{programFailed("it failed", "/d", "a\nFATAL:  could not write: No space left on device\n"), "/d is full"},
		{programFailed("it failed", "/d", "LOG: a\n1970 [1] FATAL:  first\nLOG: b\n"), "it failed: FATAL:  first"},
		{programFailed("it failed", "/d", "initdb: error: second\nhint\n"), "it failed: error: second"},
		{programFailed("it failed", "/d", "a\nlast\n"), "it failed: last"},
		{programFailed("it failed", "/d", " \n"), "it failed, without saying why"},
	} {
		if c.err == nil || !strings.Contains(c.err.Error(), c.want) {
			t.Errorf("%v, want %q", c.err, c.want)
		}
	}
}

func TestLogIsSetAside(t *testing.T) {
	t.Parallel()
	lay := newLayout(t.TempDir())
	must(t, os.MkdirAll(lay.home, 0o700))
	must(t, os.WriteFile(lay.log(), make([]byte, maxLog+1), 0o600))
	f, at, err := lay.openLog()
	must(t, err)
	defer f.Close()
	if at != 0 {
		t.Errorf("the log goes on at %d bytes", at)
	}
	if info, err := os.Stat(lay.log() + ".1"); err != nil || info.Size() != maxLog+1 {
		t.Errorf("the full log was not kept aside: %v", err)
	}
}

func TestDefaultDataDir(t *testing.T) {
	t.Setenv("HOME", "/home/someone")
	t.Setenv("XDG_DATA_HOME", "")
	want := "/home/someone/.local/share/gatehouse"
	if os.Geteuid() == 0 {
		want = "/var/lib/gatehouse"
	}
	if got, err := DefaultDataDir(); err != nil || got != want {
		t.Errorf("%q, %v; want %q", got, err, want)
	}
}
