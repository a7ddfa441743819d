package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/gatehouse-hq/gatehouse/docs/guide"
	"github.com/gatehouse-hq/gatehouse/internal/domain/webhooks"
)

func manual(t *testing.T, page string) string {
	t.Helper()
	raw, err := fs.ReadFile(guide.Notes, page)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// Every alert that this program can raise has its section in the manual.
func TestManualExplainsEveryAlert(t *testing.T) {
	t.Parallel()
	page := manual(t, "Using/Alerts.md")
	// Alerts are built as a Reason or Alert with a Code, or have theirs set with the title.
	code := regexp.MustCompile(`(?:(?:Reason|Alert)\{\{?\s*Code:\s*|\.Code, \w+\.Title(?:, \w+\.Next)? = )"(\w+)"`)
	var found []string
	for _, dir := range []string{".", "../../internal/domain"} {
		err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			raw, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			for _, m := range code.FindAllStringSubmatch(string(raw), -1) {
				found = append(found, m[1])
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if len(found) < 15 {
		t.Fatalf("found only %v", found)
	}
	for _, c := range found {
		if !strings.Contains(page, "\n`"+c+"`, ") {
			t.Errorf("the page of alerts does not explain %s", c)
		}
	}
	for _, m := range regexp.MustCompile("(?m)^`(\\w+)`, ").FindAllStringSubmatch(page, -1) {
		if !slices.Contains(found, m[1]) {
			t.Errorf("the page of alerts explains %s, which nothing raises", m[1])
		}
	}
}

// Every setting that is read and every command that is taken stands in the manual, and no other.
func TestManualListsSettingsAndCommands(t *testing.T) {
	t.Parallel()
	page := manual(t, "Running/Settings and environment.md")
	read := map[string]bool{}
	if _, err := readConfig(func(name string) string { read[name] = true; return "" }); err != nil && !strings.Contains(err.Error(), "GATEHOUSE_DATA_DIR") {
		t.Fatal(err)
	}
	for name := range read {
		if !regexp.MustCompile("(?m)^\\|[^|]*`" + name + "`").MatchString(page) {
			t.Errorf("the page of settings does not list %s", name)
		}
	}
	for _, m := range regexp.MustCompile("`(GATEHOUSE_\\w+|DATABASE_URL)`").FindAllStringSubmatch(page, -1) {
		if !read[m[1]] {
			t.Errorf("the page of settings lists %s, which nothing reads", m[1])
		}
	}
	for _, c := range commands() {
		if !strings.Contains(page, "`"+strings.TrimSpace("gatehouse "+c.name+" "+c.args)+"`") {
			t.Errorf("the page of settings does not list %s %s", c.name, c.args)
		}
	}
}

// What the panel shows a receiver's author and what the manual shows are one.
func TestManualShowsThePanelsSnippets(t *testing.T) {
	t.Parallel()
	page := manual(t, "Using/Connect a receiver.md")
	for _, s := range webhooks.Snippets() {
		if !strings.Contains(page, "\n"+s.Code+"\n```") {
			t.Errorf("the page does not show the panel's code for %s", s.Title)
		}
	}
}

// Each page is linked from another, and each link leads to a page and, where it
// names one, to a heading of it.
func TestManualHangsTogether(t *testing.T) {
	t.Parallel()
	pages := map[string]string{}
	err := fs.WalkDir(guide.Notes, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		pages[strings.TrimSuffix(filepath.Base(path), ".md")] = manual(t, path)
		return nil
	})
	if err != nil || len(pages) < 15 {
		t.Fatalf("%d pages, %v", len(pages), err)
	}
	aliases := map[string]string{"outbox": "Events and the outbox", "events": "Events and the outbox"}
	linked := map[string]bool{"Welcome": true}
	link := regexp.MustCompile(`\[\[([^\]|#\\]+)(?:#([^\]|\\]+))?`)
	code := regexp.MustCompile("(?s)```.*?```|`[^`\n]*`")
	for name, text := range pages {
		for _, m := range link.FindAllStringSubmatch(code.ReplaceAllString(text, ""), -1) {
			to := m[1]
			if a, ok := aliases[to]; ok {
				to = a
			}
			target, ok := pages[to]
			if !ok {
				t.Errorf("%s leads to %q, which is no page", name, m[1])
				continue
			}
			if m[2] != "" && !regexp.MustCompile(`(?m)^#+ `+regexp.QuoteMeta(m[2])+`$`).MatchString(target) {
				t.Errorf("%s leads to %q, which is no heading of %s", name, m[2], to)
			}
			if to != name {
				linked[to] = true
			}
		}
	}
	for name := range pages {
		if !linked[name] {
			t.Errorf("nothing leads to %q", name)
		}
	}
}
