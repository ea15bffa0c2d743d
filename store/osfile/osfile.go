// Package osfile writes and opens files so that a power cut, a full disk and a hostile folder do no harm. Everything in Ledge that
// replaces a whole file does it with [Write] or [Publish].
//
// It imports nothing of ours, so that every package may import it.
package osfile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// Unfinished ends the name of a file that is being written.
const Unfinished = ".new"

// Write replaces a file, which only its owner can read. After a crash it is the old file or the new one. When Write has returned without an
// error, a power cut does not take the new one away. Whatever an earlier crash has left is removed first.
func Write(path string, text []byte) error {
	fresh := path + Unfinished
	if err := Remove(fresh); err != nil {
		return err
	}
	f, err := os.OpenFile(fresh, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	return Publish(f, path, err)
}

// Publish closes a file that was written, and gives it its name durably. After an error, also one of the writing before, it removes
// the file.
func Publish(f *os.File, path string, err error) error {
	if err == nil {
		err = f.Sync()
	}
	err = errors.Join(err, f.Close())
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return SyncDir(filepath.Dir(path))
}

// Remove removes a file if it is there.
func Remove(path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// IsFull reports whether err says that the disk, or what the user may take of it, is full.
func IsFull(err error) bool { return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) }
