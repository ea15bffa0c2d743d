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

// whiteBox are the files of tests that call unexported code of this package. The tests in all other files know the binary alone: its
// commands, ports and files. These hold what users were promised, so that they stay as they are when the code behind them changes.
var whiteBox = strings.Fields(`
	attack_connections_linux_test.go attack_linux_test.go backup_test.go delivery_day_test.go delivery_doc_test.go
	descriptors_split_test.go exposure_test.go failure_test.go faults_flip_test.go folding_test.go identities_test.go
	interrupted_test.go log_filter_test.go log_test.go manifest_missing_test.go metrics_memory_test.go metrics_test.go
	program_test.go retention_test.go secret_key_test.go secure_test.go sockets_test.go starting_test.go suggest_test.go
	transmissions_test.go user_test.go verify_bodies_test.go verify_running_test.go why_test.go`)

// TestWhiteBox holds the list to what the files use.
func TestWhiteBox(t *testing.T) {
	t.Parallel()
	paths, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	tests, program := map[string][]*ast.Ident{}, map[string]bool{}
	for _, path := range paths {
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(path, "_test.go") {
			tests[path] = file.Unresolved // what the file itself does not declare
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
