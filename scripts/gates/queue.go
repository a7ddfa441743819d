package main

import (
	"fmt"
	"go/ast"
	"go/token"
	"regexp"
	"strings"
)

const (
	queueLibrary = "github.com/riverqueue/"
	queueAdapter = "internal/infra/jobs/river"
)

// checkQueueBehindPort keeps the queue replaceable: one package knows the library and its tables; everyone else
// speaks to the ports in infra/jobs, and only the wiring picks the adapter.
func checkQueueBehindPort(c *checkout) (int, []finding, error) {
	packages, err := c.list("./...")
	if err != nil {
		return 0, nil, err
	}
	var found []finding
	for _, p := range packages {
		if within(p.dir(), []string{queueAdapter}) {
			continue
		}
		for _, path := range p.imports() {
			if strings.HasPrefix(path, queueLibrary) {
				found = append(found, finding{p.dir(), fmt.Sprintf("imports %s: only %s may", path, queueAdapter)})
			}
		}
		for _, path := range p.Imports {
			// Test databases hold the queue's schema, which the adapter makes.
			if within(inModule(path), []string{queueAdapter}) && within(p.dir(), []string{"internal"}) && !isTestFile(p.dir()+"/") {
				found = append(found, finding{p.dir(), fmt.Sprintf("imports the adapter %s: only cmd/server wires it, others use the ports of infra/jobs", inModule(path))})
			}
		}
	}
	tables, err := queueTables(c)
	return len(packages), append(found, tables...), err
}

// queueSQL is SQL on the library's own tables.
var queueSQL = regexp.MustCompile(`(?is)\b(from|join|into|update|table|delete)\s+[\w."]*\briver_`)

// queueTables finds SQL on the library's own tables outside the adapter.
func queueTables(c *checkout) ([]finding, error) {
	files, err := c.goFiles("internal", "cmd")
	if err != nil {
		return nil, err
	}
	var found []finding
	for _, f := range files {
		if f.test || within(f.path, []string{queueAdapter}) {
			continue
		}
		ast.Inspect(f.syntax, func(n ast.Node) bool {
			literal, ok := n.(*ast.BasicLit)
			if ok && literal.Kind == token.STRING && queueSQL.MatchString(literal.Value) {
				found = append(found, finding{f.at(literal.Pos()), "reads or writes a table of the queue library: ask through the ports of infra/jobs"})
			}
			return true
		})
	}
	return found, nil
}
