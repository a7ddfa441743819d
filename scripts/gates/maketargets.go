package main

import (
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
)

var (
	targetLine = regexp.MustCompile(`(?m)^([a-z][\w-]*)\s*:([^=]|$)`)
	makeCall   = regexp.MustCompile(`\bmake ([a-z][\w-]*)`)
	// pathWord is a word with a slash in it; whether it is a path of this checkout its first element tells.
	pathWord = regexp.MustCompile(`(?:\./)?[\w.-]+(?:/[\w.%-]+)+/?`)
)

// checkMakeTargets holds the Makefile, the CI script and the README to their word: what they name exists.
func checkMakeTargets(c *checkout) (int, []finding, error) {
	makefile, err := c.read("Makefile")
	if err != nil {
		return 0, nil, err
	}
	targets := map[string]bool{}
	for _, match := range targetLine.FindAllStringSubmatch(makefile, -1) {
		targets[match[1]] = true
	}
	tops, err := os.ReadDir(c.root)
	if err != nil {
		return 0, nil, fmt.Errorf("read the checkout: %w", err)
	}
	folders := map[string]bool{}
	for _, top := range tops {
		folders[top.Name()] = top.IsDir()
	}
	scanned := len(targets)
	var found []finding
	for _, path := range []string{"Makefile", ".ci/run", "README.md"} {
		text, err := c.read(path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		} else if err != nil {
			return 0, nil, err
		}
		for number, line := range strings.Split(text, "\n") {
			where := fmt.Sprintf("%s:%d", path, number+1)
			for _, at := range pathWord.FindAllStringIndex(line, -1) {
				word := line[at[0]:at[1]]
				// A pattern names many files, and a variable none yet.
				if at[1] < len(line) && strings.ContainsRune("*${<", rune(line[at[1]])) {
					continue
				}
				word = strings.TrimRight(strings.TrimPrefix(word, "./"), "/.")
				if plain, err := url.PathUnescape(word); err == nil {
					word = plain // links write a space as %20
				}
				top, _, _ := strings.Cut(word, "/")
				if !folders[top] {
					continue
				}
				scanned++
				if !c.exists(word) {
					found = append(found, finding{where, fmt.Sprintf("names %s, which does not exist", word)})
				}
			}
			for _, call := range makeCall.FindAllStringSubmatch(line, -1) {
				scanned++
				if !targets[call[1]] && path != "Makefile" {
					found = append(found, finding{where, fmt.Sprintf("names `make %s`, which the Makefile does not have", call[1])})
				}
			}
		}
	}
	return scanned, found, nil
}

// exists accepts a path that is there, or that .gitignore declares to be an output.
func (c *checkout) exists(path string) bool {
	if _, err := os.Stat(filepath.Join(c.root, path)); err == nil {
		return true
	}
	ignored := exec.Command("git", "-c", "safe.directory=*", "check-ignore", "--quiet", path)
	ignored.Dir = c.root
	return ignored.Run() == nil
}
