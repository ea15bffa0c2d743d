package projections

import (
	"errors"
	"sync"

	"go.etcd.io/bbolt"
)

// pending is bbolt's transaction for writing while it is open. Lists read in it what is not on the disk yet: a list after
// a change costs no fsync. It holds what has come to one overlay, or a part of that, and ends with a flush.
type pending struct {
	tx   *bbolt.Tx     // nil where nothing is pending; changes under DB.writing and lock
	rows *bbolt.Bucket // of tx
	// both is that tx has what is in fresh beside what is in flushing, which stalls: it cannot be committed as flushing alone.
	both bool
	// lock is held for reading by the Views that read tx, until their release, and for writing by what changes it. It is
	// taken after DB.writing.
	lock sync.RWMutex
}

// put brings what an overlay has got since the last put to the transaction, which it begins where there is none. The caller
// holds DB.writing and pending.lock. After an error nothing is pending.
func (d *DB) put(o *overlay) error {
	if d.pending.tx == nil {
		if err := d.beginPending(); err != nil {
			return err
		}
	}
	defer d.writer.reset()
	err := guarded(func() error {
		for _, t := range o.layers {
			if t == nil {
				continue
			}
			if err := t.write(d.pending.rows, d.writer); err != nil {
				return err
			}
		}
		if d.writer.regrouped {
			d.memberVersion++
		}
		if err := d.writer.flush(d.pending.rows); err != nil {
			return err
		}
		return o.end.write(d.pending.rows)
	})
	if err != nil {
		d.dropPending(o)
	}
	return err
}

func (d *DB) beginPending() error {
	tx, err := d.beginWriting()
	if err != nil {
		return err
	}
	err = guarded(func() error {
		d.pending.rows = tx.Bucket(bucketName)
		return nil
	})
	if err != nil {
		return errors.Join(err, ignoreClosed(guarded(tx.Rollback)))
	}
	d.pending.tx = tx
	return nil
}

// gather puts what was applied and is not on the disk into the transaction. The caller holds DB.writing.
func (d *DB) gather() error {
	d.applying.Lock()
	defer d.applying.Unlock()
	switch {
	case d.closed:
		return ErrClosed
	case d.failed() != nil:
		return d.failed()
	}
	d.pending.lock.Lock()
	defer d.pending.lock.Unlock()
	for _, o := range []*overlay{d.flushing, d.fresh} { // while the disk is full, flushing stays; the transaction needs none of the disk
		if o == nil {
			continue
		}
		if err := d.put(o); err != nil {
			return d.writeFailed(err)
		}
	}
	d.pending.both = d.flushing != nil && d.fresh != nil
	return nil
}

// separate takes what is in fresh out of the transaction, so that flushing can be committed. The caller holds DB.writing and applying.
func (d *DB) separate() {
	if !d.pending.both {
		return
	}
	d.pending.lock.Lock()
	defer d.pending.lock.Unlock()
	d.dropPending(d.flushing)
	d.fresh.requeue()
}

// commit writes what is pending, and what the overlay has got since, to the disk, with fsync.
func (d *DB) commit(o *overlay) error {
	d.pending.lock.Lock()
	defer d.pending.lock.Unlock()
	if err := d.put(o); err != nil {
		return err
	}
	id := d.pending.tx.ID()
	err := guarded(d.pending.tx.Commit)
	if err != nil {
		d.dropPending(o)
		return err
	}
	d.committed(id)
	d.pending.tx, d.pending.rows = nil, nil
	return nil
}

// dropPending rolls back what is pending. All of the overlay is put again by the next put.
func (d *DB) dropPending(o *overlay) {
	if d.pending.tx != nil {
		_ = ignoreClosed(guarded(d.pending.tx.Rollback)) // a commit that failed has rolled back, or has panicked
	}
	d.pending.tx, d.pending.rows, d.pending.both = nil, nil, false
	if o != nil {
		o.requeue()
	}
}

// requeue has all of the overlay written by the next put.
func (o *overlay) requeue() {
	for _, t := range o.layers {
		if t != nil {
			t.requeue()
		}
	}
}
