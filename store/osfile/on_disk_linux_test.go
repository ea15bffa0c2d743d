package osfile_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ledge/store/disktest"
	"ledge/store/osfile"
)

// TestOnDisk compares a file with the disk, whose bytes are changed behind its back: they differ from those in memory, which any other read
// returns.
func TestOnDisk(t *testing.T) {
	disk := disktest.NewExt4(t)
	for _, size := range []int{1 << 10, 4 << 10, 1 << 20, 2<<20 + 100} {
		path := filepath.Join(disk.Dir, "file")
		mark := strings.Repeat("as written ", 20)
		if err := osfile.Write(path, []byte(mark+strings.Repeat(".", size-len(mark)))); err != nil {
			t.Fatal(err)
		}
		for _, from := range []int64{0, 1, 4 << 10, int64(size) - 1, int64(size)} {
			if err := osfile.OnDisk(path, from); err != nil {
				t.Errorf("%d bytes from %d: %v", size, from, err)
			}
		}
		disk.Alter(mark, "as altered")
		text, err := os.ReadFile(path)
		if err != nil || !strings.HasPrefix(string(text), mark) {
			t.Fatalf("the change is seen past the disk: %v", err)
		}
		if err := osfile.OnDisk(path, 0); err == nil || errors.Is(err, errors.ErrUnsupported) {
			t.Errorf("%d bytes, altered: %v", size, err)
		}
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
	}
}
