//go:build !unix

package osfile

import (
	"io/fs"
	"os"
)

func openNoFollow(path string, flag int, perm fs.FileMode) (*os.File, error) {
	if info, err := os.Lstat(path); err == nil && !info.Mode().IsRegular() {
		return nil, notRegular(path, info.Mode())
	}
	return os.OpenFile(path, flag, perm)
}
