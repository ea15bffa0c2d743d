//go:build unix

package osfile

import (
	"os"

	"golang.org/x/sys/unix"
)

// FreeBytes returns how many bytes an ordinary user may still write to the file system of dir.
func FreeBytes(dir string) (uint64, error) {
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		return 0, &os.PathError{Op: "statfs", Path: dir, Err: err}
	}
	return uint64(max(int64(st.Bavail), 0)) * uint64(st.Bsize), nil // FreeBSD counts the blocks that only root may use as negative
}

// TotalBytes returns how many bytes ordinary users may have on the file system of dir in all.
func TotalBytes(dir string) (uint64, error) {
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		return 0, &os.PathError{Op: "statfs", Path: dir, Err: err}
	}
	used := st.Blocks - st.Bfree // the rest of the blocks that are not free for all is kept for root
	return (used + uint64(max(int64(st.Bavail), 0))) * uint64(st.Bsize), nil
}
