//go:build unix

package store

import (
	"os"

	"golang.org/x/sys/unix"
)

// keepsOpen is whether files may stay open that the server renames or removes.
const keepsOpen = true

// FreeBytes returns what an ordinary user may still write on the file system of dir.
func FreeBytes(dir string) (uint64, error) {
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		return 0, &os.PathError{Op: "statfs", Path: dir, Err: err}
	}
	return st.Bavail * uint64(st.Bsize), nil
}

// SyncDir makes the names in a folder durable.
func SyncDir(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer f.Close()
	return f.Sync()
}
