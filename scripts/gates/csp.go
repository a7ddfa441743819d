package main

import (
	"fmt"
	"go/ast"
	"go/token"
	"regexp"
	"strings"
)

// inline is markup that a Content-Security-Policy without 'unsafe-inline' and 'unsafe-eval' blocks.
var inline = []struct {
	what    string
	pattern *regexp.Regexp
}{
	{"an inline script", regexp.MustCompile(`(?i)<script(\s[^>]*)?>`)},
	{"an inline style element", regexp.MustCompile(`(?i)<style[\s>]`)},
	{"a style attribute", regexp.MustCompile(`(?i)[\s"'` + "`" + `]style\s*\??=\s*["'{\\]`)},
	{"an inline event handler", regexp.MustCompile(`(?i)<[a-z][^<>]*\son[a-z]+\s*\??=\s*["'{\\]|^\s*on[a-z]+\s*\??=\s*["'{]`)},
	{"hx-on", regexp.MustCompile(`(?i)\bhx-on[:-]?`)},
	{"a javascript: or js: value", regexp.MustCompile(`(?i)["'` + "`" + `\s](javascript|js):`)},
	{"an htmx filter", regexp.MustCompile(`(?i)hx-trigger\s*=\s*["'][^"']*\[`)},
}

// inlineTempl is what templ itself would render inline.
var inlineTempl = regexp.MustCompile(`^\s*(script|css)\s+\w+\(|templ\.(JSFuncCall|JSUnsafeFuncCall|ComponentScript|ToGoHTML)\b`)

// scriptWithSource is a script element that loads a file, or holds data that no browser runs.
var scriptWithSource = regexp.MustCompile(`(?i)<script\s[^>]*(src\s*=|type\s*=\s*["']application/(ld\+)?json)`)

// checkCSP finds what the policy would block before a browser does: in views, in HTML written by Go, and in scripts.
func checkCSP(c *checkout) (int, []finding, error) {
	views, err := c.files(".templ", ".html")
	if err != nil {
		return 0, nil, err
	}
	var found []finding
	for _, path := range views {
		text, err := c.read(path)
		if err != nil {
			return 0, nil, err
		}
		for number, line := range strings.Split(text, "\n") {
			where := fmt.Sprintf("%s:%d", path, number+1)
			found = append(found, inlineIn(where, line)...)
			if inlineTempl.MatchString(line) {
				found = append(found, finding{where, "renders a script or style inline: the policy blocks it"})
			}
		}
	}
	written, err := inlineInGo(c)
	if err != nil {
		return 0, nil, err
	}
	scripts, err := evalInScripts(c)
	return len(views), append(append(found, written...), scripts...), err
}

func inlineIn(where, text string) []finding {
	var found []finding
	for _, rule := range inline {
		if rule.what == "an inline script" {
			text = scriptWithSource.ReplaceAllString(text, "")
		}
		if rule.pattern.MatchString(text) {
			found = append(found, finding{where, rule.what + ": the policy blocks it"})
		}
	}
	return found
}

// inlineInGo looks at the string literals of the packages that write HTML.
func inlineInGo(c *checkout) ([]finding, error) {
	files, err := c.goFiles("internal/web", "internal/domain")
	if err != nil {
		return nil, err
	}
	var found []finding
	for _, f := range files {
		if f.test || f.generated {
			continue
		}
		ast.Inspect(f.syntax, func(n ast.Node) bool {
			literal, ok := n.(*ast.BasicLit)
			if !ok || literal.Kind != token.STRING {
				return true
			}
			if weakens(literal.Value) {
				found = append(found, finding{f.at(literal.Pos()), "weakens the policy"})
			}
			if strings.Contains(literal.Value, "<") {
				found = append(found, inlineIn(f.at(literal.Pos()), strings.ReplaceAll(literal.Value, `\"`, `"`))...)
			}
			return true
		})
	}
	return found, nil
}

// weakens finds a policy that lets inline code or style run. A sandboxed document, which has no origin and runs
// nothing, may keep its own styles: an attachment, not a page.
func weakens(policy string) bool {
	if strings.Contains(policy, "unsafe-eval") {
		return true
	}
	sandboxed := regexp.MustCompile(`\bsandbox(;|$|["`+"`"+`])`).MatchString(policy) && strings.Contains(policy, "default-src 'none'")
	return strings.Contains(policy, "unsafe-inline") && !sandboxed
}

var evalCall = regexp.MustCompile(`\beval\(|new Function\(|setAttribute\(["'](style|on\w+)["']|setTimeout\(["']`)

// evalInScripts reads the scripts written here; a vendored one comes minified, on a single line, and is told at run
// time not to evaluate anything.
func evalInScripts(c *checkout) ([]finding, error) {
	paths, err := c.files(".js")
	if err != nil {
		return nil, err
	}
	var found []finding
	for _, path := range paths {
		text, err := c.read(path)
		if err != nil {
			return nil, err
		}
		lines := strings.Split(text, "\n")
		if len(lines) < 4 {
			continue
		}
		for number, line := range lines {
			if evalCall.MatchString(line) {
				found = append(found, finding{fmt.Sprintf("%s:%d", path, number+1), "evaluates text or sets an inline style or handler: the policy blocks it"})
			}
		}
	}
	return found, nil
}
