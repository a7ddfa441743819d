package main

import (
	"encoding/json"
	"fmt"
	"go/ast"
	"go/token"
	"path"
	"strconv"
	"strings"
)

// eventType is one events.Type declared by a domain.
type eventType struct {
	name     string // what receivers see, corpus.note.changed
	constant string // the constant that holds the name, "" when it is written out
	where    string
	folder   string
	file     goFile
	example  bool
}

// checkEvents holds every declared event type to four promises: it is built in one place (a constructor in its domain's
// events.go, or a trigger in schema.sql), it has an example for the panel, a golden JSON in testdata/events for
// receivers to rely on, and a test that reaches it.
func checkEvents(c *checkout) (int, []finding, error) {
	files, err := c.goFiles("internal", "cmd")
	if err != nil {
		return 0, nil, err
	}
	schema, err := c.read("schema.sql")
	if err != nil {
		return 0, nil, err
	}
	types := declaredTypes(files)
	var found []finding
	for _, t := range types {
		miss := func(rule string) { found = append(found, finding{t.where, fmt.Sprintf("event %s %s", t.name, rule)}) }
		if !strings.HasPrefix(t.file.path, "internal/domain/") || path.Base(t.file.path) != "events.go" {
			miss("is declared elsewhere than in its domain's events.go")
		}
		if !t.example {
			miss("has no example")
		}
		if !t.constructed() && !strings.Contains(schema, "'"+t.name+"'") {
			miss("has neither a constructor in events.go nor a trigger in schema.sql")
		}
		golden := path.Join(t.folder, "testdata", "events", t.name+".json")
		if text, err := c.read(golden); err != nil || !json.Valid([]byte(text)) {
			miss(fmt.Sprintf("has no golden JSON %s", golden))
		}
		if !t.reachedBy(files) {
			miss("is reached by no test")
		}
	}
	return len(types), found, nil
}

func declaredTypes(files []goFile) []eventType {
	constants := map[string]string{} // folder and name → value
	for _, f := range files {
		for name, value := range stringConstants(f.syntax) {
			constants[path.Dir(f.path)+" "+name] = value
		}
	}
	var types []eventType
	for _, f := range files {
		if f.test || f.name(module+"/internal/infra/events") == "" {
			continue
		}
		ast.Inspect(f.syntax, func(n ast.Node) bool {
			literal, ok := n.(*ast.CompositeLit)
			if !ok {
				return true
			}
			if list, ok := literal.Type.(*ast.ArrayType); ok && f.selects(list.Elt, module+"/internal/infra/events", "Type") {
				for _, element := range literal.Elts {
					if inner, ok := element.(*ast.CompositeLit); ok && inner.Type == nil {
						types = append(types, declaredType(f, inner, constants))
					}
				}
			}
			if f.selects(literal.Type, module+"/internal/infra/events", "Type") {
				types = append(types, declaredType(f, literal, constants))
			}
			return true
		})
	}
	return types
}

func declaredType(f goFile, literal *ast.CompositeLit, constants map[string]string) eventType {
	t := eventType{where: f.at(literal.Pos()), folder: path.Dir(f.path), file: f}
	for _, element := range literal.Elts {
		field, ok := element.(*ast.KeyValueExpr)
		if !ok {
			continue
		}
		switch key, _ := field.Key.(*ast.Ident); {
		case key == nil:
		case key.Name == "Example":
			t.example = true
		case key.Name == "Name":
			switch value := field.Value.(type) {
			case *ast.BasicLit:
				t.name, _ = strconv.Unquote(value.Value)
			case *ast.Ident:
				t.constant, t.name = value.Name, constants[t.folder+" "+value.Name]
			}
		}
	}
	return t
}

func stringConstants(file *ast.File) map[string]string {
	constants := map[string]string{}
	for _, declaration := range file.Decls {
		group, ok := declaration.(*ast.GenDecl)
		if !ok || group.Tok != token.CONST {
			continue
		}
		for _, spec := range group.Specs {
			values := spec.(*ast.ValueSpec)
			for i, name := range values.Names {
				if i < len(values.Values) {
					if literal, ok := values.Values[i].(*ast.BasicLit); ok && literal.Kind == token.STRING {
						constants[name.Name], _ = strconv.Unquote(literal.Value)
					}
				}
			}
		}
	}
	return constants
}

// constructed reports whether a function of the declaring file, other than one that lists the types, uses the type.
func (t eventType) constructed() bool {
	for _, declaration := range t.file.syntax.Decls {
		function, ok := declaration.(*ast.FuncDecl)
		if !ok || function.Body == nil {
			continue
		}
		lists := false
		ast.Inspect(function.Body, func(n ast.Node) bool {
			literal, ok := n.(*ast.CompositeLit)
			lists = lists || ok && t.file.selects(elementOf(literal.Type), module+"/internal/infra/events", "Type")
			return true
		})
		if !lists && t.usedIn(function.Body) {
			return true
		}
	}
	return false
}

func elementOf(e ast.Expr) ast.Expr {
	if list, ok := e.(*ast.ArrayType); ok {
		return list.Elt
	}
	return e
}

func (t eventType) usedIn(n ast.Node) bool {
	used := false
	ast.Inspect(n, func(n ast.Node) bool {
		switch e := n.(type) {
		case *ast.Ident:
			used = used || t.constant != "" && e.Name == t.constant
		case *ast.BasicLit:
			used = used || strings.Trim(e.Value, "`\"") == t.name
		}
		return true
	})
	return used
}

// reachedBy looks for the type in the code of tests; comments do not count.
func (t eventType) reachedBy(files []goFile) bool {
	for _, f := range files {
		if f.test && t.usedIn(f.syntax) {
			return true
		}
	}
	return false
}
