package fold

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"

	"ledge/store/osfile"
)

// damage is what a read panics with if the file does not hold what was written: bbolt found a page with an invalid header,
// the page lies behind the end of the file, or a value has a wrong checksum or does not decode.
type damage struct{ err error }

var errUnreadable = errors.New("the disk cannot read one of its pages, or the file has become shorter")

func (d damage) Error() string { return "projection file is damaged: " + d.err.Error() }
func (d damage) Unwrap() error { return d.err }

func isDamage(err error) bool {
	_, ok := errors.AsType[damage](err)
	return ok
}

// guarded runs f and returns the damage that it met, if any. A fault in the mapped file is damage, and so is any panic: bbolt panics on a damaged page.
func guarded(f func() error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		switch r := recover().(type) {
		case nil:
		case damage:
			err = r
		case interface{ Addr() uintptr }: // of a [runtime.Error]: a fault in the mapped file
			err = damage{errUnreadable}
		case error:
			err = damage{r}
		default:
			err = damage{fmt.Errorf("%v", r)}
		}
	}()
	return f()
}

// must runs f. If f finds the file damaged, the file is broken, the view ends, and must panics with a [Broken]. So a
// caller whose release is not deferred does not hold up [DB.Close].
func (v *View) must(f func() error) {
	if err := guarded(f); err != nil {
		v.why = v.d.fail(err)
		v.once.Do(v.end)
		panic(v.why)
	}
}

// Broken says why a file is neither written nor trusted any more: it is damaged, or a write to it has failed.
type Broken struct {
	File  string // its name without the folder
	Cause error
}

func (e *Broken) Error() string {
	return fmt.Sprintf("%s cannot be used: %v; the next start folds it from the log", e.File, e.Cause)
}
func (e *Broken) Unwrap() error { return e.Cause }

// fail makes err the end of all writing to this file, which gets another name: the next start folds it from the log. It returns err as
// a [Broken]. Only the first error of a file counts.
func (d *DB) fail(err error) error {
	b := d.wrap(&Broken{filepath.Base(d.path), err})
	if d.broken.CompareAndSwap(nil, &b) {
		d.log.Error("state file cannot be used; the next start folds it from the log", "file", d.path, "error", err)
		d.setAside()
		if d.onFail != nil {
			d.onFail(b)
		}
	}
	return b
}

// damagedName is the name of a file that was found to be damaged while it was open. There is one, so that such files do not pile up.
func damagedName(path string) string { return path + ".damaged" }

// setAside renames the file, so that the next Open begins with an empty one. Where even that cannot be done, nothing is lost: a damaged
// page is found again, and what a failed fsync was of is not referred to by the pages that were synced before.
func (d *DB) setAside() {
	err := os.Rename(d.path, damagedName(d.path))
	if err == nil {
		d.aside.Store(true)
		err = osfile.SyncDir(filepath.Dir(d.path))
	}
	if err != nil {
		d.log.Error("state file cannot be set aside", "file", d.path, "error", err)
	}
}

// Health returns why nothing can be added to the projection, and why some of it may not be read: its file is damaged, or
// could not be written. It names the file.
func (d *DB) Health() error {
	if b := d.broken.Load(); b != nil {
		return *b
	}
	return nil
}

// noteDamage fails the file if err says that it is damaged, and returns what is to be said of err.
func (d *DB) noteDamage(err error) error {
	if isDamage(err) {
		return d.fail(err)
	}
	return err
}
