package store

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"ledge/store/natsblock"
	"ledge/store/osfile"
)

// writeIn is osfile.Write. A folder that is missing is made.
func writeIn(path string, text []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	return osfile.Write(path, text)
}

// replace is writeIn, and on a full disk it writes over the file, which needs no room where the file is no longer than
// before. A crash can then leave a mixture: this is for files that have a checksum and that each start can make again.
func replace(path string, text []byte) error {
	err := writeIn(path, text)
	if !osfile.IsFull(err) {
		return err
	}
	f, oerr := osfile.Open(path, os.O_WRONLY, 0)
	if oerr != nil {
		return err
	}
	defer f.Close()
	if _, err := f.WriteAt(text, 0); err != nil {
		return err
	}
	if err := f.Truncate(int64(len(text))); err != nil {
		return err
	}
	return f.Sync()
}

// syncTree syncs every file and folder below dir, and the folders above it up to root's own parent.
func syncTree(root, dir string) error {
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil // a temporary file that is gone again
		case err != nil:
			return err
		case d.IsDir():
			return osfile.SyncDir(path)
		}
		if _, err := natsblock.SyncFile(path); !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return nil
	})
	if err != nil {
		return err
	}
	return syncUp(root, dir)
}

// syncUp syncs a folder and those above it up to root's own parent.
func syncUp(root, dir string) error {
	if err := osfile.SyncDir(dir); err != nil {
		return err
	}
	for dir != filepath.Dir(root) && dir != filepath.Dir(dir) {
		dir = filepath.Dir(dir)
		if err := osfile.SyncDir(dir); err != nil {
			return err
		}
	}
	return nil
}
