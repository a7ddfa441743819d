package main

import (
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// build makes one static binary from the sources in dir. What would tell two machines apart stays out: paths, the build
// id, and what git knows of the folder (the version says it). An empty cache means the usual one.
func build(dir, binary string, t target, version, cache string) error {
	to, err := filepath.Abs(binary)
	if err != nil {
		return err
	}
	cmd := exec.Command("go", "build", "-trimpath", "-buildvcs=false", "-ldflags", "-s -w -buildid= -X main.version="+version, "-o", to, "./cmd/server")
	cmd.Dir = dir
	cmd.Stderr = os.Stderr
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS="+t.system, "GOARCH="+t.processor, "GOAMD64=v1", "GOARM64=v8.0", "GOFLAGS=", "GOEXPERIMENT=", "GOWORK=off")
	if cache != "" {
		cmd.Env = append(cmd.Env, "GOCACHE="+cache)
	}
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("build for %s: %w", t, err)
	}
	return nil
}

// copySources copies what a build reads, which is less than what lies in a checkout.
func copySources(from, to string) error {
	return filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			switch name := d.Name(); {
			case path == from:
			case strings.HasPrefix(name, "."), name == "node_modules", name == "artifacts", name == "bin", name == "dist":
				return filepath.SkipDir
			}
			return os.MkdirAll(filepath.Join(to, path), 0o755)
		}
		if !d.Type().IsRegular() {
			return nil
		}
		raw, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(to, path), raw, 0o644)
	})
}
