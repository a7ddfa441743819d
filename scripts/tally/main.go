// Command tally reads `go test -json` on its standard input, prints the output of what failed, and writes the counts
// to the file named by its argument as "passed failed skipped". The counts include subtests. Its exit code says only
// whether it could read: whether the tests passed is in the counts and in the exit code of go test.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
)

// event is one line of `go test -json` (see `go doc test2json`).
type event struct {
	Action      string
	Package     string
	ImportPath  string // of a build event
	Test        string
	Output      string
	FailedBuild string
}

// tally holds what has been read. Output is kept only while its test or package may still fail.
type tally struct {
	passed, failed, skipped int
	output                  map[string]*strings.Builder // by package and test
	failedIn                map[string]int              // failed tests by package
}

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: go test -json … | tally FILE")
		os.Exit(2)
	}
	t := &tally{output: map[string]*strings.Builder{}, failedIn: map[string]int{}}
	err := t.readAll(os.Stdin, os.Stdout)
	if err == nil {
		err = os.WriteFile(os.Args[1], fmt.Appendf(nil, "%d %d %d\n", t.passed, t.failed, t.skipped), 0o644)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "tally:", err)
		os.Exit(1)
	}
}

func (t *tally) readAll(in io.Reader, out io.Writer) error {
	lines := bufio.NewReader(in)
	for {
		line, err := lines.ReadBytes('\n')
		var e event
		if len(line) > 0 && json.Unmarshal(line, &e) == nil && e.Action != "" {
			t.read(e, out)
		} else if len(line) > 0 {
			// Whatever stands around the tests (the private cluster, the go command itself) speaks plainly.
			fmt.Fprintf(out, "%s", line)
		}
		if err == io.EOF {
			return nil
		} else if err != nil {
			return fmt.Errorf("read events: %w", err)
		}
	}
}

func (t *tally) read(e event, out io.Writer) {
	key := e.Package + " " + e.Test
	switch e.Action {
	case "output":
		t.keep(key, e.Output)
	case "build-output":
		fmt.Fprint(out, e.Output)
	case "pass", "skip":
		if e.Test != "" && e.Action == "pass" {
			t.passed++
		} else if e.Test != "" {
			t.skipped++
		}
		delete(t.output, key)
	case "fail":
		t.fail(e, key, out)
	}
}

// fail prints what a failed test said. A package that fails without a failed test did not build, panicked outside a
// test, or leaked: that counts as one failure.
func (t *tally) fail(e event, key string, out io.Writer) {
	if e.Test == "" && t.failedIn[e.Package] > 0 {
		delete(t.output, key)
		return
	}
	t.failed++
	t.failedIn[e.Package]++
	fmt.Fprintf(out, "--- %s %s\n", e.Package, e.Test)
	if said := t.output[key]; said != nil {
		fmt.Fprint(out, said.String())
	}
	delete(t.output, key)
}

func (t *tally) keep(key, text string) {
	if t.output[key] == nil {
		t.output[key] = &strings.Builder{}
	}
	t.output[key].WriteString(text)
}
