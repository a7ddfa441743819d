package markdown

import (
	"bytes"
	"regexp"
)

var aliasedLink = regexp.MustCompile(`\[\[[^\[\]\n|]{1,500}\|[^\[\]\n]{0,500}\]\]`)

// withTableLinks escapes the bar of [[target|alias]] on lines that have another bar, as Obsidian asks authors to do in tables. One that is
// forgotten would cut the cell in two, and show the target of a link whose author wrote an alias.
func withTableLinks(s source) source {
	if !aliasedLink.Match(s.text) {
		return s
	}
	code := scan(s.text)
	var edits []edit
	for start := 0; start < len(s.text); {
		end := len(s.text)
		if i := bytes.IndexByte(s.text[start:], '\n'); i >= 0 {
			end = start + i + 1
		}
		line := s.text[start:end]
		links := aliasedLink.FindAllIndex(line, -1)
		if bytes.Count(line, []byte("|")) > len(links) {
			for _, l := range links {
				bar := start + l[0] + bytes.IndexByte(line[l[0]:], '|')
				for len(code) > 0 && code[0].end <= bar {
					code = code[1:]
				}
				if s.text[bar-1] != '\\' && (len(code) == 0 || code[0].start > bar) {
					edits = append(edits, edit{start: bar, end: bar, with: []byte(`\`)})
				}
			}
		}
		start = end
	}
	return s.splice(edits)
}
