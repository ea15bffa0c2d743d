package projections

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"go.etcd.io/bbolt"
	bbolterrors "go.etcd.io/bbolt/errors"

	"ledge/domain"
)

// Options says where a projection is and what it holds.
type Options struct {
	// Path is the file; its folder must exist.
	Path   string
	Tables Tables
	// Logger is slog.Default where it is nil.
	Logger *slog.Logger
	// SyncEvery is how often what was written is fsynced: a minute where it is 0, never where it is negative. A file
	// that was not written to for that long is marked as clean, and survives a power cut.
	SyncEvery time.Duration
	// LockTimeout is how long Open waits for a file that another process has open: a second where it is 0.
	LockTimeout time.Duration
	// MaxPage is how many entities a [Page] without a limit of its own has at most: 1024, which is EdgeX's
	// MaxResultCount, where it is 0.
	MaxPage int
	// BootID returns what changes with every start of the machine, "" where that is not known. nil: as Linux has it.
	BootID func() string

	limits limits // usualLimits where they are 0
}

// DB is the state of one stream. Its methods may be called by several goroutines at once.
type DB struct {
	path    string
	tables  Tables
	log     *slog.Logger
	boot    string
	maxPage int
	bolt    *bbolt.DB

	file        *os.File   // bbolt's
	writing     sync.Mutex // held by what writes to the file
	stuck       bool       // bbolt holds its lock for ever: see beginWriting
	mark        mark
	broken      atomic.Pointer[error] // why nothing is written any more: see fail
	applied     int                   // events written since the last sync
	inFile      uint64                // the sequence of the last event that was written
	writer      *writer
	closed      bool // changes under writing and applying
	condemnOnce sync.Once

	absent atomic.Pointer[gaps] // of the State that was released last; nil while another has them
	shared shared
	totals totals
	mapped mapped

	behind
	progress
	syncer
}

// ErrClosed is returned by what is called after Close.
var ErrClosed = errors.New("projection is closed")

// Apply folds events, which follow each other and the checkpoint, and moves the checkpoint to the last of them: after
// an error nothing has changed. Of a stream whose oldest events are dropped in time, which is any but [Events], those
// may be missing that were dropped before they were read: it may begin at any sequence, and have holes.
//
// States and Views that are asked for after Apply show the events. The file gets them a little later; an error of that is
// the error of the next Apply, and of lists. Where the disk is full, it is tried again: see Stalled.
//
// Apply may wait for the file, and that for the readers when its mapping in memory has to grow: release a State or
// View of the same goroutine before.
func (d *DB) Apply(events []domain.Recorded) error {
	if len(events) == 0 {
		return nil
	}
	return d.add(events)
}

// ready refuses what cannot be applied.
func (d *DB) ready(events []domain.Recorded) error {
	if d.closed {
		return ErrClosed
	}
	if err := d.failed(); err != nil {
		return err
	}
	next := d.at().seq + 1
	for i := range events {
		got := events[i].Seq
		if got < next || got > next && d.tables == Events {
			return fmt.Errorf("apply: event %d where %d is next", got, next)
		}
		next = got + 1
	}
	return nil
}

// begin marks the file as written to, before it is for the first time since the last mark.
func (d *DB) begin() error {
	if d.mark.boot != "" {
		return nil
	}
	return d.writeMark(mark{d.mark.schema, d.boot})
}

func (d *DB) commit(o *overlay) error {
	defer d.writer.reset()
	return d.update(func(tx *bbolt.Tx) error {
		rows := tx.Bucket(bucketName)
		if err := o.end.write(rows); err != nil {
			return err
		}
		for _, t := range o.layers {
			if t == nil {
				continue
			}
			if err := t.write(rows, d.writer); err != nil {
				return err
			}
		}
		return d.writer.flush(rows)
	})
}

// update runs f in a transaction for writing. It is not that of bbolt, which after a panic looks through the file for
// free pages, where it meets the damage again, and keeps its locks then.
func (d *DB) update(f func(*bbolt.Tx) error) error {
	tx, err := d.beginWriting()
	if err != nil {
		return err
	}
	d.mapped.trim(tx, d.mostMapped)
	committed := false
	err = guarded(func() error {
		if err := f(tx); err != nil {
			return err
		}
		committed = true // or rolled back: Commit does either
		return tx.Commit()
	})
	return d.abandon(tx, committed, err)
}

// beginWriting begins a transaction. One that panics meanwhile leaves a lock of bbolt's behind, for good.
func (d *DB) beginWriting() (tx *bbolt.Tx, err error) {
	err = guarded(func() (err error) {
		tx, err = d.bolt.Begin(true)
		return err
	})
	if _, damaged := errors.AsType[damage](err); damaged {
		d.stuck = true
		d.noteDamage(err)
	}
	return tx, err
}

// abandon rolls back what did not commit.
func (d *DB) abandon(tx *bbolt.Tx, committed bool, err error) error {
	if err == nil {
		return nil
	}
	d.noteDamage(err)
	if _, damaged := errors.AsType[damage](err); damaged || !committed {
		err = errors.Join(err, ignoreClosed(guarded(tx.Rollback)))
	}
	return err
}

func ignoreClosed(err error) error {
	if errors.Is(err, bbolterrors.ErrTxClosed) {
		return nil
	}
	return err
}

// Checkpoint returns the sequence and the chain of the last event that was applied, 0 and zeros where there is none.
func (d *DB) Checkpoint() (seq uint64, chain [32]byte) {
	c := d.at()
	return c.seq, c.chain
}

// Close writes what was applied, syncs the file, marks it as clean and closes it. It waits for the States and Views that
// are not released.
func (d *DB) Close() error {
	d.stopSyncing()
	d.writing.Lock()
	defer d.writing.Unlock()
	d.applying.Lock()
	defer d.applying.Unlock()
	if d.closed {
		return nil
	}
	var err error
	if d.failed() == nil {
		err = d.writeFresh()
	}
	d.closed = true
	d.room.Broadcast()
	d.finish()
	if d.failed() == nil && d.mark.boot != "" {
		err = errors.Join(err, d.writeMark(mark{d.mark.schema, ""}))
	}
	return errors.Join(err, d.closeFile())
}

// closeFile closes the file, or, where bbolt's own Close would wait for ever, lets go of it.
func (d *DB) closeFile() error {
	if d.stuck {
		return d.file.Close()
	}
	return d.bolt.Close()
}
