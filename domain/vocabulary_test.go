package domain

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// receivers returns the types of this package that have the method.
func receivers(tb testing.TB, method string) []string {
	tb.Helper()
	files, err := filepath.Glob("*.go")
	if err != nil {
		tb.Fatal(err)
	}
	var names []string
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err != nil {
			tb.Fatal(err)
		}
		for _, d := range f.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Recv != nil && fn.Name.Name == method {
				names = append(names, fn.Recv.List[0].Type.(*ast.Ident).Name)
			}
		}
	}
	return names
}

func TestEveryEventHasWireName(t *testing.T) {
	have := []string{"Undecodable"} // which is never written
	for typ := range byType {
		have = append(have, typ.Name())
	}
	wantAll(t, "kinds in types.go", have, receivers(t, "Evolve"))
}

func TestEveryCommandIsTried(t *testing.T) {
	var have []string
	for _, cmd := range commands() {
		have = append(have, reflect.TypeOf(cmd).Name())
	}
	wantAll(t, "commands in fold_test.go", have, receivers(t, "Decide"))
}

func wantAll(t *testing.T, where string, have, want []string) {
	t.Helper()
	if len(want) == 0 {
		t.Fatalf("%s: found no types to look for", where)
	}
	for _, name := range want {
		if !slices.Contains(have, name) {
			t.Errorf("%s lacks %s", where, name)
		}
	}
}
