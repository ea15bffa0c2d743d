package projections

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"go.etcd.io/bbolt"
	bbolterrors "go.etcd.io/bbolt/errors"

	"ledge/store/osfile"
)

// Open opens the projection at o.Path and creates it where there is none. What [DB.Checkpoint] says then is on the disk.
//
// A file that cannot be trusted is not an error, because it is only a fold: Open moves it aside, to the same name with
// ".discarded" at its end, logs why, and starts from an empty one, which the caller fills from the log. That is a file
// of another schema or other tables, or one that is damaged. A file that another process has open is an error. Open checks a file of 8 MiB at most; a larger one
// is checked beside the service.
func Open(o Options) (*DB, error) {
	d := &DB{
		path: o.Path, tables: o.Tables, log: o.Logger, maxPage: cmp.Or(o.MaxPage, 1024), lockFor: cmp.Or(o.LockTimeout, time.Second),
		onFail: o.Failed, writer: newWriter(), behind: newBehind(o.limits), stop: make(chan struct{}),
	}
	d.here.Store(&checkpoint{})
	d.room = sync.NewCond(&d.mu)
	if d.log == nil {
		d.log = slog.Default()
	}
	err := d.open()
	var r *distrust
	if errors.As(err, &r) {
		if err = d.discard(r); err == nil {
			err = d.open()
		}
	}
	if err != nil {
		return nil, fmt.Errorf("open projection %s: %w", o.Path, err)
	}
	d.tasks.Go(d.flushBehind)
	d.tasks.Go(d.checkBehind)
	return d, nil
}

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
	return osfile.SyncDir(filepath.Dir(d.path))
}

// open examines the file, if there is one, and opens it for writing.
func (d *DB) open() error {
	if err := removeIfThere(unfinished(d.path)); err != nil { // what was cut short
		return err
	}
	info, err := os.Stat(d.path)
	if exists := err == nil && info.Size() > 0; exists {
		// For reading first: a file of another format may make bbolt look through all pages when it opens it for writing, in a
		// goroutine whose panic on a damaged page would end the process.
		if err := d.with(d.path, true, d.examine); err != nil {
			return err
		}
		if done, err := d.compact(); err != nil {
			return err
		} else if done {
			if err := d.with(d.path, true, d.examine); err != nil { // its pages are others
				return err
			}
		}
		return d.with(d.path, false, d.load)
	}
	if err := d.create(); err != nil {
		return errors.Join(err, removeIfThere(unfinished(d.path)))
	}
	return d.with(d.path, false, d.load)
}

// unfinished is the name of a file that is being made.
func unfinished(path string) string { return path + ".new" }

// create makes an empty projection under another name, and then gives it its own: a crash leaves all of the file or none.
func (d *DB) create() error {
	fresh := unfinished(d.path)
	if err := d.with(fresh, false, d.begin); err != nil {
		return err
	}
	if err := d.file.close(); err != nil {
		return err
	}
	if err := os.Rename(fresh, d.path); err != nil {
		return err
	}
	return osfile.SyncDir(filepath.Dir(d.path))
}

func removeIfThere(path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// with opens a file and runs f on it. The file stays open if it is opened for writing and f returns no error.
func (d *DB) with(path string, readOnly bool, f func() error) error {
	opened := &file{}
	keep := func(name string, flag int, mode os.FileMode) (_ *os.File, err error) {
		opened.os, err = os.OpenFile(name, flag, mode)
		return opened.os, err
	}
	err := guarded(func() (err error) {
		// Each commit is fsynced, with the list of free pages: a file that was not closed opens without a look at each page.
		// There is no need to make the file longer ahead of writes: fdatasync writes the new length.
		opened.DB, err = bbolt.Open(path, 0o600, &bbolt.Options{
			ReadOnly: readOnly, PreLoadFreelist: readOnly, Timeout: d.lockFor, NoGrowSync: true, NoStatistics: true,
			FreelistType: bbolt.FreelistMapType, InitialMmapSize: mapSize(path), OpenFile: keep,
		})
		return err
	})
	if err != nil {
		if opened.os != nil { // so that it is unlocked, if bbolt panicked
			_ = opened.os.Close() // for the second time, if bbolt did
		}
		return whyClosed(err)
	}
	d.file = opened
	err = guarded(f)
	if err != nil || readOnly {
		err = errors.Join(err, opened.close())
	}
	if isDamage(err) || unreadable(err) {
		return &distrust{err}
	}
	return err
}

// unreadable reports whether err is of a page that the disk cannot read.
func unreadable(err error) bool {
	failed, ok := errors.AsType[*fs.PathError](err)
	return ok && failed.Op == "read"
}

// whyClosed tells a file that bbolt does not understand from one that it may not open.
func whyClosed(err error) error {
	if errors.Is(err, bbolterrors.ErrTimeout) {
		return fmt.Errorf("another process has it open; stop that process first: %w", err)
	}
	if unreadable(err) {
		return &distrust{err}
	}
	if _, ok := errors.AsType[*fs.PathError](err); ok {
		return err
	}
	if _, ok := errors.AsType[syscall.Errno](err); ok {
		return err
	}
	return &distrust{err}
}
