package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const written = `package p

// f does where it is no use for what follows.
func f() {}

func doIt() {} // is not a habit
`

func TestEachHabitIsCounted(t *testing.T) {
	root := t.TempDir()
	if err := os.MkdirAll(filepath.Join(root, "cmd", "internal", "words"), 0o750); err != nil {
		t.Fatal(err)
	}
	figures := filepath.Join(root, "cmd", "internal", "words", "words.txt")
	for path, text := range map[string]string{
		figures:                          "",
		filepath.Join(root, "f.go"):      written + "// " + strings.Repeat("x", columns) + "\n",
		filepath.Join(root, "README.md"): "This is no page.\n",
		filepath.Join(root, "f.css"):     ".a { " + strings.Repeat("x", columns) + " }\n",
	} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	err := run(root, false, "")
	for habit, n := range map[string]string{
		"is-no": "2", "where-for-if": "1", "clause-as-noun": "1", "one-word-function": "1", "long-line": "2",
	} {
		if err == nil || !strings.Contains(err.Error(), habit+": "+n+", and 0 are allowed") {
			t.Errorf("got %v, want %s %s times", err, habit, n)
		}
	}
}

func TestFiguresOnlyFall(t *testing.T) {
	root := t.TempDir()
	folder := filepath.Join(root, "cmd", "internal", "words")
	if err := os.MkdirAll(folder, 0o750); err != nil {
		t.Fatal(err)
	}
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(folder, "words.txt"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("is-no 3\n")
	if err := os.WriteFile(filepath.Join(root, "README.md"), []byte("is no, is no\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := run(root, false, ""); err == nil || !strings.Contains(err.Error(), "2 are left of 3") {
		t.Errorf("got %v, want that the figure is too high", err)
	}
	if err := run(root, true, ""); err != nil {
		t.Error(err)
	}
	if err := run(root, false, ""); err != nil {
		t.Error(err)
	}
	write("is-no 1\n")
	if err := run(root, true, ""); err == nil {
		t.Error("a figure was raised")
	}
}
