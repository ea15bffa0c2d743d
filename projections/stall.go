package projections

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"time"

	"ledge/domain"
	"ledge/store/osfile"
)

// stall is that the disk has no room for what was applied: it stays in memory and is tried again.
type stall struct {
	err  error // a diskFull
	wait time.Duration
	next time.Time // when it is tried again
}

// diskFull is a domain.Error of code Full with what the system says in its chain.
type diskFull struct {
	says  *domain.Error
	cause error
}

func (e diskFull) Error() string   { return e.says.Error() }
func (e diskFull) Unwrap() []error { return []error{e.says, e.cause} }

const (
	firstRetry = 50 * time.Millisecond
	lastRetry  = 2 * time.Second // bbolt looks through the whole file after each try
	// heldMost is how many times its limits a memtable may have while the disk is full. What is applied meanwhile is on
	// the log already; who sees Stalled appends no more, so it is the rest of a group or two.
	heldMost = 12
)

// Stalled returns nil, or, while the disk has no room for what was applied, a [domain.Error] of code Full. All that was
// applied can be read meanwhile. Apply takes a few thousand events more: append
// none before this is nil again, which it is soon after there is room.
func (d *DB) Stalled() error {
	if s := d.stalled.Load(); s != nil {
		return s.err
	}
	return nil
}

// noRoom reports whether err is of a write that a full disk has refused. One of an fsync is not among these: the system
// says that once, and what it says it of may be lost.
func noRoom(err error) bool {
	e, ok := errors.AsType[*fs.PathError](err)
	return ok && e.Op == "write" && osfile.IsFull(e)
}

// stall notes that the disk is full, and returns how that is said. The caller holds writing.
func (d *DB) stall(err error) error {
	s := &stall{wait: firstRetry}
	s.err = diskFull{domain.Errorf(domain.Full, "the disk is full: %s cannot be written: %v; free some space", filepath.Base(d.path), err), err}
	if before := d.stalled.Load(); before != nil {
		s.wait = min(2*before.wait, lastRetry)
	} else {
		d.log.Error("disk is full: projection is kept in memory until there is room", "file", d.path, "error", err)
	}
	s.next = time.Now().Add(s.wait)
	d.stalled.Store(s)
	return s.err
}

// unstall notes that the file was written.
func (d *DB) unstall() {
	if d.stalled.Swap(nil) != nil {
		d.log.Info("projection is written again", "file", d.path)
	}
}

// resting returns the error of a stall that is not to be tried again yet, and for how long not.
func (d *DB) resting() (wait time.Duration, err error) {
	s := d.stalled.Load()
	if s == nil {
		return 0, nil
	}
	if wait = time.Until(s.next); wait <= 0 {
		return 0, nil
	}
	return wait, s.err
}

// hold refuses what a stall leaves no room in memory for. The caller holds mu.
func (d *DB) hold(events []domain.Recorded) error {
	s := d.stalled.Load()
	if s == nil || d.fresh == nil {
		return nil
	}
	if d.fresh.events+len(events) > heldMost*d.events || d.fresh.bytes >= heldMost*d.bytes {
		return applyError(events, fmt.Errorf("%d wait for the file: %w", d.fresh.events, s.err))
	}
	return nil
}
