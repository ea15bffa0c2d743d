package datadir

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"ledge/cmd/internal/certs"
	"ledge/cmd/internal/exit"
	"ledge/store/osfile"
)

// IsTrouble reports whether the file system says no for reasons that are not the log's: rights, space, an unreachable
// disk, something else in the place of a file.
func IsTrouble(err error) bool {
	return errors.Is(err, os.ErrPermission) || errors.Is(err, osfile.ErrNotRegular) || osfile.IsFull(err) || errors.Is(err, syscall.EROFS)
}

// Make makes a folder and those above it that are missing. Their names are on disk when it returns: else a power
// cut could take the folder with all that was synced in it.
func Make(dir string) error {
	_, err := makeAll(dir)
	return err
}

// makeAll is Make that returns the folders that it has made, the last one first.
func makeAll(dir string) (made []string, err error) {
	if info, err := os.Stat(dir); err == nil && info.IsDir() {
		return nil, nil
	}
	parent := filepath.Dir(dir)
	if parent != dir {
		if made, err = makeAll(parent); err != nil {
			return made, err
		}
	}
	err = os.Mkdir(dir, 0o700)
	switch {
	case err == nil:
		made = append([]string{dir}, made...)
	case !errors.Is(err, fs.ErrExist):
		return made, err
	}
	return made, osfile.SyncDir(parent)
}

// CheckFiles refuses anything but a file where Ledge, the NATS server or bbolt open one: an open of a FIFO would wait for ever, and a
// link could lead anywhere. The folders nats and payloads may be links, to other disks. Payload files are looked at when they are opened.
func CheckFiles(dir string) error {
	names := append(slices.Clone(StateFiles), SecretsFile, LoginsFile, LockFile, SpareFile, certs.CAFile, certs.CAKeyFile)
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if slices.ContainsFunc(names, func(name string) bool { return strings.HasPrefix(e.Name(), name) }) {
			if err := onlyFile(filepath.Join(dir, e.Name()), e); err != nil {
				return err
			}
		}
	}
	logs, err := filepath.EvalSymlinks(filepath.Join(dir, "nats"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return filepath.WalkDir(logs, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		return onlyFile(path, e)
	})
}

func onlyFile(path string, e fs.DirEntry) error {
	return osfile.NotRegular(path, e.Type())
}

// MustExist refuses a folder that has neither a log nor a state. It is for commands that make no data folder.
func MustExist(dir string) error {
	for _, name := range append([]string{"nats"}, StateFiles...) {
		if _, err := os.Stat(filepath.Join(dir, name)); !errors.Is(err, fs.ErrNotExist) {
			return nil
		}
	}
	return exit.With(exit.Folder, fmt.Errorf("no data folder %s; check --data-dir", dir))
}

// lostAndFound is a folder in the root of an ext4.
const lostAndFound = "lost+found"

// MustBeNew refuses a folder that has something in it, but for a lock file that a killed command has left and the lost+found of a new file
// system.
func MustBeNew(dir string) error {
	list, err := os.ReadDir(dir)
	list = slices.DeleteFunc(list, func(e fs.DirEntry) bool { return e.Name() == LockFile || e.Name() == lostAndFound })
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return exit.With(exit.Folder, err)
	case slices.ContainsFunc(list, func(e fs.DirEntry) bool { return e.Name() == RestoringFile }):
		return newUnfinishedError(dir)
	case len(list) > 0:
		return exit.With(exit.Folder, fmt.Errorf("%s is not empty: %s is in it; choose a new folder", dir, list[0].Name()))
	}
	return nil
}
