package datadir

import (
	"os"

	"golang.org/x/sys/unix"
)

// allocate takes disk space for a file. Where the file system cannot, as ZFS, there is no spare space: what is written there
// may be taken again by what is written over it.
func allocate(f *os.File, bytes int64) error { return unix.Fallocate(int(f.Fd()), 0, 0, bytes) }
