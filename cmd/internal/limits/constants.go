package main

import (
	"fmt"
	"go/ast"
	"go/build"
	"go/constant"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"path"
	"path/filepath"
	"strings"
)

// module is the prefix of this repository's packages.
const module = "ledge/"

// constants looks up the values of package-level constants in this repository, and defaults of options: the second value of a call such as
// cmp.Or(o.AtOnce, 16). What other modules declare is not looked at: no constant needs it.
type constants struct {
	root     string // of the repository
	files    *token.FileSet
	packages map[string]*types.Package
	defaults map[string]ast.Expr // by package.field
	standard types.Importer
}

func newConstants(root string) *constants {
	files := token.NewFileSet()
	return &constants{
		root: root, files: files, packages: map[string]*types.Package{}, defaults: map[string]ast.Expr{},
		standard: importer.ForCompiler(files, "source", nil),
	}
}

// value returns the constant or default of a name such as bridge/lanes.AtOnce, and whether it is a time.Duration.
func (c *constants) value(name string) (value constant.Value, isDuration bool, err error) {
	i := strings.LastIndex(name, ".")
	if i < 0 {
		return nil, false, fmt.Errorf("%s: is not a name of a constant; write package.name", name)
	}
	pkg, err := c.Import(module + name[:i])
	if err != nil {
		return nil, false, err
	}
	if found, ok := pkg.Scope().Lookup(name[i+1:]).(*types.Const); ok && found.Val().Kind() != constant.Unknown {
		return found.Val(), found.Type().String() == "time.Duration", nil
	}
	if e := c.defaults[name]; e != nil {
		v, err := types.Eval(c.files, pkg, e.Pos(), types.ExprString(e))
		if err == nil && v.Value != nil {
			return v.Value, v.Type.String() == "time.Duration", nil
		}
	}
	return nil, false, fmt.Errorf("%s: there is no such constant, and no such default", name)
}

// noteDefaults notes the defaults that a file gives to options of its package: cmp.Or(o.AtOnce, 16), setDefault(&o.AtOnce, 16) and
// if o.AtOnce == 0 { o.AtOnce = 16 }.
func (c *constants) noteDefaults(pkg string, file *ast.File) {
	note := func(field, value ast.Expr) {
		if address, ok := field.(*ast.UnaryExpr); ok {
			field = address.X
		}
		if field, ok := field.(*ast.SelectorExpr); ok {
			c.defaults[strings.TrimPrefix(pkg, module)+"."+field.Sel.Name] = value
		}
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CallExpr:
			if f := types.ExprString(n.Fun); len(n.Args) == 2 && (f == "cmp.Or" || f == "setDefault") {
				note(n.Args[0], n.Args[1])
			}
		case *ast.IfStmt:
			if len(n.Body.List) != 1 {
				return true
			}
			if set, ok := n.Body.List[0].(*ast.AssignStmt); ok && strings.HasPrefix(types.ExprString(n.Cond), types.ExprString(set.Lhs[0])+" ") {
				note(set.Lhs[0], set.Rhs[0])
			}
		}
		return true
	})
}

// Import implements types.Importer.
func (c *constants) Import(name string) (*types.Package, error) {
	if p := c.packages[name]; p != nil {
		return p, nil
	}
	p, err := c.load(name)
	if err != nil {
		return nil, err
	}
	c.packages[name] = p
	return p, nil
}

func (c *constants) load(name string) (*types.Package, error) {
	switch {
	case name == "time" || name == "math":
		return c.standard.Import(name)
	case !strings.HasPrefix(name, module):
		p := types.NewPackage(name, path.Base(name))
		p.MarkComplete()
		return p, nil
	}
	dir := filepath.Join(c.root, filepath.FromSlash(strings.TrimPrefix(name, module)))
	source, err := build.ImportDir(dir, 0)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	var syntax []*ast.File
	for _, file := range source.GoFiles {
		f, err := parser.ParseFile(c.files, filepath.Join(dir, file), nil, parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		syntax = append(syntax, f)
		c.noteDefaults(name, f)
	}
	check := types.Config{Importer: c, IgnoreFuncBodies: true, FakeImportC: true, Error: func(error) {}} // what other modules declare is missing
	p, _ := check.Check(name, c.files, syntax, nil)
	return p, nil
}
