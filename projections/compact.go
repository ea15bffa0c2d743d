package projections

import (
	"errors"
	"os"
	"time"

	"go.etcd.io/bbolt"

	"ledge/store/osfile"
)

const (
	// compactLeast is the size from which a file is worth compacting.
	compactLeast = 16 << 20
	// compactTogether is about how many bytes one transaction copies.
	compactTogether = 4 << 20
)

// compact writes the file anew, without free pages, if these are more than half of it: bbolt keeps the pages of rows that retention has
// removed. It reports whether it has. The file that is not open stays whole whatever happens; where there is no room for another it stays
// as it is.
func (d *DB) compact() (done bool, err error) {
	info, err := os.Stat(d.path)
	if err != nil || info.Size() < compactLeast {
		return false, err
	}
	started, fresh := time.Now(), unfinished(d.path)
	err = guarded(func() error {
		from, err := bbolt.Open(d.path, 0o600, &bbolt.Options{ReadOnly: true, Timeout: d.lockFor, PreLoadFreelist: true})
		if err != nil {
			return whyClosed(err)
		}
		defer from.Close()
		if free := from.Stats().FreePageN * from.Info().PageSize; int64(free) <= info.Size()/2 {
			return nil
		}
		done = true
		return compactTo(fresh, from)
	})
	if err == nil && done {
		var f *os.File
		if f, err = os.OpenFile(fresh, os.O_RDWR, 0); err == nil {
			err = osfile.Publish(f, d.path, nil)
		}
	}
	if err != nil || !done {
		done = false
		err = errors.Join(err, removeIfThere(fresh))
		if osfile.IsFull(err) {
			d.log.Warn("a state file that is more than half empty is not compacted: the disk has no room for another one", "file", d.path)
			return false, nil
		}
		if isDamage(err) || unreadable(err) {
			return false, &distrust{err}
		}
		return false, err
	}
	after, err := os.Stat(d.path)
	if err == nil {
		d.log.Info("state file compacted", "file", d.path, "from", info.Size(), "to", after.Size(), "took", time.Since(started))
	}
	return true, err
}

// compactTo copies a file. The copy is not synced yet.
func compactTo(path string, from *bbolt.DB) error {
	to, err := bbolt.Open(path, 0o600, &bbolt.Options{NoSync: true, NoStatistics: true, FreelistType: bbolt.FreelistMapType})
	if err != nil {
		return err
	}
	if err := bbolt.Compact(to, from, compactTogether); err != nil {
		return errors.Join(err, to.Close())
	}
	return to.Close()
}
