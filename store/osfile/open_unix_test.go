//go:build unix

package osfile_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"ledge/store/osfile"
)

// OpenFile opens files, and refuses everything else at once: a FIFO without a peer would wait for ever.
func TestOpenFileRefuses(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	if err := os.WriteFile(at("file"), []byte("text"), 0o600); err != nil {
		t.Fatal(err)
	}
	if text, err := osfile.Read(at("file"), 4); err != nil || string(text) != "text" {
		t.Errorf("got %q, %v", text, err)
	}
	if _, err := osfile.Read(at("file"), 3); err == nil {
		t.Error("a file that is too long is read")
	}
	if err := errors.Join(unix.Mkfifo(at("fifo"), 0o600), os.Symlink("file", at("link")), os.Mkdir(at("folder"), 0o700)); err != nil {
		t.Fatal(err)
	}
	for name, kind := range map[string]string{"fifo": "FIFO", "link": "symbolic link", "folder": "folder"} {
		for _, flag := range []int{os.O_RDONLY, os.O_RDWR, os.O_WRONLY | os.O_CREATE} {
			f, err := osfile.Open(at(name), flag, 0o600)
			if !errors.Is(err, osfile.ErrNotRegular) || !strings.Contains(err.Error(), "it is a "+kind) {
				t.Errorf("%s with flags %#x: got %v", name, flag, err)
			}
			if err == nil {
				f.Close()
			}
		}
	}
}
