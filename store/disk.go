package store

import "math"

// free returns the free bytes on the disk of the store.
func (s *Store) free() (uint64, error) { return s.o.FreeBytes(s.o.Dir) }

// room returns how many bytes a stream may still write before its reserve is touched. Where the system does not tell,
// the write itself will.
func (s *Store) room(st stream) int64 {
	free, err := s.free()
	if err != nil {
		s.o.Logger.Warn("free disk space unknown", "dir", s.o.Dir, "error", err)
		return math.MaxInt64
	}
	return int64(min(free, math.MaxInt64)) - s.o.reserve(st)
}
