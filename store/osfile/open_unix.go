//go:build unix

package osfile

import (
	"io/fs"
	"os"

	"golang.org/x/sys/unix"
)

func openNoFollow(path string, flag int, perm fs.FileMode) (*os.File, error) {
	return os.OpenFile(path, flag|unix.O_NOFOLLOW|unix.O_NONBLOCK, perm)
}
