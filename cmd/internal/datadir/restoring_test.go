package datadir

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"ledge/cmd/internal/exit"
)

// TestCreate takes charge of the root of a new file system, with the lock file of a killed command. A folder with a file is refused.
func TestCreate(t *testing.T) {
	dir := t.TempDir()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	names := func() (all []string) {
		list, err := os.ReadDir(dir)
		must(err)
		for _, e := range list {
			all = append(all, e.Name())
		}
		return all
	}
	must(os.Mkdir(filepath.Join(dir, lostAndFound), 0o700))
	must(os.WriteFile(filepath.Join(dir, LockFile), []byte("1\n"), 0o600))
	created, err := Create(dir)
	must(err)
	if _, err := Create(dir); err == nil {
		t.Error("two restores are in charge of a folder")
	}
	must(os.WriteFile(filepath.Join(dir, "part"), nil, 0o600))
	must(created.Abandon())
	if got := names(); !slices.Equal(got, []string{lostAndFound}) {
		t.Errorf("after Abandon there are %v", got)
	}
	created, err = Create(dir)
	must(err)
	must(os.WriteFile(filepath.Join(dir, "data"), nil, 0o600))
	must(created.Finish())
	_, err = Create(dir)
	if e, ok := errors.AsType[exit.Error](err); !ok || e.Code != exit.Folder {
		t.Errorf("a folder with a file is new: %v", err)
	}
}
