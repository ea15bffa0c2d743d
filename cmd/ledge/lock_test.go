package main

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// TestLockOutlivesItsFile holds that a folder stays locked when its pid file is deleted.
func TestLockOutlivesItsFile(t *testing.T) {
	dir := t.TempDir()
	l, err := lockDataDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(dir, lockFile)); err != nil {
		if runtime.GOOS == "windows" {
			return // a file that is open stays
		}
		t.Fatal(err)
	}
	_, err = lockDataDir(dir)
	if e, ok := errors.AsType[exitError](err); !ok || e.code != exitInUse || !strings.Contains(err.Error(), "is in use by process (unknown)") {
		t.Errorf("got %v, want that it is in use", err)
	}
	if _, err := os.Stat(filepath.Join(dir, lockFile)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("who is refused has left a file: %v", err)
	}
	l.release()
	for range 2 {
		if l, err = lockDataDir(dir); err != nil {
			t.Fatal(err)
		}
		l.release()
	}
}

// TestRebuildNeedsAFolder holds that only serve makes a data folder.
func TestRebuildNeedsAFolder(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "none")
	_, stderr, code := ledge(t, "rebuild", "--data-dir", dir)
	if want := "no data folder " + dir; code != exitFolder || !strings.Contains(stderr, want) || strings.Count(stderr, "\n") != 1 {
		t.Errorf("exit code %d, %q; want %d and one line with %q", code, stderr, exitFolder, want)
	}
	if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("it was made: %v", err)
	}
}
