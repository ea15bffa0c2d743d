package store

import (
	"math"

	"ledge/domain"
)

// free returns the free bytes on the disk of the store.
func (s *Store) free() (uint64, error) { return s.o.FreeBytes(s.o.Dir) }

// room returns the free bytes on the disk of the store. Where the system does not tell, the write itself will.
func (s *Store) room() int64 {
	free, err := s.free()
	if err != nil {
		s.o.Logger.Warn("free disk space unknown", "dir", s.o.Dir, "error", err)
		return math.MaxInt64
	}
	return int64(min(free, math.MaxInt64))
}

// removalShare is the part of the reserve of changes that removals leave alone: they are small, and who may not remove
// anything gets no room back.
const removalShare = 4

// reserveOf is how many bytes an event on a stream must leave free.
func (o Options) reserveOf(st stream, e domain.Event) int64 {
	if domain.MakesRoom(e) {
		return o.ReserveBytes / removalShare
	}
	return o.reserve(st)
}
