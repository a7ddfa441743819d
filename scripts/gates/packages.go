package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
)

const module = "github.com/gatehouse-hq/gatehouse"

// goPackage is what `go list` knows of a package, as far as the gates ask.
type goPackage struct {
	ImportPath   string
	Standard     bool
	Imports      []string
	TestImports  []string
	XTestImports []string
	Deps         []string
}

// dir is the package's folder from the root of the checkout; "" for the root and for packages of other modules.
func (p goPackage) dir() string { return inModule(p.ImportPath) }

func inModule(importPath string) string {
	return strings.TrimPrefix(strings.TrimPrefix(importPath, module), "/")
}

// list asks the go command about the packages that match the patterns.
func (c *checkout) list(args ...string) ([]goPackage, error) {
	cmd := exec.Command("go", append([]string{"list", "-json=ImportPath,Standard,Imports,TestImports,XTestImports,Deps"}, args...)...)
	cmd.Dir = c.root
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w\n%s", err, stderr.String())
	}
	var packages []goPackage
	for decoder := json.NewDecoder(bytes.NewReader(out)); ; {
		var p goPackage
		if err := decoder.Decode(&p); errors.Is(err, io.EOF) {
			return packages, nil
		} else if err != nil {
			return nil, fmt.Errorf("read go list: %w", err)
		}
		packages = append(packages, p)
	}
}

// imports returns what a package and its tests import.
func (p goPackage) imports() []string {
	return append(append(append([]string{}, p.Imports...), p.TestImports...), p.XTestImports...)
}
