package projections

import (
	"bytes"
	"os"
	"strconv"
	"sync"
	"sync/atomic"

	"go.etcd.io/bbolt"
	"golang.org/x/sys/unix"
)

// mapped bounds how many pages of the file's mapping are resident: one counts as memory of the process once it was read.
// The page cache has it all the same, from where it is mapped again, with those around it, in a few microseconds. How many
// are resident the system tells at once only of all mappings of the process together; so each projection lets go of its
// own pages when those of all have grown.
type mapped struct {
	reads atomic.Uint32
	mu    sync.Mutex
	least int64 // bytes of files that were resident at a look since the pages were let go of
}

// readsPerLook is how many reads of a few rows there are to a look, which takes two microseconds.
const readsPerLook = 16

// trimSome is trim for one of many small reads.
func (m *mapped) trimSome(tx *bbolt.Tx, most int64) {
	if m.reads.Add(1)%readsPerLook == 0 {
		m.trim(tx, most)
	}
}

// trim lets go of the pages of the mapping if those of the process have grown by most bytes. The transaction, of either
// kind, holds the mapping where it is; what was read in it stays good.
func (m *mapped) trim(tx *bbolt.Tx, most int64) {
	if tx.DB() == nil || !m.mu.TryLock() { // it has ended, or another looks
		return
	}
	defer m.mu.Unlock()
	if files := residentFiles(); m.least == 0 || files < m.least {
		m.least = files
	} else if files-m.least >= most {
		m.drop(tx)
	}
}

// drop lets go of all pages of the mapping.
func (m *mapped) drop(tx *bbolt.Tx) {
	// The length is within the mapping, which is longer than the file; the system rounds it up to its pages.
	_, _, _ = unix.Syscall(unix.SYS_MADVISE, tx.DB().Info().Data, uintptr(tx.Size()), unix.MADV_DONTNEED) // refused: they stay
	m.least = residentFiles()
}

// statm is open as long as the process lives: each read from its beginning is of that moment.
var statm = sync.OnceValue(func() *os.File {
	f, _ := os.Open("/proc/self/statm")
	return f // nil: each read is an error
})

// residentFiles returns how many bytes of files are mapped and resident in this process; 0 where that is not known.
func residentFiles() int64 {
	var line [128]byte
	n, _ := statm().ReadAt(line[:], 0)
	fields := bytes.Fields(line[:n])
	if len(fields) < 3 {
		return 0
	}
	pages, _ := strconv.ParseInt(string(fields[2]), 10, 64) // of files, those of a file system in memory among them
	return pages * int64(os.Getpagesize())
}
