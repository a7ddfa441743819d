package vault

import (
	"regexp"
	"strings"
)

// block is a note's text, divided.
type block struct {
	found  bool   // there is front matter, or something meant as such
	yaml   string // between the --- lines
	line   int    // of the first line of yaml, from 1
	body   string
	start  int    // line on which body begins
	fault  string // why it cannot be read, "" if it may
	faulty int    // the line of the fault
}

// keyLine is a line that reads as "key: value" of front matter, and not as a sentence with a colon in it.
var keyLine = regexp.MustCompile(`^["']?[\p{L}_][\p{L}\p{M}\p{N}_ .-]{0,60}["']?[ \t]*:(?:[ \t]|$)`)

// maxFront bounds the front matter, in bytes. It also bounds the search for its end.
const maxFront = 64 << 10

// divide finds the front matter. By the letter it begins with --- on the very first line; authors whose editor put an empty line, a space
// or a %YAML line before it meant it just the same, and their publish: false must not become body text (field case F40).
func divide(text string) block {
	whole := block{body: text, start: 1}
	lines := strings.SplitAfter(text, "\n")
	i := 0
	for i < len(lines) && strings.TrimSpace(lines[i]) == "" {
		i++
	}
	directive := -1
	for i < len(lines) && (strings.HasPrefix(lines[i], "%YAML") || strings.HasPrefix(lines[i], "%TAG")) {
		directive = i
		i++
	}
	if i == len(lines) || strings.TrimSpace(lines[i]) != "---" {
		return whole
	}
	open := i
	strict := open == 0 && lines[0][0] == '-'
	end := closingLine(lines, open+1)
	b := block{found: true, line: open + 2, body: text, start: 1}
	switch {
	case end < 0 && !looksMeant(lines[open+1:]):
		return whole // a rule
	case end < 0:
		b.fault, b.faulty = "the front matter is never closed by ---", open+1
	case !strict && directive < 0 && !looksMeant(lines[open+1:end]):
		return whole // two rules and what stands between
	default:
		b.yaml = strings.Join(lines[open+1:end], "")
		b.body, b.start = strings.Join(lines[end+1:], ""), end+2
	}
	for i := open + 1; i < end && directive < 0; i++ {
		if strings.HasPrefix(lines[i], "%YAML") {
			directive = i
		}
	}
	if b.fault == "" && directive >= 0 {
		b.fault, b.faulty = "it holds a %YAML line, which notes do not need", directive+1
	}
	if b.fault == "" && len(b.yaml) > maxFront {
		b.fault, b.faulty = "the front matter is longer than 64 KiB", b.line
	}
	return b
}

// closingLine finds the --- or ... that ends the block, or -1.
func closingLine(lines []string, from int) int {
	for i := from; i < len(lines); i++ {
		if l := strings.TrimRight(lines[i], " \t\n"); l == "---" || l == "..." {
			return i
		}
	}
	return -1
}

// looksMeant tells front matter from text behind a rule: its first line that is neither empty nor a comment is a key.
func looksMeant(lines []string) bool {
	for _, l := range lines {
		if l = strings.TrimSpace(l); l == "" || strings.HasPrefix(l, "#") {
			continue
		}
		return keyLine.MatchString(l) || strings.HasPrefix(l, "%YAML")
	}
	return false
}

// onlyKeys tells whether every line of a block could be front matter. If not, the --- that seems to close it may be a rule far down in a
// body whose front matter was never closed.
func onlyKeys(yaml string) bool {
	for l := range strings.Lines(yaml) {
		trimmed := strings.TrimSpace(l)
		if trimmed == "" || l[0] == ' ' || l[0] == '\t' || l[0] == '#' || l[0] == '-' || l[0] == '%' || l[0] == ']' || l[0] == '}' {
			continue
		}
		if !keyLine.MatchString(trimmed) {
			return false
		}
	}
	return true
}
