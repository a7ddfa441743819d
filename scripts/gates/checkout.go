package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// checkout is the tree under test. Paths are slash-separated and relative to its root.
type checkout struct {
	root string
}

// files returns the paths of all files with one of the given extensions, leaving out what no person wrote here:
// hidden folders, installed packages, and folders of outputs (they hold no sources under version control).
func (c *checkout) files(extensions ...string) ([]string, error) {
	var paths []string
	err := filepath.WalkDir(c.root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return fmt.Errorf("walk %s: %w", path, err)
		}
		if d.IsDir() {
			if path != c.root && (strings.HasPrefix(d.Name(), ".") || d.Name() == "node_modules" || d.Name() == "artifacts") {
				return filepath.SkipDir
			}
			return nil
		}
		for _, extension := range extensions {
			if strings.HasSuffix(path, extension) {
				paths = append(paths, filepath.ToSlash(path))
				break
			}
		}
		return nil
	})
	return paths, err
}

func (c *checkout) read(path string) (string, error) {
	b, err := os.ReadFile(filepath.Join(c.root, filepath.FromSlash(path)))
	if err != nil {
		return "", fmt.Errorf("read %s: %w", path, err)
	}
	return string(b), nil
}

// goFile is one parsed Go source file.
type goFile struct {
	path      string
	set       *token.FileSet
	syntax    *ast.File
	generated bool
	test      bool // see isTestFile
}

// at names a place in the file for a finding.
func (f goFile) at(pos token.Pos) string {
	return fmt.Sprintf("%s:%d", f.path, f.set.Position(pos).Line)
}

// name returns the import path's local name for a package in this file, or "" where it is not imported.
func (f goFile) name(importPath string) string {
	for _, spec := range f.syntax.Imports {
		if strings.Trim(spec.Path.Value, `"`) != importPath {
			continue
		}
		if spec.Name != nil {
			return spec.Name.Name
		}
		return importPath[strings.LastIndex(importPath, "/")+1:]
	}
	return ""
}

// selects reports whether the expression selects one of the names from the package with the given import path.
func (f goFile) selects(e ast.Expr, importPath string, names ...string) bool {
	selector, ok := e.(*ast.SelectorExpr)
	if !ok {
		return false
	}
	pkg, ok := selector.X.(*ast.Ident)
	if !ok || pkg.Name == "" || pkg.Name != f.name(importPath) {
		return false
	}
	for _, name := range names {
		if selector.Sel.Name == name {
			return true
		}
	}
	return false
}

// goFiles parses every Go file below the given folders.
func (c *checkout) goFiles(below ...string) ([]goFile, error) {
	paths, err := c.files(".go")
	if err != nil {
		return nil, err
	}
	var files []goFile
	for _, path := range paths {
		if !within(path, below) {
			continue
		}
		set := token.NewFileSet()
		syntax, err := parser.ParseFile(set, filepath.Join(c.root, path), nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return nil, fmt.Errorf("parse %s: %w", path, err)
		}
		files = append(files, goFile{
			path:      path,
			set:       set,
			syntax:    syntax,
			generated: ast.IsGenerated(syntax),
			test:      isTestFile(path),
		})
	}
	return files, nil
}

// isTestFile knows test code by its file's name, or by its package's: jobstest, pgtest.
func isTestFile(path string) bool {
	folder := path[:strings.LastIndex(path, "/")+1]
	return strings.HasSuffix(path, "_test.go") || strings.Contains(folder, "test/")
}

// within reports whether the path lies below one of the folders; no folder means everywhere.
func within(path string, folders []string) bool {
	for _, folder := range folders {
		if path == folder || strings.HasPrefix(path, folder+"/") {
			return true
		}
	}
	return len(folders) == 0
}
