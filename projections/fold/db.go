package fold

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"sync/atomic"

	"go.etcd.io/bbolt"
)

// Options says where a file is and what it holds.
type Options struct {
	// Path is the file; its folder must exist.
	Path string
	// Name is that of the stream, for errors and the schema.
	Name   string
	Tables []AnyTable
	// Gaps says that the stream drops its oldest events, so that it may begin anywhere and have holes, and that the file can [DB.Forget].
	Gaps bool
	// Logger is slog.Default if it is nil.
	Logger *slog.Logger
	// Failed is called, once, if the file is found to be damaged or cannot be written. It then has another name, ends with ".damaged",
	// and nothing is written any more: end the process. The next Open begins with an empty file.
	Failed func(error)
	// Wrap makes of a [Broken], a [Full] or an [OutOfRange] what callers get, which has it in its chain; nil: itself.
	Wrap   func(error) error
	Limits Limits
}

// DB is the state of one stream. Its methods may be called by several goroutines at once.
type DB struct {
	path   string
	name   string
	tables []AnyTable
	gaps   bool
	log    *slog.Logger
	onFail func(error)       // Options.Failed
	wrap   func(error) error // Options.Wrap

	file    *file
	writing sync.Mutex            // held by what writes to the file
	broken  atomic.Pointer[error] // why nothing is written any more: see fail
	aside   atomic.Bool           // the broken file has another name
	inFile  uint64                // the sequence of the last event that is on the disk
	writer  *writer
	checked bool // Open has checked the whole file

	behind

	stop  chan struct{} // closed by Close
	once  sync.Once     // closes stop
	tasks sync.WaitGroup
}

// file is an open file of bbolt.
type file struct {
	*bbolt.DB
	os    *os.File                  // bbolt's
	stuck atomic.Bool               // bbolt holds a lock for ever: see begin
	last  atomic.Int64              // bbolt's number of the transaction that was committed last
	known atomic.Pointer[committed] // of the transaction that was read last
}

// committed is the checkpoint that transactions for reading with a number of bbolt's see.
type committed struct {
	tx int
	at Checkpoint
}

// checkpoint returns the checkpoint that a transaction for reading sees. It reads that once for each that was committed.
func (f *file) checkpoint(tx *bbolt.Tx, rows *bbolt.Bucket) (Checkpoint, error) {
	if c := f.known.Load(); c != nil && c.tx == tx.ID() {
		return c.at, nil
	}
	at, err := readCheckpoint(rows)
	if err == nil {
		f.known.Store(&committed{tx.ID(), at})
	}
	return at, err
}

func (f *file) done(tx *bbolt.Tx) { _ = guarded(tx.Rollback) }

// reading runs use on the rows in a transaction for reading of its own, and returns the damage that it met, if any.
func (f *file) reading(use func(rows *bbolt.Bucket) error) error {
	return guarded(func() error {
		tx, err := f.begin(false)
		if err != nil {
			return err
		}
		defer f.done(tx)
		return use(tx.Bucket(bucketName))
	})
}

// begin begins a transaction, which done ends. Where that panics, it leaves a lock of bbolt's behind, for good. One that sees less than what
// was committed is a damage: bbolt has gone back to its other meta page.
func (f *file) begin(writable bool) (tx *bbolt.Tx, err error) {
	last := f.last.Load()
	defer func() {
		if r := recover(); r != nil {
			f.stuck.Store(true)
			panic(r)
		}
	}()
	if tx, err = f.Begin(writable); err != nil {
		return nil, err
	}
	seen := int64(tx.ID())
	if writable {
		seen--
	}
	if seen < last {
		_ = tx.Rollback()
		return nil, damage{fmt.Errorf("transaction %d where %d was committed: a meta page is damaged", seen, last)}
	}
	return tx, nil
}

// close closes the file, or, where bbolt's own Close would wait for ever, lets go of it.
func (f *file) close() error {
	if f.stuck.Load() {
		return f.os.Close()
	}
	return guarded(f.Close)
}

// ErrClosed is returned by what is called after Close.
var ErrClosed = errors.New("projection is closed")

// ready refuses what cannot be applied.
func (d *DB) ready(events Events) error {
	if d.closed {
		return ErrClosed
	}
	if err := d.Health(); err != nil {
		return err
	}
	next := d.at().Seq + 1
	for i := range events.Len() {
		got := events.At(i).Seq
		if got < next || got > next && !d.gaps {
			return fmt.Errorf("apply: event %d where %d is next", got, next)
		}
		next = got + 1
	}
	return nil
}

// update runs f in a transaction for writing. It is not that of bbolt, which after a panic looks through the file for
// free pages, where it meets the damage again, and keeps its locks then.
func (d *DB) update(f func(*bbolt.Tx) error) error {
	tx, err := d.beginWriting()
	if err != nil {
		return err
	}
	id := int64(tx.ID())
	err = guarded(func() error {
		if err := f(tx); err != nil {
			return err
		}
		return tx.Commit()
	})
	if err != nil {
		_ = guarded(tx.Rollback) // a Commit that returns an error has done so already
		return err
	}
	d.file.last.Store(id)
	return nil
}

// beginWriting begins a transaction for writing.
func (d *DB) beginWriting() (tx *bbolt.Tx, err error) {
	err = guarded(func() (err error) {
		tx, err = d.file.begin(true)
		return err
	})
	return tx, err
}

// Checkpoint returns the sequence and the chain of the last event that was applied, 0 and zeros if there is none.
func (d *DB) Checkpoint() (seq uint64, chain [32]byte) {
	c := d.at()
	return c.Seq, c.Chain
}

// Close writes what was applied to the disk and closes the file. It waits for the Views that are not released.
func (d *DB) Close() error {
	d.once.Do(func() { close(d.stop) })
	d.tasks.Wait()
	d.writing.Lock()
	defer d.writing.Unlock()
	if !d.end() {
		return nil
	}
	var err error
	for m := d.takeFresh(); m != nil && err == nil; m = d.takeFresh() {
		err = d.writeTaken(m)
	}
	err = errors.Join(err, d.file.close())
	if d.Health() != nil && !d.aside.Load() { // Windows does not rename a file that is open
		d.setAside()
	}
	return err
}

// end refuses all that comes from now on. It reports whether it is the first to do so.
func (d *DB) end() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return false
	}
	d.closed = true
	d.room.Broadcast()
	return true
}

// table returns the one whose rows' keys begin with id, nil if there is none.
func (d *DB) table(id byte) AnyTable {
	for _, t := range d.tables {
		if t.owns(id) {
			return t
		}
	}
	return nil
}
