// Package contributing keeps CONTRIBUTING.md true: the example domain is taken out of the text, put into a copy of this
// module, built, checked by the gates and used.
package contributing

import (
	"context"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/gatehouse-hq/gatehouse/e2e/blackbox"
	"github.com/gatehouse-hq/gatehouse/internal/infra/pg/pgtest"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

const root = "../.."

// block is one piece of code in the text, with the file it belongs to.
var block = regexp.MustCompile("(?ms)^```(\\w+) (\\S+)\n(.*?)^```$")

func TestTheExampleIsTrue(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join(root, "CONTRIBUTING.md"))
	if err != nil {
		t.Fatal(err)
	}
	dir := copyModule(t)
	blocks := block.FindAllStringSubmatch(string(text), -1)
	if len(blocks) < 15 {
		t.Fatalf("found only %d pieces of code", len(blocks))
	}
	var files []string
	for _, b := range blocks {
		switch language, path, code := b[1], b[2], b[3]; {
		case language == "diff":
			patch(t, filepath.Join(dir, path), code)
		case strings.Contains(path, "NNNN"):
			migrate(t, dir, path, code)
		default:
			write(t, filepath.Join(dir, path), code)
			if language == "go" {
				files = append(files, path)
			}
		}
	}
	if said := run(t, dir, "gofmt", append([]string{"-l"}, files...)...); said != "" {
		t.Errorf("not as gofmt writes it: %s", said)
	}
	run(t, dir, "go", "tool", "templ", "generate", "-f", "internal/web/admin/bookmarks/page.templ")
	run(t, dir, "go", "build", "-trimpath", "-o", "gatehouse", "./cmd/server")
	run(t, dir, "go", "test", "-trimpath", "./internal/domain/bookmarks/...")
	run(t, dir, "go", "build", "-trimpath", "-o", "gates", "./scripts/gates")
	for _, gate := range []string{"deps", "events", "table-event-policy", "tx-only-via-pg", "csp", "side-effects-behind-bus", "retry-only-in-jobs"} {
		run(t, dir, "./gates", gate)
	}
	use(t, filepath.Join(dir, "gatehouse"))
}

// use calls the operation, waits for the task, and looks at the page.
func use(t *testing.T, binary string) {
	t.Helper()
	s, err := blackbox.Prepare(binary, pgtest.Empty(t), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		s.Signal(syscall.SIGKILL)
		if t.Failed() {
			t.Logf("the server said:\n%s", s.Log(4000))
		}
	})
	if err := s.Start(); err != nil {
		t.Fatal(err)
	}
	if err := s.Ready(t.Context()); err != nil {
		t.Fatal(err)
	}
	owner, err := blackbox.SetUp(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	var added struct{ ID, URL, Label string }
	if err := owner.Call(t.Context(), s, "bookmarks.add", map[string]string{"url": "https://example.com/page"}, &added); err != nil || added.ID == "" {
		t.Fatalf("add: %+v %v", added, err)
	}
	err = blackbox.Eventually(t.Context(), time.Minute, func() error {
		var out struct {
			Bookmarks []struct{ Label string }
		}
		if err := owner.Call(t.Context(), s, "bookmarks.list", struct{}{}, &out); err != nil {
			return err
		}
		if len(out.Bookmarks) != 1 || out.Bookmarks[0].Label != "example.com" {
			return fmt.Errorf("the list is %+v", out)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	var events struct {
		Events []struct{ Type string }
	}
	if err := owner.Call(t.Context(), s, "events.list", map[string]any{"type": "bookmark.added"}, &events); err != nil || len(events.Events) != 1 {
		t.Errorf("events: %+v %v", events, err)
	}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.URL+"/admin/bookmarks", nil)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := owner.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	_ = answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		t.Errorf("the page answers %s", answer.Status)
	}
}

// patch takes lines out of a file and puts others in, where the text shows it.
func patch(t *testing.T, path, diff string) {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var before, after strings.Builder
	for line := range strings.Lines(diff) {
		switch rest := line[1:]; line[0] {
		case ' ':
			before.WriteString(rest)
			after.WriteString(rest)
		case '-':
			before.WriteString(rest)
		case '+':
			after.WriteString(rest)
		default:
			t.Fatalf("%s: a line of the change begins neither with a space nor with - or +: %q", path, line)
		}
	}
	if n := strings.Count(string(raw), before.String()); n != 1 {
		t.Fatalf("CONTRIBUTING.md shows a place in %s that is there %d times; bring the text up to date:\n%s", path, n, before.String())
	}
	write(t, path, strings.Replace(string(raw), before.String(), after.String(), 1))
}

// migrate gives the step the next free number and adds it to the schema.
func migrate(t *testing.T, dir, path, sql string) {
	t.Helper()
	have, err := filepath.Glob(filepath.Join(dir, filepath.Dir(path), "*.sql"))
	if err != nil || len(have) == 0 {
		t.Fatalf("found %d migrations, %v", len(have), err)
	}
	write(t, filepath.Join(dir, strings.Replace(path, "NNNN", fmt.Sprintf("%04d", len(have)+1), 1)), sql)
	schema := filepath.Join(dir, "schema.sql")
	raw, err := os.ReadFile(schema)
	if err != nil {
		t.Fatal(err)
	}
	write(t, schema, string(raw)+sql)
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// run is a command in the copy; what it says is its standard output.
func run(t *testing.T, dir, name string, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = dir
	var said, errors strings.Builder
	cmd.Stdout, cmd.Stderr = &said, &errors
	if err := cmd.Run(); err != nil {
		t.Fatalf("%s %s: %v\n%s%s", name, strings.Join(args, " "), err, said.String(), errors.String())
	}
	return said.String()
}

// copyModule copies what the build and the gates read.
func copyModule(t *testing.T) string {
	t.Helper()
	to := t.TempDir()
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		if d.IsDir() {
			switch d.Name() {
			case "node_modules", "artifacts", "bin", "dist", "bench":
				return filepath.SkipDir
			}
			if name != "." && strings.HasPrefix(d.Name(), ".") {
				return filepath.SkipDir
			}
			return os.MkdirAll(filepath.Join(to, name), 0o755)
		}
		if !d.Type().IsRegular() {
			return nil
		}
		raw, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(to, name), raw, 0o644)
	})
	if err != nil {
		t.Fatal(err)
	}
	return to
}
