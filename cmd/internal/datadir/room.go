package datadir

import (
	"io/fs"
	"path/filepath"
	"sync"
	"time"

	"ledge/store/osfile"
)

// Room tells how many bytes a data folder may still take: the free bytes of the disk, or the rest of the setting max-bytes if that is less.
type Room struct {
	dir  string
	max  uint64 // 0 for no limit
	free func(dir string) (uint64, error)

	mu    sync.Mutex
	bytes uint64    // of the files, at the last count
	next  time.Time // of a count
	// values is the folder of the large values, and valueBytes its size, once they are known.
	values     string
	valueBytes func() int64
}

// NewRoom returns the room of a data folder; max is in bytes, 0 for no limit.
func NewRoom(dir string, max uint64) *Room { return &Room{dir: dir, max: max, free: osfile.FreeBytes} }

const (
	// countEvery is the least time between two counts of the files, and countShare how many times as long as a count it is.
	countEvery, countShare = 50 * time.Millisecond, 20
)

// AddValues has the room take the size of the folder of large values from a function, because they may be too many to be counted.
func (r *Room) AddValues(dir string, bytes func() int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.values, r.valueBytes, r.next = dir, bytes, time.Time{}
}

// Free returns how many bytes a folder of the node may still take.
func (r *Room) Free(dir string) (uint64, error) {
	free, err := r.free(dir)
	if err != nil || r.max == 0 {
		return free, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if began := time.Now(); began.After(r.next) {
		r.bytes = r.count()
		r.next = time.Now().Add(max(countEvery, countShare*time.Since(began)))
	}
	used := r.bytes
	if r.valueBytes != nil {
		used += uint64(r.valueBytes())
	}
	return min(free, r.max-min(used, r.max)), nil
}

// count adds up the sizes of the files. One that is removed meanwhile does not count.
func (r *Room) count() (bytes uint64) {
	_ = filepath.WalkDir(r.dir, func(path string, e fs.DirEntry, err error) error {
		switch {
		case path == r.values:
			return fs.SkipDir
		case err != nil || !e.Type().IsRegular():
			return nil //nolint:nilerr // a folder that cannot be read is not the node's
		}
		if info, err := e.Info(); err == nil {
			bytes += uint64(info.Size())
		}
		return nil
	})
	return bytes
}
