package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// whiteBox are the files of tests that call code of the program: of this package, or of packages below cmd/internal. The tests in all other
// files know the binary alone: its commands, ports and files. They hold what users were promised, and stay as they are when that code changes.
var whiteBox = strings.Fields(`
	backup_test.go beside_test.go bounds_test.go cleanup_test.go delivery_day_test.go diskfull_test.go exposure_test.go
	failure_test.go faults_archive_linux_test.go faults_flip_test.go folding_test.go identities_test.go interrupted_test.go
	log_filter_test.go manifest_missing_test.go program_test.go retention_run_test.go retention_test.go secret_key_test.go
	secure_test.go starting_test.go suggest_test.go transmissions_test.go user_test.go verify_bodies_test.go why_test.go`)

// knownToTests are the packages below cmd/internal that each test may use: exit codes, the table of services, names in the data folder, and
// the kits of tests.
var knownToTests = []string{"certs", "datadir", "exit", "faults", "services"}

// TestWhiteBox holds the list to what the files use.
func TestWhiteBox(t *testing.T) {
	t.Parallel()
	paths, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	tests, program := map[string][]*ast.Ident{}, map[string]bool{} // what each file of tests uses, and what the program has
	for _, path := range paths {
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(path, "_test.go") {
			tests[path] = file.Unresolved // what the file itself does not declare
			for _, one := range file.Imports {
				name, below := strings.CutPrefix(strings.Trim(one.Path.Value, `"`), module+"cmd/internal/")
				if below && !slices.Contains(knownToTests, name) {
					tests[path], program[name] = append(tests[path], ast.NewIdent(name)), true
				}
			}
			continue
		}
		for name := range file.Scope.Objects {
			program[name] = true
		}
	}
	for path, used := range tests {
		i := slices.IndexFunc(used, func(name *ast.Ident) bool { return program[name.Name] })
		switch listed := slices.Contains(whiteBox, path); {
		case i >= 0 && !listed:
			t.Errorf("%s uses %s of the program; test the binary, or add the file to whiteBox", path, used[i].Name)
		case i < 0 && listed:
			t.Errorf("%s uses nothing of the program; take it out of whiteBox", path)
		}
	}
	for _, path := range whiteBox {
		if tests[path] == nil {
			t.Errorf("whiteBox names %s, which does not exist", path)
		}
	}
}
