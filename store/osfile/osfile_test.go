package osfile_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"ledge/store/osfile"
)

func wantFile(t *testing.T, path, want string) {
	t.Helper()
	if got, err := os.ReadFile(path); err != nil || string(got) != want {
		t.Errorf("%s: got %q, %v, want %q", path, got, err, want)
	}
	info, err := os.Stat(path)
	if err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Errorf("%s: %v, %v", path, info, err)
	}
	if left, _ := filepath.Glob(filepath.Join(filepath.Dir(path), "*"+osfile.Unfinished)); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

// TestWrite makes a file, replaces it, and does so over what a crash has left.
func TestWrite(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	for _, text := range []string{"first", "a longer second", "3"} {
		if err := os.WriteFile(path+osfile.Unfinished, []byte(strings.Repeat("left of a crash", 9)), 0o644); err != nil {
			t.Fatal(err)
		}
		if err := osfile.Write(path, []byte(text)); err != nil {
			t.Fatal(err)
		}
		wantFile(t, path, text)
	}
}

// TestWriteFails holds that a file that cannot be replaced stays as it is, and that nothing is left beside it.
func TestWriteFails(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "file")
	if err := os.MkdirAll(filepath.Join(path, "in the way"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := osfile.Write(path, []byte("text")); err == nil {
		t.Error("a folder was replaced")
	}
	if left, _ := os.ReadDir(dir); len(left) != 1 {
		t.Errorf("left: %v", left)
	}
	if err := osfile.Write(filepath.Join(dir, "missing", "file"), nil); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("without a folder: %v", err)
	}
}

// TestWriteFollowsNoLink holds that a link in place of either name is replaced, and that what it names is not written to.
func TestWriteFollowsNoLink(t *testing.T) {
	dir := t.TempDir()
	other, path := filepath.Join(dir, "other"), filepath.Join(dir, "file")
	if err := os.WriteFile(other, []byte("another's"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{path, path + osfile.Unfinished} {
		if err := os.Symlink(other, name); err != nil {
			t.Skipf("no symbolic links here, on Windows without the right to make them: %v", err)
		}
	}
	if err := osfile.Write(path, []byte("ours")); err != nil {
		t.Fatal(err)
	}
	wantFile(t, path, "ours")
	wantFile(t, other, "another's")
}

// TestPublishAfterAnError holds that a file whose writing failed gets no name.
func TestPublishAfterAnError(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	f, err := os.Create(path + osfile.Unfinished)
	if err != nil {
		t.Fatal(err)
	}
	failed := errors.New("writing failed")
	if err := osfile.Publish(f, path, failed); !errors.Is(err, failed) {
		t.Errorf("err = %v", err)
	}
	if left, _ := os.ReadDir(filepath.Dir(path)); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

func TestIsFull(t *testing.T) {
	for err, want := range map[error]bool{
		&os.PathError{Op: "write", Path: "x", Err: syscall.ENOSPC}: true, fmt.Errorf("backup: %w", syscall.EDQUOT): true, syscall.EIO: false, nil: false,
	} {
		if got := osfile.IsFull(err); got != want {
			t.Errorf("%v: %t", err, got)
		}
	}
}
