package projections

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"sync"
	"syscall"
	"time"

	"go.etcd.io/bbolt"
	bbolterrors "go.etcd.io/bbolt/errors"
)

// Open opens the projection at o.Path and creates it where there is none.
//
// A file that cannot be trusted is not an error, because it is only a fold: Open moves it aside, to the same name with
// ".discarded" at its end, logs why, and starts from an empty one, which the caller fills from the log. That is a file
// that was written to in another boot of the machine and not closed; one of another schema or other tables; one that
// bbolt cannot read; and one that a reader found to be damaged. A file that another process has open is an error.
func Open(o Options) (*DB, error) {
	boot := o.BootID
	if boot == nil {
		boot = bootID
	}
	d := &DB{path: o.Path, tables: o.Tables, log: o.Logger, boot: cmp.Or(boot(), unknownBoot), maxPage: cmp.Or(o.MaxPage, 1024), writer: newWriter(), behind: newBehind(o.limits)}
	d.room = sync.NewCond(&d.applying)
	if d.log == nil {
		d.log = slog.Default()
	}
	wait := cmp.Or(o.LockTimeout, time.Second)
	err := d.open(wait)
	var r *distrust
	if errors.As(err, &r) {
		if err = d.discard(r); err == nil {
			err = d.open(wait)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("open projection %s: %w", o.Path, err)
	}
	d.startSyncing(o.SyncEvery)
	d.done.Go(d.flushBehind)
	return d, nil
}

// unknownBoot marks a file on a machine that has no boot id: it is never that of the boot in which it is opened.
const unknownBoot = "unknown"

// distrust is why a file is not used.
type distrust struct{ err error }

func (r *distrust) Error() string { return r.err.Error() }

// discarded is where a file that is not used goes. There is one place, so that such files do not pile up.
func discarded(path string) string { return path + ".discarded" }

func (d *DB) discard(r *distrust) error {
	d.log.Warn("projection is rebuilt from the log", "file", d.path, "reason", r.err, "old", discarded(d.path))
	if err := os.Rename(d.path, discarded(d.path)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// open examines the file, if there is one, and opens it for writing.
func (d *DB) open(wait time.Duration) error {
	info, err := os.Stat(d.path)
	if exists := err == nil && info.Size() > 0; exists {
		// For reading first: bbolt looks through the whole of a file that was not closed when it opens it for writing,
		// and does so in a goroutine whose panic on a damaged page would end the process.
		if err := d.with(wait, true, d.examine); err != nil {
			return err
		}
		return d.with(wait, false, d.load)
	}
	if err := os.Remove(condemned(d.path)); err != nil && !errors.Is(err, fs.ErrNotExist) { // what was, is gone
		return err
	}
	return d.with(wait, false, d.create)
}

// with opens the file and runs f on it. The file stays open if it is opened for writing and f returns no error.
func (d *DB) with(wait time.Duration, readOnly bool, f func() error) error {
	var file *os.File // so that it is closed, and unlocked, if bbolt panics
	keep := func(name string, flag int, mode os.FileMode) (_ *os.File, err error) {
		file, err = os.OpenFile(name, flag, mode)
		return file, err
	}
	err := guarded(func() (err error) {
		d.bolt, err = bbolt.Open(d.path, 0o600, &bbolt.Options{
			ReadOnly: readOnly, Timeout: wait, NoSync: true, NoGrowSync: true, NoFreelistSync: true, NoStatistics: true,
			FreelistType: bbolt.FreelistMapType, InitialMmapSize: mapSize, OpenFile: keep,
		})
		return err
	})
	if err != nil {
		if file != nil {
			_ = file.Close() // for the second time, if bbolt did
		}
		return whyClosed(err)
	}
	d.file = file
	err = guarded(f)
	if err != nil || readOnly {
		err = errors.Join(err, guarded(d.closeFile))
	}
	if _, ok := errors.AsType[damage](err); ok {
		return &distrust{err}
	}
	return err
}

// whyClosed tells a file that bbolt does not understand from one that it may not open.
func whyClosed(err error) error {
	if errors.Is(err, bbolterrors.ErrTimeout) {
		return fmt.Errorf("another process has it open; stop that process first: %w", err)
	}
	if _, ok := errors.AsType[*fs.PathError](err); ok {
		return err
	}
	if _, ok := errors.AsType[syscall.Errno](err); ok {
		return err
	}
	return &distrust{err}
}
