package store

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
)

// writeDurably replaces a file: after a power cut it is the old one or the new one, and when writeDurably has returned it is
// the new one. Folders that are missing are made.
func writeDurably(path string, text []byte) error {
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	fresh := path + ".new"
	if err := os.WriteFile(fresh, text, 0o600); err != nil {
		return errors.Join(err, removeIfThere(fresh))
	}
	if _, err := syncFile(fresh); err != nil {
		return errors.Join(err, removeIfThere(fresh))
	}
	if err := os.Rename(fresh, path); err != nil {
		return err
	}
	return SyncDir(dir)
}

// replace is writeDurably, and on a full disk it writes over the file, which needs no room where the file is no longer than
// before. A crash can then leave a mixture: this is for files that have a checksum and that each start can make again.
func replace(path string, text []byte) error {
	err := writeDurably(path, text)
	if !isFull(err) {
		return err
	}
	f, oerr := OpenFile(path, os.O_WRONLY, 0)
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

func removeIfThere(path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}

// isFull reports whether the disk, or a quota, has no room.
func isFull(err error) bool { return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) }
