package fold

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"syscall"
	"time"

	"go.etcd.io/bbolt"
	bbolterrors "go.etcd.io/bbolt/errors"

	"ledge/store/osfile"
)

// Open opens the projection at o.Path and creates it if there is none. What [DB.Checkpoint] says then is on the disk.
//
// A file that cannot be trusted is not an error, because it is only a fold: Open moves it aside, to the same name with
// ".discarded" at its end, logs why, and starts from an empty one, which the caller fills from the log. That is a file
// of another schema or other tables, or one that is damaged. A file that another process has open is an error. Open checks a file of 8 MiB at most; a larger one
// is checked beside the service.
func Open(o Options) (*DB, error) {
	d := newDB(o)
	err := d.open()
	if untrusted(err) {
		if err = d.discard(err); err == nil {
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

// newDB returns a projection whose file is not open.
func newDB(o Options) *DB {
	d := &DB{
		path: o.Path, name: o.Name, tables: o.Tables, gaps: o.Gaps, log: cmp.Or(o.Logger, slog.Default()),
		onFail: o.Failed, wrap: o.Wrap, writer: newWriter(), stop: make(chan struct{}),
		behind: behind{Limits: o.Limits.withDefaults(), due: make(chan struct{}, 1), full: make(chan struct{}, 1)},
	}
	if d.wrap == nil {
		d.wrap = func(err error) error { return err }
	}
	d.here.Store(&Checkpoint{})
	d.room = sync.NewCond(&d.mu)
	return d
}

// lockTimeout is how long Open waits for a file that another process has open.
const lockTimeout = time.Second

// untrusted reports whether err says that another file is needed: this one is damaged, or of another version.
func untrusted(err error) bool {
	return isDamage(err) || osfile.Unreadable(err) || errors.Is(err, ErrUnused)
}

// discarded is where a file that is not used goes. There is one place, so that such files do not pile up.
func discarded(path string) string { return path + ".discarded" }

func (d *DB) discard(why error) error {
	d.log.Warn("projection is rebuilt from the log", "file", d.path, "reason", why, "old", discarded(d.path))
	if err := os.Rename(d.path, discarded(d.path)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return osfile.SyncDir(filepath.Dir(d.path))
}

// open examines the file, if there is one, or creates it, and opens it for writing.
func (d *DB) open() error {
	fresh := d.path + osfile.Unfinished
	if err := osfile.Remove(fresh); err != nil { // what was cut short
		return err
	}
	if err := errors.Join(d.prepare(fresh), osfile.Remove(fresh)); err != nil {
		return err
	}
	return d.with(d.path, false, d.load)
}

// prepare leaves a file that can be trusted at the path. It writes a new one to fresh: a crash leaves all of the file or none.
func (d *DB) prepare(fresh string) error {
	if info, err := os.Stat(d.path); err != nil || info.Size() == 0 {
		return d.create(fresh)
	}
	compacted := false
	// For reading first: a file of another format may make bbolt look through all pages when it opens it for writing, in a
	// goroutine whose panic on a damaged page would end the process.
	err := d.with(d.path, true, func() (err error) {
		if err = d.examine(checkedAtOnce); err == nil {
			compacted, err = d.compact(fresh)
		}
		return err
	})
	if err == nil && compacted {
		err = publish(fresh, d.path)
	}
	if osfile.IsFull(err) {
		d.log.Warn("a state file that is more than half empty is not compacted: the disk has no room for another one", "file", d.path)
		return nil
	}
	if err != nil || !compacted {
		return err
	}
	return d.with(d.path, true, func() error { return d.examine(checkedAtOnce) }) // its pages are others
}

// create makes an empty projection.
func (d *DB) create(fresh string) error {
	err := d.with(fresh, false, func() error {
		return d.update(func(tx *bbolt.Tx) error { return writeSchema(tx, schemaName(d.name, d.tables)) })
	})
	if err != nil {
		return err
	}
	if err := d.file.close(); err != nil {
		return err
	}
	return publish(fresh, d.path)
}

// publish gives a file that is complete and closed its name, durably.
func publish(fresh, path string) error {
	f, err := os.OpenFile(fresh, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	return osfile.Publish(f, path, nil)
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
			ReadOnly: readOnly, PreLoadFreelist: readOnly, Timeout: lockTimeout, NoGrowSync: true, NoStatistics: !readOnly,
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
	return err
}

// whyClosed tells a file that bbolt does not understand from one that it may not open.
func whyClosed(err error) error {
	_, ofPath := errors.AsType[*fs.PathError](err)
	_, ofSystem := errors.AsType[syscall.Errno](err)
	switch {
	case errors.Is(err, bbolterrors.ErrTimeout):
		return fmt.Errorf("another process has it open; stop that process first: %w", err)
	case ofPath || ofSystem || isDamage(err):
		return err
	}
	return damage{err}
}

// examine decides whether the file that is open is to be trusted. It checks the whole of a file of so many bytes at most.
func (d *DB) examine(most int64) error {
	tx, err := d.file.Begin(false)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	info, err := os.Stat(d.path)
	if err != nil {
		return err
	}
	if tx.Size() > info.Size() {
		return damage{fmt.Errorf("file has %d of %d bytes", info.Size(), tx.Size())}
	}
	schema, marked := readSchema(tx)
	rows := tx.Bucket(bucketName)
	switch want := schemaName(d.name, d.tables); {
	case !marked && rows == nil:
		return fmt.Errorf("%w: nothing is in the file: it was not made to the end", ErrUnused)
	case !marked:
		return damage{errors.New("not a projection: it has no mark")}
	case schema != want:
		return fmt.Errorf("%w: schema is %q, not %q", ErrUnused, schema, want)
	case rows == nil:
		return damage{fmt.Errorf("file without the bucket %q", bucketName)}
	}
	if _, err := readCheckpoint(rows); err != nil {
		return err
	}
	if d.checked = info.Size() <= most; d.checked {
		return check(tx, d.file.os)
	}
	return checkHeads(tx, d.file.os, false)
}

// load learns from a file that is trusted where it is.
func (d *DB) load() error {
	if err := d.rewriteHead(); err != nil {
		return err
	}
	if err := d.cutUnused(); err != nil {
		return err
	}
	return d.file.View(func(tx *bbolt.Tx) error {
		at, err := readCheckpoint(tx.Bucket(bucketName))
		d.here.Store(&at)
		d.inFile = at.Seq
		d.file.last.Store(int64(tx.ID()))
		return err
	})
}

// headPages are bbolt's two meta pages and the two that a new file begins with.
const headPages = 4

// rewriteHead writes the first pages again, as they are, and fsyncs them. The process before this one may have died after an
// fsync that failed, whose error Linux reports once: then the meta page in memory says more than that on the disk. The pages
// that it refers to were synced before it was written.
func (d *DB) rewriteHead() error {
	head := make([]byte, headPages*d.file.Info().PageSize)
	n, err := d.file.os.ReadAt(head, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return damage{err}
	}
	if _, err = d.file.os.WriteAt(head[:n], 0); err == nil {
		err = d.file.os.Sync()
	}
	if err != nil && !noRoom(err) { // where there is no room, nothing is written that could rest on the meta page
		return damage{err}
	}
	return nil
}

// cutUnused cuts off the file what is behind the pages of its last commit. The fsync of a later commit may have failed just when the process
// died: ext4 then reads these pages as zeros after a power cut, also if they were written again in place and synced meanwhile. Cut off, they
// are new to the disk when they are written again. All other pages were on the disk once, and can be written in place.
func (d *DB) cutUnused() error {
	tx, err := d.file.Begin(false)
	if err != nil {
		return err
	}
	used := tx.Size()
	if err := tx.Rollback(); err != nil {
		return err
	}
	info, err := d.file.os.Stat()
	if err != nil || info.Size() <= used || runtime.GOOS == "windows" { // bbolt makes the file longer there, and a file in memory is not cut
		return err
	}
	if err := errors.Join(d.file.os.Truncate(used), d.file.os.Sync()); err != nil {
		return damage{err}
	}
	return nil
}

// The bucket "mark" says what is in the file, and how. It is found in a file of any schema.
var (
	markName  = []byte("mark")
	schemaKey = []byte("schema")
)

// nodeKey has the id of the data folder.
var nodeKey = []byte("node")

func readNode(tx *bbolt.Tx) string {
	if b := tx.Bucket(markName); b != nil {
		return string(b.Get(nodeKey))
	}
	return ""
}

// Node returns the id of the data folder to which the file belongs, "" if it has none yet.
func (d *DB) Node() (id string, err error) {
	err = guarded(func() error {
		tx, err := d.file.begin(false)
		if err != nil {
			return err
		}
		defer d.file.done(tx)
		id = readNode(tx)
		return nil
	})
	return id, err
}

// SetNode puts the id of the data folder into a file that has none. On a full disk it does nothing: a later start does it.
func (d *DB) SetNode(id string) error {
	have, err := d.Node()
	if err != nil || have != "" {
		return d.noteDamage(err)
	}
	d.writing.Lock()
	defer d.writing.Unlock()
	err = d.update(func(tx *bbolt.Tx) error { return tx.Bucket(markName).Put(nodeKey, []byte(id)) })
	if err == nil || noRoom(err) {
		return nil
	}
	return d.writeFailed(err)
}

func readSchema(tx *bbolt.Tx) (schema string, ok bool) {
	b := tx.Bucket(markName)
	if b == nil {
		return "", false
	}
	return string(b.Get(schemaKey)), true
}

// writeSchema makes an empty file a projection.
func writeSchema(tx *bbolt.Tx, schema string) error {
	b, err := tx.CreateBucketIfNotExists(markName)
	if err != nil {
		return err
	}
	if _, err := tx.CreateBucketIfNotExists(bucketName); err != nil {
		return err
	}
	return b.Put(schemaKey, []byte(schema))
}

const (
	// compactLeast is the size from which a file is worth compacting.
	compactLeast = 16 << 20
	// compactTogether is about how many bytes one transaction copies.
	compactTogether = 4 << 20
)

// compact writes the file that is open anew, without free pages, if these are more than half of it: bbolt keeps the pages of rows that
// retention has removed. It reports whether it has.
func (d *DB) compact(fresh string) (done bool, err error) {
	info, err := os.Stat(d.path)
	if err != nil || info.Size() < compactLeast || int64(d.file.Stats().FreePageN*d.file.Info().PageSize) <= info.Size()/2 {
		return false, err
	}
	started := time.Now()
	if err := compactTo(fresh, d.file.DB); err != nil {
		return false, err
	}
	after, err := os.Stat(fresh)
	if err == nil {
		d.log.Info("state file compacted", "file", d.path, "from", info.Size(), "to", after.Size(), "took", time.Since(started))
	}
	return true, err
}

// compactTo copies a file. The copy is not synced yet.
func compactTo(path string, from *bbolt.DB) (err error) {
	to, err := bbolt.Open(path, 0o600, &bbolt.Options{NoSync: true, NoStatistics: true, FreelistType: bbolt.FreelistMapType})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, to.Close()) }()
	return bbolt.Compact(to, from, compactTogether)
}
