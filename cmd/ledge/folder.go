package main

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// makeFolder makes a folder and those above it that are missing. Their names are on disk when it returns: else a power
// cut could take the folder with all that was synced in it.
func makeFolder(dir string) error {
	if info, err := os.Stat(dir); err == nil && info.IsDir() {
		return nil
	}
	parent := filepath.Dir(dir)
	if parent != dir {
		if err := makeFolder(parent); err != nil {
			return err
		}
	}
	if err := os.Mkdir(dir, 0o750); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return syncFolder(parent)
}
