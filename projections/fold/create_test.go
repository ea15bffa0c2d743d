package fold

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"ledge/store/osfile"
)

// TestCreateLeavesAllOrNothing holds that a file has its name only when it is a projection, and that what a crash in its
// making has left is not an obstacle.
func TestCreateLeavesAllOrNothing(t *testing.T) {
	o := Options{Path: filepath.Join(t.TempDir(), "state.db"), Tables: tables}
	fresh := o.Path + osfile.Unfinished
	if err := os.Mkdir(fresh, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(fresh, "in the way"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if d, err := Open(o); err == nil {
		t.Error("a file is made under its own name", d.Close())
	}
	if _, err := os.Stat(o.Path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%s: %v", o.Path, err)
	}
	if err := os.RemoveAll(fresh); err != nil {
		t.Fatal(err)
	}
	must(t, os.WriteFile(fresh, []byte("cut off"), 0o600))
	d, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Close(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(fresh); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%s: %v", fresh, err)
	}
}
