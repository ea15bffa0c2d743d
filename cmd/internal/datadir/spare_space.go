package datadir

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"ledge/cmd/internal/loop"
	"ledge/store/osfile"
)

// SpareFile takes disk space that is kept for a start on a full disk: the server and the state must write a little before
// Ledge can answer reads.
const SpareFile = "spare-space"

// spareShare is the part of disk-reserve that the file takes. What is released is less than the reserve, so that changes stay
// refused, and more than what removals leave alone, so that these make room.
const spareShare = 2

// Spare is the file of spare space. It is released at a start on a full disk, and made again when there is room.
type Spare struct {
	path   string
	bytes  int64
	leave  uint64 // free space that must be left when the file is made
	free   func(dir string) (uint64, error)
	logger *slog.Logger
}

// NewSpare returns the spare space of a data folder. Its file has half of diskReserve, which is the setting. leave is the free space that
// must be left when the file is made. Both are in bytes.
func NewSpare(dir string, diskReserve, leave int64, logger *slog.Logger) *Spare {
	return &Spare{
		path: filepath.Join(dir, SpareFile), bytes: diskReserve / spareShare,
		leave: uint64(leave), free: osfile.FreeBytes, logger: logger,
	}
}

// Release removes the file if less space than its size is free.
func (s *Spare) Release() {
	free, err := s.free(filepath.Dir(s.path))
	if err != nil || free >= uint64(s.bytes) {
		return
	}
	if err := os.Remove(s.path); err == nil {
		s.logger.Warn("the disk is full: the spare space is used for the start; free some space", "file", s.path, "bytes", s.bytes, "free", free)
	} else if !errors.Is(err, fs.ErrNotExist) {
		s.logger.Warn("the disk is full, and the spare space cannot be used", "file", s.path, "error", err)
	}
}

// keep makes the file, or makes it as large as it should be, if there is room for it and for beside more bytes.
func (s *Spare) keep(beside uint64) {
	free, has := s.room()
	if has < s.bytes && free+uint64(has) >= beside+uint64(s.bytes) {
		s.make(s.bytes)
	}
}

// MakeAtStop makes the file at a stop, when nothing else is written any more, of what is free.
func (s *Spare) MakeAtStop() {
	free, has := s.room()
	if most := min(s.bytes, int64(min(free, uint64(s.bytes)+spareAtStop))-spareAtStop); has == 0 && most > 0 {
		s.make(most)
	}
}

// room returns the free bytes, 0 if they are not known, and the size of the file.
func (s *Spare) room() (free uint64, has int64) {
	if info, err := os.Lstat(s.path); err == nil {
		has = info.Size()
	}
	free, err := s.free(filepath.Dir(s.path))
	if err != nil {
		return 0, has
	}
	return free, has
}

func (s *Spare) make(bytes int64) {
	f, err := osfile.Open(s.path, os.O_WRONLY|os.O_CREATE, 0o600)
	if err == nil {
		err = errors.Join(allocate(f, bytes), f.Close())
	}
	if err != nil {
		_ = os.Remove(s.path)
		s.logger.Debug("no spare space for a start on a full disk", "error", err)
	}
}

// spareAtStop is what is left free beside the file that is made at a stop, in bytes.
const spareAtStop = 1 << 20

// lookForRoom is how often it is tried to make the file again.
const lookForRoom = 10 * time.Second

// Run keeps the file until ctx ends.
func (s *Spare) Run(ctx context.Context) error {
	return loop.Every(ctx, lookForRoom, func(context.Context) { s.keep(s.leave) })
}
