package main

import (
	"go/ast"
	"strings"
)

// checkGoroutines keeps concurrency where it is owned and stopped: infra and cmd. Domain and web hand work to jobs,
// so that a killed process loses nothing.
func checkGoroutines(c *checkout) (int, []finding, error) {
	files, err := c.goFiles("internal")
	if err != nil {
		return 0, nil, err
	}
	var found []finding
	for _, f := range files {
		if f.test || f.generated || within(f.path, []string{"internal/infra"}) {
			continue
		}
		for _, spec := range f.syntax.Imports {
			if strings.Trim(spec.Path.Value, `"`) == "golang.org/x/sync/errgroup" {
				found = append(found, finding{f.at(spec.Pos()), "starts goroutines outside infra and cmd: enqueue a job"})
			}
		}
		ast.Inspect(f.syntax, func(n ast.Node) bool {
			if startsGoroutine(f, n) {
				found = append(found, finding{f.at(n.Pos()), "starts a goroutine outside infra and cmd: enqueue a job"})
			}
			return true
		})
	}
	return len(files), found, nil
}

func startsGoroutine(f goFile, n ast.Node) bool {
	switch s := n.(type) {
	case *ast.GoStmt:
		return true
	case *ast.CallExpr:
		if f.selects(s.Fun, "time", "AfterFunc") {
			return true
		}
		selector, ok := s.Fun.(*ast.SelectorExpr)
		return ok && selector.Sel.Name == "Go" && len(s.Args) == 1
	}
	return false
}

// checkTickers keeps recurring work visible: a periodic of infra/jobs has a name, a history and a run-now button, a
// ticker in a corner has none. The relay's poll in infra/events is the one other clock.
func checkTickers(c *checkout) (int, []finding, error) {
	files, err := c.goFiles("internal", "cmd")
	if err != nil {
		return 0, nil, err
	}
	var found []finding
	for _, f := range files {
		if f.test || f.generated || within(f.path, []string{"internal/infra/jobs", "internal/infra/events"}) {
			continue
		}
		ast.Inspect(f.syntax, func(n ast.Node) bool {
			if e, ok := n.(ast.Expr); ok && f.selects(e, "time", "NewTicker", "Tick") {
				found = append(found, finding{f.at(e.Pos()), "a ticker outside infra/jobs and infra/events: declare a periodic"})
			}
			return true
		})
	}
	return len(files), found, nil
}
