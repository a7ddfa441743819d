package main

import (
	"fmt"
	"go/ast"
	"regexp"
	"strings"
)

// retryLibraries are loops around a failing call, ready made.
var retryLibraries = []string{
	"github.com/cenkalti/backoff", "github.com/avast/retry-go", "github.com/hashicorp/go-retryablehttp", "github.com/sethvargo/go-retry",
}

var retryName = regexp.MustCompile(`(?i)retr(y|ies)|attempt|tries`)

// checkRetry keeps the decision to try again in one place, the job's policy: a second loop further in multiplies the
// attempts and hides them from the panel. Outside infra/jobs there is no loop that sleeps, and none that counts
// attempts. (The relay in infra/events paces itself with timers and claims rows anew; it repeats no call.)
func checkRetry(c *checkout) (int, []finding, error) {
	files, err := c.goFiles("internal", "cmd")
	if err != nil {
		return 0, nil, err
	}
	var found []finding
	for _, f := range files {
		if f.test || f.generated || within(f.path, []string{"internal/infra/jobs"}) {
			continue
		}
		for _, spec := range f.syntax.Imports {
			for _, library := range retryLibraries {
				if strings.HasPrefix(strings.Trim(spec.Path.Value, `"`), library) {
					found = append(found, finding{f.at(spec.Pos()), fmt.Sprintf("imports %s: retries belong to the job's policy", library)})
				}
			}
		}
		ast.Inspect(f.syntax, func(n ast.Node) bool {
			if why := retryLoop(f, n); why != "" {
				found = append(found, finding{f.at(n.Pos()), why + ": return the error and let the job's policy decide"})
			}
			return true
		})
	}
	return len(files), found, nil
}

// retryLoop says why a loop looks like one that tries again, or "".
func retryLoop(f goFile, n ast.Node) string {
	var body *ast.BlockStmt
	var header []ast.Node
	switch loop := n.(type) {
	case *ast.ForStmt:
		body = loop.Body
		if loop.Init != nil {
			header = append(header, loop.Init)
		}
		if loop.Cond != nil {
			header = append(header, loop.Cond)
		}
		if loop.Post != nil {
			header = append(header, loop.Post)
		}
	case *ast.RangeStmt:
		// `for range attempts` counts; `for _, a := range attempts` reads a list.
		body = loop.Body
		if loop.Value == nil && loop.Key != nil {
			header = append(header, loop.Key)
		}
	default:
		return ""
	}
	why := ""
	for _, part := range header {
		ast.Inspect(part, func(n ast.Node) bool {
			if name, ok := n.(*ast.Ident); ok && retryName.MatchString(name.Name) {
				why = "a loop counts " + name.Name
			}
			_, call := n.(*ast.CallExpr)
			return !call // len(attempts) walks a list
		})
	}
	ast.Inspect(body, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if ok && f.selects(call.Fun, "time", "Sleep") {
			why = "a loop sleeps"
		}
		return true
	})
	return why
}
