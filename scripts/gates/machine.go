package main

import (
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// systemFolders are those that every machine has at the top.
var systemFolders = []string{"bin", "boot", "data", "dev", "etc", "home", "lib", "media", "mnt", "opt", "proc", "root", "run", "sbin", "src", "srv", "sys", "tmp", "usr", "var", "Users"}

// checkMachine finds what a file knows of the machine it was written on: where this checkout lies, its user's home, and
// the hosts that packages come from here.
func checkMachine(c *checkout) (int, []finding, error) {
	paths, err := c.files("")
	if err != nil {
		return 0, nil, err
	}
	own := machineWords(c.root)
	var found []finding
	for _, path := range paths {
		text, err := c.read(path)
		if err != nil {
			return 0, nil, err
		}
		if within(path, []string{"bin", "dist", "bench/raw", "e2e/test-results"}) || !utf8.ValidString(text) {
			continue
		}
		for number, line := range strings.Split(text, "\n") {
			where := path + ":" + strconv.Itoa(number+1)
			for _, word := range own {
				if strings.Contains(line, word) {
					found = append(found, finding{where, "names " + word + ", which belongs to the machine at hand"})
				}
			}
		}
	}
	return len(paths), found, nil
}

// machineWords are words of this machine that no file of the project has a reason to hold.
func machineWords(root string) []string {
	var words []string
	if at, err := filepath.Abs(root); err == nil {
		// A checkout at /src says nothing about anybody.
		if top := strings.Split(at, "/"); len(top) > 2 {
			words = append(words, at)
			if !slices.Contains(systemFolders, top[1]) {
				words = append(words, "/"+top[1]+"/")
			}
		}
	}
	if home, err := os.UserHomeDir(); err == nil && (home == "/root" || strings.HasPrefix(home, "/home/") || strings.HasPrefix(home, "/Users/")) {
		words = append(words, home+"/")
	}
	for _, ask := range [][]string{{"go", "env", "GOPROXY"}, {"npm", "config", "get", "registry"}} {
		said, err := exec.Command(ask[0], ask[1:]...).Output()
		if err != nil {
			continue // not installed: no packages come from there
		}
		for _, address := range strings.FieldsFunc(string(said), func(r rune) bool { return strings.ContainsRune(",|\n ", r) }) {
			if u, err := url.Parse(address); err == nil && u.Host != "" {
				words = append(words, u.Hostname())
			}
		}
	}
	if name, err := os.Hostname(); err == nil && len(name) >= 8 && strings.ContainsAny(name, "0123456789-.") {
		words = append(words, name) // others are words of the language, such as localhost
	}
	return words
}
