package main

import (
	"fmt"
	"go/ast"
	"slices"
	"strings"
)

const (
	medianLines   = 150 // of all files
	fileCap       = 800
	functionCap   = 100
	longFunction  = 60
	longFunctions = 5 // per cent of all functions may be longer than longFunction
)

// checkSize keeps files and functions short enough to be read in one sitting. Generated files are written for the
// compiler, not for a reader.
func checkSize(c *checkout) (int, []finding, error) {
	paths, err := c.files(".go", ".templ", ".ts", ".js", ".css", ".sql", ".sh")
	if err != nil {
		return 0, nil, err
	}
	parsed, err := c.goFiles()
	if err != nil {
		return 0, nil, err
	}
	generated := map[string]bool{}
	for _, f := range parsed {
		generated[f.path] = f.generated
	}
	var found []finding
	var lengths []int
	for _, path := range paths {
		if generated[path] {
			continue
		}
		text, err := c.read(path)
		if err != nil {
			return 0, nil, err
		}
		lines := strings.Count(text, "\n")
		lengths = append(lengths, lines)
		if lines > fileCap {
			found = append(found, finding{path, fmt.Sprintf("%d lines, cap %d: is there a second noun in it?", lines, fileCap)})
		}
	}
	slices.Sort(lengths)
	if len(lengths) > 0 && lengths[len(lengths)/2] > medianLines {
		found = append(found, finding{"all files", fmt.Sprintf("median of %d lines, at most %d", lengths[len(lengths)/2], medianLines)})
	}
	return len(lengths), append(found, longFunctionsOf(parsed)...), nil
}

func longFunctionsOf(files []goFile) []finding {
	var found, long []finding
	total := 0
	for _, f := range files {
		if f.generated {
			continue
		}
		for _, declaration := range f.syntax.Decls {
			function, ok := declaration.(*ast.FuncDecl)
			if !ok || function.Body == nil {
				continue
			}
			total++
			lines := f.set.Position(function.End()).Line - f.set.Position(function.Pos()).Line + 1
			place := finding{f.at(function.Pos()), fmt.Sprintf("%s has %d lines", function.Name.Name, lines)}
			if lines > functionCap {
				found = append(found, finding{place.where, fmt.Sprintf("%s, cap %d", place.rule, functionCap)})
			}
			if lines > longFunction {
				long = append(long, place)
			}
		}
	}
	if len(long)*100 > total*longFunctions {
		for _, place := range long {
			found = append(found, finding{place.where, fmt.Sprintf("%s; %d of %d functions are over %d lines, at most %d %% may be",
				place.rule, len(long), total, longFunction, longFunctions)})
		}
	}
	return found
}
