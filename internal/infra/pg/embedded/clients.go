package embedded

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
)

// Client finds a client program of PostgreSQL, such as pg_dump, whose major version is least or newer: the oldest of those,
// because what a newer one writes an older one cannot read. It looks where packages install them and on PATH. The error
// says what is there and what to install.
func Client(ctx context.Context, name string, least int) (path string, major int, err error) {
	return client(ctx, usualPlaces(), name, least)
}

func client(ctx context.Context, places []string, name string, least int) (path string, major int, err error) {
	var candidates []string
	for _, g := range places {
		found, _ := filepath.Glob(filepath.Join(g, name))
		candidates = append(candidates, found...)
	}
	// Last, because a wrapper may stand there that picks a version by itself.
	if found, err := exec.LookPath(name); err == nil {
		candidates = append(candidates, found)
	}
	newest := 0
	for _, at := range candidates {
		v := 0
		if executable(at) {
			v = majorOf(ctx, at)
		}
		newest = max(newest, v)
		if v >= least && (major == 0 || v < major) {
			path, major = at, v
		}
	}
	switch {
	case path != "":
		return path, major, nil
	case newest == 0:
		return "", 0, fmt.Errorf("there is no %s on this machine: install the client programs of PostgreSQL %d or newer (%s)", name, least, clientHint(least))
	}
	return "", 0, fmt.Errorf("the newest %s on this machine is of PostgreSQL %d, but %d or newer is needed: install its client programs (%s)", name, newest, least, clientHint(least))
}

func clientHint(major int) string {
	return fmt.Sprintf("on Debian and Ubuntu: apt install postgresql-client-%d; where that is not to be had, PostgreSQL's own packages have every version", major)
}
