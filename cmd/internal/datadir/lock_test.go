package datadir

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"ledge/cmd/internal/exit"
)

// TestLockOutlivesItsFile holds that a folder stays locked when its pid file is deleted.
func TestLockOutlivesItsFile(t *testing.T) {
	dir := t.TempDir()
	l, err := Lock(dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(dir, LockFile)); err != nil {
		if runtime.GOOS == "windows" {
			return // a file that is open stays
		}
		t.Fatal(err)
	}
	_, err = Lock(dir)
	if e, ok := errors.AsType[exit.Error](err); !ok || e.Code != exit.InUse || !strings.Contains(err.Error(), "is in use by process (unknown)") {
		t.Errorf("got %v, want that it is in use", err)
	}
	if _, err := os.Stat(filepath.Join(dir, LockFile)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the refused process has left a file: %v", err)
	}
	l.Release()
	for range 2 {
		if l, err = Lock(dir); err != nil {
			t.Fatal(err)
		}
		l.Release()
	}
}
