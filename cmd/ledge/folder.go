package main

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"ledge/cmd/internal/certs"
	"ledge/store/osfile"
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
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return osfile.SyncDir(parent)
}

// onlyFiles refuses anything but a file where Ledge, the NATS server or bbolt open one: an open of a FIFO would wait for ever, and a
// link could lead anywhere. The folders nats and payloads may be links, to other disks. Payload files are looked at when they are opened.
func onlyFiles(dir string) error {
	names := append(slices.Clone(stateFiles), "secrets.json", loginsFile, lockFile, spareFile, certs.CAFile, certs.CAKeyFile)
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
