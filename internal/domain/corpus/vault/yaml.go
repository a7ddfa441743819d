package vault

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
	"golang.org/x/text/unicode/norm"
)

// readFront reads a divided note's front matter. It works on YAML's nodes, whose text is what the author typed: 2027-04-12 and 007 stay so
// (field case F39).
func readFront(b block) (FrontMatter, []Warning) {
	if !b.found {
		return FrontMatter{}, nil
	}
	front := FrontMatter{Present: true, Raw: strings.TrimSuffix(b.yaml, "\n"), Extra: map[string]string{}}
	if b.fault != "" {
		return unreadable(front, b.faulty, b.fault)
	}
	pairs, line, fault := keys(b.yaml)
	if fault != "" {
		return unreadable(front, b.line+line-1, fault)
	}
	reader := frontReader{front: &front, line: b.line}
	for _, p := range pairs {
		reader.take(p)
	}
	if reader.hidden {
		front.Publish = PublishNo
	}
	return front, reader.warnings
}

func unreadable(front FrontMatter, line int, fault string) (FrontMatter, []Warning) {
	return FrontMatter{Present: true, Unreadable: true, Publish: PublishNo, Extra: map[string]string{}, Raw: front.Raw},
		[]Warning{{Line: line, Message: "the front matter cannot be read, so the note is private: " + fault}}
}

type pair struct {
	key   string // lower case
	typed string
	value *yaml.Node
}

// keys parses a block into its pairs, or says on which of its lines it is at fault and why.
func keys(text string) (pairs []pair, line int, fault string) {
	if n := tabIndent(text); n > 0 {
		return nil, n, "a line is indented by a tab; YAML allows only spaces"
	}
	var doc yaml.Node
	if err := yaml.Unmarshal([]byte(text), &doc); err != nil {
		line, fault = explain(err)
		return nil, line, fault
	}
	if len(doc.Content) == 0 || doc.Content[0].Tag == "!!null" {
		return nil, 0, "" // empty, or comments alone
	}
	root := doc.Content[0]
	if root.Kind != yaml.MappingNode {
		return nil, root.Line, "it is not a list of “key: value” lines"
	}
	seen := map[string]bool{}
	for i := 0; i+1 < len(root.Content); i += 2 {
		k, v := root.Content[i], root.Content[i+1]
		name := strings.ToLower(strings.TrimSpace(norm.NFC.String(k.Value)))
		if k.Kind != yaml.ScalarNode {
			return nil, k.Line, "a key is not plain text"
		}
		if seen[name] {
			return nil, k.Line, fmt.Sprintf("the key %q stands there twice", k.Value)
		}
		seen[name] = true
		if hasNUL(v) || strings.ContainsRune(k.Value, 0) {
			return nil, k.Line, fmt.Sprintf("the value of %q holds a NUL character", k.Value)
		}
		pairs = append(pairs, pair{key: name, typed: norm.NFC.String(k.Value), value: v})
	}
	return pairs, 0, ""
}

func tabIndent(text string) int {
	n := 0
	for l := range strings.Lines(text) {
		n++
		if indent := l[:len(l)-len(strings.TrimLeft(l, " \t"))]; strings.Contains(indent, "\t") && strings.TrimSpace(l) != "" {
			return n
		}
	}
	return 0
}

func hasNUL(n *yaml.Node) bool {
	if strings.ContainsRune(n.Value, 0) {
		return true
	}
	for _, c := range n.Content {
		if hasNUL(c) {
			return true
		}
	}
	return false
}

var errorLine = regexp.MustCompile(`line (\d+)`)

// explain turns the parser's error into words for someone who writes notes.
func explain(err error) (line int, fault string) {
	line = 1
	if m := errorLine.FindStringSubmatch(err.Error()); m != nil {
		line, _ = strconv.Atoi(m[1])
	}
	switch msg := err.Error(); {
	case strings.Contains(msg, "mapping values are not allowed"):
		return line, "a value holds a colon and a space; put it in quotes"
	case strings.Contains(msg, "did not find expected key"), strings.Contains(msg, "could not find expected ':'"):
		return line, "a line is not “key: value”"
	case strings.Contains(msg, "cannot start any token"):
		return line, "a value begins with a sign that needs quotes"
	case strings.Contains(msg, "found unexpected end of stream"):
		return line, "a quote or bracket is not closed"
	case strings.Contains(msg, "unknown anchor"):
		return line, "a value begins with *; put it in quotes"
	}
	return line, "it is not valid YAML"
}

// maxText bounds how much of a nested value is written out.
const maxText = 4 << 10

// plain writes a value as text: a scalar as typed, a list by commas, [[link]] as a link, anything else as YAML.
func plain(n *yaml.Node) string {
	switch n.Kind {
	case yaml.ScalarNode:
		if n.Tag == "!!null" {
			return ""
		}
		return norm.NFC.String(strings.TrimSpace(n.Value))
	case yaml.SequenceNode:
		if link, ok := bareLink(n); ok {
			return link
		}
		parts := make([]string, 0, len(n.Content))
		for _, c := range n.Content {
			parts = append(parts, plain(c))
		}
		return strings.Join(parts, ", ")
	case yaml.AliasNode:
		return "*" + n.Value
	}
	out, err := yaml.Marshal(n)
	if err != nil || len(out) > maxText {
		return ""
	}
	return norm.NFC.String(strings.TrimSpace(string(out)))
}

// bareLink recognises [[Note|words]] typed without quotes, which YAML reads as a list in a list.
func bareLink(n *yaml.Node) (string, bool) {
	if len(n.Content) != 1 || n.Content[0].Kind != yaml.SequenceNode || n.Style&yaml.FlowStyle == 0 {
		return "", false
	}
	inner := n.Content[0]
	parts := make([]string, 0, len(inner.Content))
	for _, c := range inner.Content {
		if c.Kind != yaml.ScalarNode {
			return "", false
		}
		parts = append(parts, norm.NFC.String(c.Value))
	}
	return "[[" + strings.Join(parts, ", ") + "]]", true
}

// items lists the scalars of a value, however deep its lists are nested.
func items(n *yaml.Node) []string {
	switch n.Kind {
	case yaml.ScalarNode:
		if s := plain(n); s != "" {
			return []string{s}
		}
	case yaml.SequenceNode:
		var all []string
		for _, c := range n.Content {
			all = append(all, items(c)...)
		}
		return all
	}
	return nil
}
