package main

import (
	"go/ast"
	"go/token"
	"regexp"
)

var beginSQL = regexp.MustCompile("(?i)^[\"`]\\s*(begin|start transaction|savepoint|commit|rollback)\\b\\s*(transaction|isolation|;|[\"`]|to |read |work)")

// checkTransactions keeps one beginning for all transactions, pg.InTx: there the panic rolls back, the after-commit
// hook wakes the relay, and nothing is held across a network call by accident.
func checkTransactions(c *checkout) (int, []finding, error) {
	files, err := c.goFiles("internal", "cmd")
	if err != nil {
		return 0, nil, err
	}
	var found []finding
	for _, f := range files {
		if f.test || f.generated || within(f.path, []string{"internal/infra/pg"}) {
			continue
		}
		ast.Inspect(f.syntax, func(n ast.Node) bool {
			switch e := n.(type) {
			case *ast.CallExpr:
				if selector, ok := e.Fun.(*ast.SelectorExpr); ok && beginsTransaction(selector.Sel.Name) {
					found = append(found, finding{f.at(e.Pos()), selector.Sel.Name + ": a transaction begins only in pg.InTx, a savepoint in pg.Nested"})
				}
				if f.selects(e.Fun, "database/sql", "Open", "OpenDB") {
					found = append(found, finding{f.at(e.Pos()), "opens a database of its own: take the pool of infra/pg"})
				}
			case *ast.BasicLit:
				if e.Kind == token.STRING && beginSQL.MatchString(e.Value) {
					found = append(found, finding{f.at(e.Pos()), "controls a transaction in SQL: use pg.InTx"})
				}
			}
			return true
		})
	}
	return len(files), found, nil
}

func beginsTransaction(method string) bool {
	switch method {
	case "Begin", "BeginTx", "BeginFunc", "BeginTxFunc":
		return true
	}
	return false
}
