package main

import (
	"fmt"
	"slices"
	"strings"
)

// room is one row of the import table: packages below `of` may import, of this module, only what `may` admits, and
// their tests only what `tests` admits besides; nil leaves tests free.
type room struct {
	of    string
	rule  string
	may   func(from, to string) bool
	tests func(to string) bool
}

// portsOfDomain are the doors through which a domain reaches the outside world. Each is exactly that package:
// infra/jobs is a port, infra/jobs/river is not.
var portsOfDomain = []string{
	"internal/infra/pg", "internal/infra/events", "internal/infra/jobs", "internal/infra/op",
	"internal/infra/seal", "internal/infra/search", "internal/infra/egress",
}

// rooms is the import table of the architecture, most special row first: the first row that fits a package settles it.
func rooms() []room {
	return []room{
		{"internal/infra", "infra imports infra only, never domain, never web", func(_, to string) bool {
			return within(to, []string{"internal/infra"}) || to == ""
		}, func(to string) bool { return within(to, []string{"mock-stack"}) }},
		{"internal/domain", "a domain imports its own packages and the ports of infra; its subscriber also sideeffect, events/webhook and lease", domainMay, nil},
		{"internal/web/ui", "web/ui knows nothing of domain or infra", func(_, to string) bool {
			return within(to, []string{"internal/web/ui", "internal/web/assets"})
		}, nil},
		{"internal/web", "web imports domain, infra/op and infra/pg; faces never import each other", webMay, nil},
		{"mock-stack", "mock-stack stands alone: it plays the outside world", func(_, to string) bool {
			return within(to, []string{"mock-stack"})
		}, nil},
	}
}

func domainMay(from, to string) bool {
	if to == "internal/domain" || slices.Contains(portsOfDomain, to) {
		return true
	}
	own := domainOf(from)
	if own != "" && within(to, []string{own}) {
		return true
	}
	return isSubscriber(from) && within(to, []string{"internal/infra/sideeffect", "internal/infra/events/webhook", "internal/infra/lease"})
}

// domainOf returns internal/domain/<d> for a package of that domain.
func domainOf(dir string) string {
	parts := strings.Split(dir, "/")
	if len(parts) < 3 || parts[0] != "internal" || parts[1] != "domain" {
		return ""
	}
	return strings.Join(parts[:3], "/")
}

func isSubscriber(dir string) bool {
	own := domainOf(dir)
	return own != "" && within(dir, []string{own + "/subscriber"})
}

func webMay(from, to string) bool {
	if to == "internal/infra/op" || to == "internal/infra/pg" {
		return true
	}
	if within(to, []string{"internal/domain"}) {
		return !isSubscriber(to)
	}
	if !within(to, []string{"internal/web"}) {
		return false
	}
	mine, theirs := faceOf(from), faceOf(to)
	// web.go mounts the faces, so the root of web belongs to none.
	return mine == "" && from == "internal/web" || theirs == "" || mine == theirs
}

// faceOf returns the face a package of web belongs to, or "" for what faces share.
func faceOf(dir string) string {
	for _, face := range []string{"admin", "public", "api", "mcp"} {
		if within(dir, []string{"internal/web/" + face}) {
			return face
		}
	}
	return ""
}

func checkDeps(c *checkout) (int, []finding, error) {
	packages, err := c.list("./...")
	if err != nil {
		return 0, nil, err
	}
	var found []finding
	for _, p := range packages {
		for _, r := range rooms() {
			if !within(p.dir(), []string{r.of}) {
				continue
			}
			found = append(found, r.broken(p)...)
			break
		}
	}
	reachable, err := testOnlyInServer(c)
	return len(packages), append(found, reachable...), err
}

func (r room) broken(p goPackage) []finding {
	var found []finding
	check := func(paths []string, may func(to string) bool) {
		for _, path := range paths {
			if strings.HasPrefix(path, module) && path != p.ImportPath && !may(inModule(path)) {
				found = append(found, finding{p.dir(), fmt.Sprintf("imports %s: %s", inModule(path), r.rule)})
			}
		}
	}
	check(p.Imports, func(to string) bool { return r.may(p.dir(), to) || isTestOnly(p.ImportPath) && r.tests == nil })
	if r.tests != nil {
		check(append(p.TestImports, p.XTestImports...), func(to string) bool { return r.may(p.dir(), to) || r.tests(to) })
	}
	return found
}

// testOnlyInServer finds packages made for tests among everything the server is linked from.
func testOnlyInServer(c *checkout) ([]finding, error) {
	all, err := c.list("-deps", "./cmd/server")
	if err != nil {
		return nil, err
	}
	var found []finding
	for _, p := range all {
		// The standard library's own internals are named as it pleases (sync links internal/synctest).
		if !isTestOnly(p.ImportPath) || p.Standard && within(p.ImportPath, []string{"internal"}) {
			continue
		}
		for _, importer := range all {
			if slices.Contains(importer.Imports, p.ImportPath) && !isTestOnly(importer.ImportPath) {
				found = append(found, finding{"cmd/server", fmt.Sprintf("reaches the test-only package %s through %s", p.ImportPath, importer.ImportPath)})
			}
		}
	}
	return found, nil
}

func isTestOnly(importPath string) bool {
	for _, element := range strings.Split(importPath, "/") {
		if element == "testing" || element == "testify" || element == "goleak" || strings.HasSuffix(element, "test") {
			return true
		}
	}
	return false
}
