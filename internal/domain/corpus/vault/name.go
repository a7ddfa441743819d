package vault

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// skipped tells whether a path is no content of a vault, and if so, the record that stands for it: the file itself or the outermost folder
// that is left out.
func skipped(p string) (record, reason string, ok bool) {
	at := 0
	for segment := range strings.SplitSeq(p, "/") {
		at += len(segment)
		if reason = skipReason(segment); reason != "" {
			if at < len(p) {
				at++
			}
			return p[:at], reason, true
		}
		at++
	}
	return "", "", false
}

func skipReason(segment string) string {
	switch lower := strings.ToLower(segment); {
	case lower == ".obsidian":
		return "Obsidian's own settings"
	case lower == ".trash":
		return "the vault's trash"
	case lower == ".git":
		return "version control"
	case lower == "__macosx":
		return "macOS's own data"
	case lower == "thumbs.db" || lower == "desktop.ini":
		return "Windows' own data"
	case strings.HasPrefix(lower, "~$"):
		return "a temporary file of an office program"
	case strings.HasPrefix(lower, "."):
		return "hidden"
	}
	return ""
}

// badName says why a name cannot be taken, or "".
func badName(p string, depth int) string {
	switch {
	case !utf8.ValidString(p):
		return "its name is not UTF-8; rename it, or pack the archive again with UTF-8 names"
	case strings.ContainsFunc(p, unicode.IsControl):
		return "its name holds a control character"
	case strings.Count(p, "/") > depth:
		return "it lies too deep in folders"
	case len(p) > 4096:
		return "its name is too long"
	}
	return ""
}

// printable makes a bad name fit to be shown in a report.
func printable(p string) string {
	p = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return utf8.RuneError
		}
		return r
	}, strings.ToValidUTF8(p, string(utf8.RuneError)))
	if runes := []rune(p); len(runes) > 300 {
		p = string(runes[:299]) + "…"
	}
	return p
}
