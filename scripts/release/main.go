// Command release builds what is handed out: one static binary for each target in a tar.gz with the files to run it, a
// bill of materials for each (CycloneDX), and SHA256SUMS over all. The same commit and the same Go give the same bytes, on
// any machine and in any folder; before it says so, it builds one target again from a copy elsewhere with an empty cache.
//
//	go run ./scripts/release -out dist
package main

import (
	"crypto/sha256"
	"encoding/hex"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"
)

// target is a system and processor to build for.
type target struct{ system, processor string }

func (t target) String() string { return t.system + "_" + t.processor }

func main() {
	out := flag.String("out", "dist", "folder that the files go to; what is in it from before is removed")
	targets := flag.String("targets", "linux/amd64,linux/arm64", "what to build for")
	check := flag.Bool("check", false, "write nothing: build the first target in two folders, with the usual cache, and compare")
	flag.Parse()
	do := func() error { return release(*out, *targets) }
	if *check {
		do = func() error { return compare(*targets) }
	}
	if err := do(); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

// compare is the quick half of release, for the gate.
func compare(list string) error {
	work, err := os.MkdirTemp("", "gatehouse-release-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	first, _, _ := strings.Cut(list, ",")
	t, err := parseTarget(first)
	if err != nil {
		return err
	}
	binary := filepath.Join(work, "gatehouse")
	if err := build(".", binary, t, "check", ""); err != nil {
		return err
	}
	if _, err := billOf(binary, "check", time.Unix(0, 0)); err != nil {
		return err
	}
	_, err = again(work, binary, t, "check", "")
	return err
}

func parseTarget(word string) (target, error) {
	system, processor, ok := strings.Cut(word, "/")
	if !ok {
		return target{}, fmt.Errorf("%q is no target; write it like linux/amd64", word)
	}
	return target{system, processor}, nil
}

func release(out, list string) error {
	version, at, err := commit()
	if err != nil {
		return err
	}
	if err := os.RemoveAll(out); err != nil {
		return err
	}
	if err := os.MkdirAll(out, 0o755); err != nil {
		return err
	}
	work, err := os.MkdirTemp("", "gatehouse-release-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	var sums []string
	for i, word := range strings.Split(list, ",") {
		t, err := parseTarget(word)
		if err != nil {
			return err
		}
		binary := filepath.Join(work, t.String(), "gatehouse")
		if err := build(".", binary, t, version, ""); err != nil {
			return err
		}
		if i == 0 {
			digest, err := again(work, binary, t, version, filepath.Join(work, "cache"))
			if err != nil {
				return err
			}
			fmt.Printf("two builds of %s for %s are the same: sha256 %s, %s\n", version, t, digest, runtime.Version())
		}
		files, err := pack(out, binary, t, version, at)
		if err != nil {
			return err
		}
		sums = append(sums, files...)
	}
	return writeSums(out, sums)
}

// commit is what is released: its name, and its time, which every file of an archive gets. SOURCE_DATE_EPOCH (see
// reproducible-builds.org) overrides the time; without git it is needed.
func commit() (version string, at time.Time, err error) {
	git := func(args ...string) string {
		said, _ := exec.Command("git", append([]string{"-c", "safe.directory=*"}, args...)...).Output()
		return strings.TrimSpace(string(said))
	}
	if version = os.Getenv("VERSION"); version == "" {
		version = git("describe", "--tags", "--always", "--dirty")
	}
	seconds := os.Getenv("SOURCE_DATE_EPOCH")
	if seconds == "" {
		seconds = git("log", "-1", "--format=%ct")
	}
	n, err := strconv.ParseInt(seconds, 10, 64)
	if err != nil || version == "" {
		return "", at, fmt.Errorf("this is no git checkout: set VERSION and SOURCE_DATE_EPOCH (seconds since 1970)")
	}
	return version, time.Unix(n, 0).UTC(), nil
}

// again builds the same from a copy in another folder, with the given cache, and compares.
func again(work, first string, t target, version, cache string) (digest string, err error) {
	copied, second := filepath.Join(work, "elsewhere", "copy"), filepath.Join(work, "again", "gatehouse")
	if err := copySources(".", copied); err != nil {
		return "", err
	}
	if err := build(copied, second, t, version, cache); err != nil {
		return "", err
	}
	digest, err = sum(first)
	if err != nil {
		return "", err
	}
	other, err := sum(second)
	if err == nil && digest != other {
		err = fmt.Errorf("two builds of %s differ: %s and, from another folder, %s", version, digest, other)
	}
	return digest, err
}

func sum(path string) (string, error) {
	raw, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	digest := sha256.Sum256(raw)
	return hex.EncodeToString(digest[:]), nil
}

// writeSums writes the file that `sha256sum --check SHA256SUMS` reads.
func writeSums(out string, names []string) error {
	var text strings.Builder
	for _, name := range names {
		digest, err := sum(filepath.Join(out, name))
		if err != nil {
			return err
		}
		fmt.Fprintf(&text, "%s  %s\n", digest, name)
	}
	fmt.Print(text.String())
	return os.WriteFile(filepath.Join(out, "SHA256SUMS"), []byte(text.String()), 0o644)
}
