package markdown

import (
	"net/url"
	"path"
	"regexp"
	"strconv"
	"strings"
	"unicode"
)

var schemePattern = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9+.-]*:`)

// webAddress gives the address of an external link, or "" for what may not be linked: only http, https and mailto are.
func webAddress(dest string) string {
	dest = strings.TrimSpace(dest)
	if strings.ContainsFunc(dest, unicode.IsControl) {
		return ""
	}
	u, err := url.Parse(strings.ReplaceAll(dest, " ", "%20"))
	if err != nil {
		return ""
	}
	switch strings.ToLower(u.Scheme) {
	case "http", "https":
		if u.Hostname() == "" || u.User != nil {
			return ""
		}
	case "mailto":
		if u.Opaque == "" {
			return ""
		}
	default:
		return ""
	}
	return u.String()
}

// isInternal tells links within the vault or the site from addresses elsewhere; //host is elsewhere.
func isInternal(dest string) bool {
	return !schemePattern.MatchString(dest) && !strings.HasPrefix(dest, "//") && !strings.HasPrefix(dest, `/\`) && !strings.HasPrefix(dest, `\`)
}

// splitInternal reads the destination of a Markdown link within the vault: percent-encoded, perhaps with .md and a fragment.
func splitInternal(dest string) (target, fragment string) {
	target, fragment, _ = strings.Cut(strings.TrimSpace(dest), "#")
	target, fragment = unescaped(target), unescaped(fragment)
	if ext := path.Ext(target); strings.EqualFold(ext, ".md") {
		target = strings.TrimSuffix(target, ext)
	}
	return target, fragment
}

func unescaped(s string) string {
	if u, err := url.PathUnescape(s); err == nil {
		return strings.ToValidUTF8(strings.ReplaceAll(u, "\x00", ""), "")
	}
	return s
}

// withFragment adds the id a fragment names to an address.
func withFragment(href, fragment string) string {
	id := fragmentID(fragment)
	if id == "" {
		return href
	}
	return href + "#" + url.PathEscape(id)
}

// host names an address for a reader.
func host(address string) string {
	u, err := url.Parse(address)
	if err != nil || u.Hostname() == "" {
		return address
	}
	return u.Hostname()
}

// baseName is the last segment of a target, which is how its author calls it.
func baseName(target string) string {
	return strings.TrimSpace(target[strings.LastIndexByte(target, '/')+1:])
}

var sizePattern = regexp.MustCompile(`^(\d{1,4})(?:[xX](\d{1,4}))?$`)

// imageSize reads 300 or 640x480, in CSS pixels. The size may be the whole alias or stand behind its last bar.
func imageSize(alias string) (words string, width, height int) {
	words, size := "", alias
	if i := strings.LastIndexByte(alias, '|'); i >= 0 {
		words, size = strings.TrimSuffix(alias[:i], `\`), alias[i+1:]
	}
	m := sizePattern.FindStringSubmatch(strings.TrimSpace(size))
	if m == nil {
		return alias, 0, 0
	}
	width, _ = strconv.Atoi(m[1])
	height, _ = strconv.Atoi(m[2])
	return strings.TrimSpace(words), width, height
}

// linkWords are the words of a wikilink that resolved: its alias, or its target as Obsidian shows it, without folders and block ids.
func linkWords(n *wikiLink) string {
	if n.alias != "" {
		return n.alias
	}
	parts := []string{}
	if n.target != "" {
		parts = append(parts, baseName(n.target))
	}
	for heading := range strings.SplitSeq(n.fragment, "#") {
		if heading = strings.TrimSpace(heading); heading != "" && heading[0] != '^' {
			parts = append(parts, heading)
		}
	}
	if len(parts) == 0 {
		return n.fragment
	}
	return strings.Join(parts, " › ")
}
