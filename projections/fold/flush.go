package fold

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"go.etcd.io/bbolt"

	"ledge/store/osfile"
)

// Limits say how far the file may lag behind what was applied.
type Limits struct {
	// After is how long after the first event that is not in the file a flush begins. A transaction of one event
	// costs some 26 page writes, one of the events of half a second far fewer for each, because the ends of the indexes are
	// written again by every one; and requests take longer while it runs. Half a second of events is read from the log
	// again in no time after a kill.
	After time.Duration
	// Events and Bytes are how much waits before a flush begins at once. While one runs, waitMost times as much may wait, and
	// the rest of a batch; then Apply blocks. So the slower the disk, the more events share an fsync.
	Events, Bytes int
}

var usualLimits = Limits{After: 500 * time.Millisecond, Events: 1000, Bytes: 4 << 20}

// waitMost is how many times its limits a memtable may have while the one before it is flushed.
const waitMost = 4

func (l Limits) withDefaults() Limits {
	l.After = cmp.Or(l.After, usualLimits.After)
	l.Events = cmp.Or(l.Events, usualLimits.Events)
	l.Bytes = cmp.Or(l.Bytes, usualLimits.Bytes)
	return l
}

// behind is what was applied and is not in the file: fresh, and before it flushing, which is being written. DB.writing is taken before mu. Who
// holds mu waits for nothing but room: neither for the file, nor for readers.
type behind struct {
	Limits
	mu       sync.Mutex // of what follows
	room     *sync.Cond // of mu: fresh was taken away, a fold has ended, nothing is applied any more, or a Wait is to end
	fresh    *memtable  // nil if nothing waits
	flushing *memtable  // nil while nothing is being written, or stalls
	folding  bool       // an Apply works on a copy of fresh
	closed   bool       // nothing is applied or read any more

	here    atomic.Pointer[Checkpoint] // the last event that was applied; changes under mu
	stalled atomic.Pointer[stall]      // nil while the disk has room; changes under DB.writing

	due  chan struct{} // there is a fresh memtable
	full chan struct{} // it has reached a limit
}

func (b *behind) at() Checkpoint { return *b.here.Load() }

// Wait returns when the checkpoint has reached seq, with ctx's error when ctx ends before, or with [ErrClosed].
func (d *DB) Wait(ctx context.Context, seq uint64) error {
	defer context.AfterFunc(ctx, d.wake)()
	d.mu.Lock()
	defer d.mu.Unlock()
	for d.at().Seq < seq {
		switch {
		case d.closed:
			return ErrClosed
		case ctx.Err() != nil:
			return context.Cause(ctx)
		}
		d.room.Wait()
	}
	return nil
}

func signal(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default: // there is a signal already
	}
}

// Apply folds events, which follow each other and the Checkpoint, and moves the checkpoint to the last of them: after
// an error nothing has changed. With Options.Gaps, some may be missing that were dropped before they were read: the stream may begin at any
// sequence.
//
// Views that are asked for after Apply show the events. The file gets them a little later. Where the disk is
// full, that is tried again: see Stalled. Where the file is damaged or cannot be written, Apply is an error.
//
// Apply may wait for the file, and that for the readers when its mapping in memory has to grow: release a View of the same goroutine before.
func (d *DB) Apply(events Events) error {
	if events.Len() == 0 {
		return nil
	}
	fresh, below, err := d.beginFold(events)
	if err != nil {
		return err
	}
	m, err := d.fold(fresh, below, events)
	if err != nil {
		err = applyError(events, d.noteDamage(err))
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.folding = false
	d.room.Broadcast()
	if err != nil {
		return err
	}
	if d.fresh == nil {
		signal(d.due)
	}
	d.fresh = m
	d.here.Store(&m.end)
	if d.isFull(m, 1) {
		signal(d.full)
	}
	return nil
}

// beginFold waits until there is room for events, and returns what they are folded on. Nobody else folds, or takes fresh away, before
// folding is false again.
func (d *DB) beginFold(events Events) (fresh, below *memtable, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for !d.closed && d.Health() == nil && (d.folding || d.isFull(d.fresh, waitMost) && d.Stalled() == nil) {
		if !d.folding {
			signal(d.full)
		}
		d.room.Wait()
	}
	if err := d.ready(events); err != nil {
		return nil, nil, err
	}
	if err := d.hold(events); err != nil {
		return nil, nil, err
	}
	d.folding = true
	return d.fresh, d.flushing, nil
}

// isFull reports whether a memtable has some times its limits.
func (d *DB) isFull(o *memtable, times int) bool {
	return o != nil && (o.events >= times*d.Events || o.bytes >= times*d.Bytes)
}

// flush returns when the file has the events up to seq. Those who call it while a flush runs share the next one: it takes all that
// was applied.
func (d *DB) flush(seq uint64) error {
	d.writing.Lock()
	defer d.writing.Unlock()
	if _, err := d.resting(); err != nil && d.inFile < seq {
		return err
	}
	return d.flushWriting(seq)
}

// flushWriting is flush for who holds writing. It tries at once also while the disk is full.
func (d *DB) flushWriting(seq uint64) error {
	for d.inFile < seq {
		if d.closed {
			return ErrClosed
		}
		if err := d.writeTaken(d.takeFresh()); err != nil {
			d.wake()
			return err
		}
	}
	return nil
}

// wake has those look again that wait for room: callers of Apply that have not seen an error, and of Wait whose context has ended.
func (d *DB) wake() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.room.Broadcast()
}

// takeFresh returns what is to be written next: what stalls, or else fresh, which becomes flushing. After an error of a
// flush it leaves it where it is, for the readers.
func (d *DB) takeFresh() *memtable {
	d.mu.Lock()
	defer d.mu.Unlock()
	for d.folding {
		d.room.Wait()
	}
	if d.Health() != nil {
		return nil
	}
	if d.flushing == nil && d.fresh != nil {
		d.flushing, d.fresh = d.fresh, nil
		d.room.Broadcast()
	}
	return d.flushing
}

// writeTaken writes what takeFresh has returned. Until the transaction has ended, the memtable stays where readers find
// it: if the disk is full, until the next try; after another error, for good, and the error is that of all that is
// applied or listed.
func (d *DB) writeTaken(o *memtable) error {
	if err := d.Health(); err != nil || o == nil {
		return err
	}
	if err := d.commit(o); err != nil {
		return d.writeFailed(err)
	}
	d.inFile = o.end.Seq
	d.unstall()
	d.mu.Lock()
	d.flushing = nil
	d.mu.Unlock()
	return nil
}

// commit writes a memtable to the disk, with fsync.
func (d *DB) commit(o *memtable) error {
	return d.update(func(tx *bbolt.Tx) error { return d.put(tx, o) })
}

// put brings a memtable to a transaction.
func (d *DB) put(tx *bbolt.Tx, o *memtable) error {
	defer d.writer.reset()
	rows := tx.Bucket(bucketName)
	c := rows.Cursor()
	o.rows.Scan(func(r memrow) bool {
		d.table(r.key[0]).write(c, d.writer, r)
		return true
	})
	if err := d.writer.flush(rows); err != nil {
		return err
	}
	return o.end.write(rows)
}

// writeFailed decides what follows from an error of a write, and returns how it is said: a full disk is tried again; any
// other, an fsync above all, ends all writing to this file.
func (d *DB) writeFailed(err error) error {
	if noRoom(err) && d.Health() == nil {
		return d.stall(err)
	}
	return d.fail(err)
}

// flushBehind is the goroutine that flushes, until the file is closed.
func (d *DB) flushBehind() {
	timer := time.NewTimer(d.After)
	defer timer.Stop()
	for {
		select {
		case <-d.stop:
			return
		case <-d.due:
			timer.Reset(d.After)
			continue
		case <-d.full:
		case <-timer.C:
		}
		if d.Health() == nil {
			_ = d.flush(d.at().Seq) // the next list or Apply returns the error
		} else {
			d.wake()
		}
		if wait, err := d.resting(); err != nil {
			timer.Reset(wait)
		}
	}
}

// applyError names events in an error.
func applyError(events Events, err error) error {
	return fmt.Errorf("apply events %d to %d: %w", events.At(0).Seq, events.At(events.Len()-1).Seq, err)
}

// stall is that the disk has no room for what was applied: it stays in memory and is tried again.
type stall struct {
	err  error // a [Full]
	wait time.Duration
	next time.Time // when it is tried again
}

// Full says that the disk has no room for what was applied.
type Full struct {
	File  string // its name without the folder
	Cause error
}

func (e *Full) Error() string {
	return fmt.Sprintf("the disk is full: %s cannot be written: %v; free some space", e.File, e.Cause)
}
func (e *Full) Unwrap() error { return e.Cause }

func isFull(err error) bool {
	_, ok := errors.AsType[*Full](err)
	return ok
}

const (
	firstRetry = 50 * time.Millisecond
	lastRetry  = 2 * time.Second // bbolt looks through the whole file after each try
	// While the disk is full, a memtable may have heldMost times its limit of events and heldBytesMost times its limit of bytes. The bytes
	// count the pages of a flush, which does not run then. The log has these events already: the rest of a group or two, because the
	// appender takes no more while Stalled returns an error.
	heldMost, heldBytesMost = 12, 48
)

// Stalled returns nil, or, while the disk has no room for what was applied, a [Full]. All that was
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
	s.err = d.wrap(&Full{filepath.Base(d.path), err})
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
func (d *DB) hold(events Events) error {
	s := d.stalled.Load()
	if s == nil || d.fresh == nil {
		return nil
	}
	if d.fresh.events+events.Len() > heldMost*d.Events || d.fresh.bytes >= heldBytesMost*d.Bytes {
		return applyError(events, fmt.Errorf("%d wait for the file: %w", d.fresh.events, s.err))
	}
	return nil
}
