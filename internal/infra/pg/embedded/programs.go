package embedded

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
)

// oldestMajor is the oldest PostgreSQL Gatehouse supports.
const oldestMajor = 14

// programs is one installation of PostgreSQL's server programs.
type programs struct {
	bin   string
	major int
}

func (p programs) initdb() string   { return filepath.Join(p.bin, "initdb") }
func (p programs) postgres() string { return filepath.Join(p.bin, "postgres") }

// usualPlaces are globs of directories in which packages install the server programs, which most do not put on PATH.
func usualPlaces() []string {
	return []string{
		"/usr/lib/postgresql/*/bin",         // Debian, Ubuntu
		"/usr/pgsql-*/bin",                  // Red Hat, PGDG
		"/usr/lib/postgresql*/bin",          // SUSE
		"/usr/libexec/postgresql*",          // Alpine
		"/opt/homebrew/opt/postgresql*/bin", // macOS on ARM
		"/usr/local/opt/postgresql*/bin",    // macOS on Intel
		"/Applications/Postgres.app/Contents/Versions/*/bin",
		"/usr/local/pgsql/bin", // built from source
		"/usr/local/bin",
	}
}

// findPrograms lists the supported installations in the given globs, on PATH and where pg_config points, without
// order. It returns nil when there are none.
func findPrograms(ctx context.Context, globs []string) []programs {
	var dirs []string
	for _, g := range globs {
		found, _ := filepath.Glob(g)
		dirs = append(dirs, found...)
	}
	if path, err := exec.LookPath("initdb"); err == nil {
		dirs = append(dirs, filepath.Dir(path))
	}
	if out, err := exec.CommandContext(ctx, "pg_config", "--bindir").Output(); err == nil {
		dirs = append(dirs, strings.TrimSpace(string(out)))
	}
	seen := map[string]bool{}
	var all []programs
	for _, dir := range dirs {
		real, err := filepath.EvalSymlinks(dir)
		if err != nil || seen[real] {
			continue
		}
		seen[real] = true
		p := programs{bin: real}
		if !executable(p.initdb()) || !executable(p.postgres()) {
			continue
		}
		if p.major = majorOf(ctx, p.postgres()); p.major >= oldestMajor {
			all = append(all, p)
		}
	}
	return all
}

func executable(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0
}

var versionLine = regexp.MustCompile(`\(PostgreSQL\) (\d+)`)

// majorOf asks a postgres program for its major version: 0 when it does not say.
func majorOf(ctx context.Context, postgres string) int {
	out, err := exec.CommandContext(ctx, postgres, "--version").Output()
	if err != nil {
		return 0
	}
	m := versionLine.FindSubmatch(out)
	if m == nil {
		return 0
	}
	major, _ := strconv.Atoi(string(m[1]))
	return major
}

// newest picks the installation a new cluster is made with.
func newest(all []programs) (programs, error) {
	var best programs
	for _, p := range all {
		if p.major > best.major {
			best = p
		}
	}
	if best.bin == "" {
		return best, fmt.Errorf("no PostgreSQL was found on this machine: install PostgreSQL %d or newer (%s), "+
			"or set DATABASE_URL to one that runs elsewhere", oldestMajor, installHint(0))
	}
	return best, nil
}

// matching picks the installation that can open a cluster of the given major version: PostgreSQL reads no other's files.
func matching(all []programs, major, data string) (programs, error) {
	var have []string
	for _, p := range all {
		if strconv.Itoa(p.major) == major {
			return p, nil
		}
		have = append(have, strconv.Itoa(p.major))
	}
	if len(have) == 0 {
		_, err := newest(nil)
		return programs{}, err
	}
	return programs{}, fmt.Errorf("the database in %s was made by PostgreSQL %s, but this machine has only PostgreSQL %s; "+
		"nothing was changed: install PostgreSQL %s again (%s), or move the content over with a dump or pg_upgrade",
		data, major, strings.Join(have, " and "), major, installHint(atoiOr0(major)))
}

func atoiOr0(s string) int {
	n, err := strconv.Atoi(s)
	if err != nil {
		return 0
	}
	return n
}

// installHint is an example of the command that installs PostgreSQL, of the given major version unless that is 0.
func installHint(major int) string {
	mark := ""
	if major != 0 {
		mark = strconv.Itoa(major)
	}
	if runtime.GOOS == "darwin" {
		if mark == "" {
			mark = "17"
		}
		return "brew install postgresql@" + mark
	}
	if mark != "" {
		mark = "-" + mark
	}
	return "on Debian and Ubuntu: apt install postgresql" + mark
}
