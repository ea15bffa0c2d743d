package store

import (
	"os"
	"path/filepath"

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
