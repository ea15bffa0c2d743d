package docs

import (
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"

	"ledge/cmd/ledgetest"
)

// mostMethods bounds the methods of a type, mostFiles the Go files of a folder, tests apart. A reader keeps no more in mind.
const (
	mostMethods = 25
	mostFiles   = 25
)

// largeTypes are the types with more methods, largeFolders the folders with more files. A figure here may only become smaller.
var (
	largeTypes = map[string]int{
		"bridge.Engine": 32, "bridge/lanes.Lanes": 29, "bridge/zeromq.Publisher": 26,
		"domain.Problems": 26,
		"handlers.API":    31, "handlers/metadata.service": 41, "handlers/notifications.service": 30,
		"projections/fold.DB": 55, "projections/fold.Table[S]": 38,
	}
	largeFolders = map[string]int{
		"bridge/zeromq": 30,
		"cmd/bench":     35,
		"domain":        79, "domain tests": 52, // a table of contents, sorted by entity
		"store": 40, "store tests": 34,
	}
)

// TestTypesStaySmall holds how many methods a type has. Split the type, not the file.
func TestTypesStaySmall(t *testing.T) {
	methods := map[string]int{}
	eachGoFile(t, func(folder, path string) {
		if strings.HasSuffix(path, "_test.go") {
			return
		}
		f, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range f.Decls {
			if m, ok := d.(*ast.FuncDecl); ok && m.Recv != nil {
				methods[folder+"."+strings.TrimPrefix(types.ExprString(m.Recv.List[0].Type), "*")]++
			}
		}
	})
	if len(methods) < 100 {
		t.Fatalf("only %d types were found", len(methods))
	}
	mustNotGrow(t, "methods", methods, mostMethods, largeTypes)
}

// TestFoldersStaySmall holds how many Go files a folder has.
func TestFoldersStaySmall(t *testing.T) {
	files := map[string]int{}
	eachGoFile(t, func(folder, path string) {
		if folder == "domain" && strings.HasPrefix(filepath.Base(path), "channel_") { // a file for each kind
			folder = "domain channels"
		}
		if strings.HasSuffix(path, "_test.go") {
			folder += " tests"
		}
		files[folder]++
	})
	if len(files) < 50 {
		t.Fatalf("only %d folders were found", len(files))
	}
	mustNotGrow(t, "files", files, mostFiles, largeFolders)
}

// mustNotGrow holds that each count is at most most, or the count that large allows.
func mustNotGrow(t *testing.T, of string, found map[string]int, most int, large map[string]int) {
	t.Helper()
	for name, n := range found {
		switch allowed := max(most, large[name]); {
		case n > allowed:
			t.Errorf("%s has %d %s, want %d at most", name, n, of, allowed)
		case large[name] > 0 && n < allowed:
			t.Errorf("%s has %d %s: lower the figure of the exception, or take it out", name, n, of)
		}
	}
	for name := range large {
		if found[name] == 0 {
			t.Errorf("%s is an exception and does not exist", name)
		}
	}
}

// eachGoFile calls f for each Go file, with its path and its folder below the repository.
func eachGoFile(t *testing.T, f func(folder, path string)) {
	t.Helper()
	root := ledgetest.Repo()
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && d.Name() == "testdata" {
			return fs.SkipDir
		}
		if folder, err := filepath.Rel(root, filepath.Dir(path)); err != nil || filepath.Ext(path) != ".go" {
			return err
		} else {
			f(filepath.ToSlash(folder), path)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
