package natsblock

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

// What is synced is always the file that has the name, however long another one was open.
func TestKeptIsTheFileOfTheName(t *testing.T) {
	path := filepath.Join(t.TempDir(), "1.blk")
	write := func(path, text string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	k := &openFile{}
	t.Cleanup(k.close)
	check := func(what string, want int64) {
		t.Helper()
		size, err := k.sync(path)
		if err != nil || size != want {
			t.Fatalf("%s: %d bytes, %v, want %d", what, size, err, want)
		}
		if !keepsOpen {
			return
		}
		open, err := k.file.Stat()
		named, nerr := os.Stat(path)
		if err != nil || nerr != nil || !os.SameFile(open, named) {
			t.Errorf("%s: another file was synced: %v, %v", what, err, nerr)
		}
	}
	write(path, "one")
	check("new", 3)
	first := k.file
	write(path, "one, two") // in place
	check("grown", 8)
	if k.file != first {
		t.Error("it was opened again")
	}
	write(path+".tmp", "another")
	if err := os.Rename(path+".tmp", path); err != nil {
		t.Fatal(err)
	}
	check("replaced", 7)
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if _, err := k.sync(path); !errors.Is(err, fs.ErrNotExist) || k.file != nil {
		t.Errorf("removed: %v, open %v", err, k.file)
	}
	write(path, "")
	check("made anew", 0)
}
