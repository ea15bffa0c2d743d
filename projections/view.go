package projections

import (
	"errors"
	"fmt"
	"sync"

	"go.etcd.io/bbolt"
	bbolterrors "go.etcd.io/bbolt/errors"

	"ledge/domain"
)

// View is the state, with lists. One goroutine at a time may use it, until it is released; what it has returned stays
// good.
//
// All that is read from a View before its first list is as of one checkpoint, that at the call of [DB.View] or a later
// one. That list and all that is read after it, lists or not, are as of one checkpoint too, which is the same one or a later
// one. A View holds a transaction: release it soon.
type View struct {
	// State has the tables of this file; those of the other streams are nil.
	domain.State
	d    *DB
	file *file         // where it reads
	tx   *bbolt.Tx     // nil where the projection is closed, or cannot be read
	rows *bbolt.Bucket // of tx
	// stalled is that tx is for writing, and the View holds DB.writing: see unflushed.
	stalled bool
	// What the file may not have; nil both where the transaction has it all.
	fresh, flushing *memtable
	at              checkpoint // of what is seen with the memtables
	filed           checkpoint // of the transaction
	looks           int        // how often the view has begun to read from another transaction
	cursor          *bbolt.Cursor
	why             error     // there is no transaction, where it is damage
	once            sync.Once // releases
}

// look takes the memtables and begins a transaction, so that both together have everything that was applied. Where the file has
// moved past the memtables meanwhile, it looks again.
func (v *View) look() error {
	for {
		d := v.d
		d.mu.Lock()
		closed := d.closed
		v.fresh, v.flushing, v.at = d.fresh, d.flushing, d.at()
		d.mu.Unlock()
		if closed {
			return ErrClosed
		}
		if err := v.begin(); err != nil || v.filed.seq <= v.at.seq {
			return err
		}
		v.end()
	}
}

// begin begins a transaction for reading.
func (v *View) begin() error {
	v.file = v.d.file
	v.looks++
	err := guarded(func() (err error) {
		if v.tx, err = v.file.read(); err != nil {
			return err
		}
		if v.rows = v.tx.Bucket(bucketName); v.rows == nil {
			return damage{fmt.Errorf("the bucket %q is not there", bucketName)}
		}
		v.filed, err = readCheckpoint(v.rows)
		return err
	})
	if errors.Is(err, bbolterrors.ErrDatabaseNotOpen) {
		err = ErrClosed
	}
	if err != nil {
		v.end()
		v.why = v.d.noteDamage(err)
	}
	return err
}

// end lets go of the transaction.
func (v *View) end() {
	switch {
	case v.stalled:
		_ = guarded(v.tx.Rollback)
		v.d.writing.Unlock()
	case v.tx != nil:
		v.file.done(v.tx)
	}
	v.tx, v.rows, v.cursor, v.stalled = nil, nil, nil, false
}

// get returns what the transaction has at a key, nil where it is absent.
func (v *View) get(key []byte) []byte {
	if v.cursor == nil {
		return fetch(v.rows, key)
	}
	return seek(v.cursor, key)
}

// row returns the row at a key, nil where it is absent.
func (v *View) row(key []byte) (row []byte) {
	for _, m := range [...]*memtable{v.fresh, v.flushing} {
		if row, known := m.get(key); known {
			return row
		}
	}
	v.readable()
	v.must(func() error { row = v.get(key); return nil })
	return row
}

// flushed makes one transaction all that the view reads from. Lists need it, because memtables have no indexes: what was applied
// is flushed first. The own transaction ends before, since a flush may wait for those that are open. After an error the view is as
// [DB.View] makes it.
func (v *View) flushed() error {
	if v.fresh == nil && v.flushing == nil {
		return v.unreadable()
	}
	v.end()
	err := v.d.flush(v.at.seq)
	switch {
	case err == nil:
		v.fresh, v.flushing = nil, nil
		err = v.begin()
	case domain.CodeOf(err) == domain.Full:
		err = v.unflushed()
	}
	if err == nil {
		return nil
	}
	if again := v.look(); again != nil {
		return again
	}
	return err
}

// unflushed has the view read what a full disk has no room for in a transaction for writing that is never committed. The view holds DB.writing
// until its release: another list, and the next try to flush, wait for it.
func (v *View) unflushed() error {
	d := v.d
	d.writing.Lock()
	tx, err := d.putUncommitted()
	if err != nil {
		d.writing.Unlock()
		return err
	}
	v.looks++
	v.file, v.fresh, v.flushing = d.file, nil, nil
	v.tx, v.rows, v.stalled = tx, tx.Bucket(bucketName), true
	v.filed, err = readCheckpoint(v.rows)
	return err
}

// putUncommitted begins a transaction that has everything that was applied. The caller holds writing.
func (d *DB) putUncommitted() (*bbolt.Tx, error) {
	d.mu.Lock()
	closed, waiting := d.closed, []*memtable{d.flushing, d.fresh}
	d.mu.Unlock()
	switch {
	case closed:
		return nil, ErrClosed
	case d.failed() != nil:
		return nil, d.failed()
	}
	tx, err := d.beginWriting()
	if err != nil {
		return nil, d.writeFailed(err)
	}
	err = guarded(func() error {
		for _, o := range waiting {
			if o == nil {
				continue
			}
			if err := d.put(tx, o); err != nil {
				return err
			}
		}
		return nil
	})
	if err = d.abandon(tx, false, err); err != nil {
		return nil, d.writeFailed(err)
	}
	return tx, nil
}

// Checkpoint returns the sequence and the chain of the last event that the view knows. A list may move it.
func (v *View) Checkpoint() (seq uint64, chain [32]byte) {
	c := v.at
	if v.fresh == nil && v.flushing == nil {
		c = v.filed
	}
	return c.seq, c.chain
}

// readable panics where there is no transaction.
func (v *View) readable() {
	if err := v.unreadable(); err != nil {
		panic(err)
	}
}

// unreadable returns why there is no transaction, nil where there is one.
func (v *View) unreadable() error {
	switch {
	case v.rows != nil:
		return nil
	case v.why != nil:
		return v.why
	}
	return ErrClosed
}

// Each list is newest first, by the modified time; what was put by the later event comes first among equals. total is
// how many there are on all pages. An offset beyond total is a [domain.Error] of code OutOfRange.

// Profiles lists device profiles: all, or by Label, Manufacturer, Model.
func (v *View) Profiles(p Page, filters ...Filter) (list []domain.Profile, total int, err error) {
	return pageOf(v, profiles, p, filters)
}

// Services lists device services: all, or by Label.
func (v *View) Services(p Page, filters ...Filter) (list []domain.DeviceService, total int, err error) {
	return pageOf(v, services, p, filters)
}

// Devices lists devices: all, or by Label, ByProfile, ByService.
func (v *View) Devices(p Page, filters ...Filter) (list []domain.Device, total int, err error) {
	return pageOf(v, devices, p, filters)
}

// Watchers lists provision watchers: all, or by Label, ByProfile, ByService.
func (v *View) Watchers(p Page, filters ...Filter) (list []domain.ProvisionWatcher, total int, err error) {
	return pageOf(v, watchers, p, filters)
}

// Subscriptions lists subscriptions: all, or by Label, Category, Receiver.
func (v *View) Subscriptions(p Page, filters ...Filter) (list []domain.Subscription, total int, err error) {
	return pageOf(v, subscriptions, p, filters)
}

// Users lists all users.
func (v *View) Users(p Page, filters ...Filter) (list []domain.User, total int, err error) {
	return pageOf(v, users, p, filters)
}

// Tokens lists all tokens.
func (v *View) Tokens(p Page, filters ...Filter) (list []domain.Token, total int, err error) {
	return pageOf(v, tokens, p, filters)
}

// Notifications lists notifications: all, or by Label, Category, Status, BySubscription, Between.
func (v *View) Notifications(p Page, filters ...Filter) (list []domain.Notification, total int, err error) {
	return pageOf(v, notifications, p, filters)
}

// Transmissions lists transmissions by their created time: all, or by Status, BySubscription, ByNotification, Between.
func (v *View) Transmissions(p Page, filters ...Filter) (list []domain.Transmission, total int, err error) {
	return pageOf(v, transmissions, p, filters)
}

// DataEvents lists the events of core-data by their origin: all, or by ByDevice, IndexSource, Between.
func (v *View) DataEvents(p Page, filters ...Filter) (list []domain.DataEvent, total int, err error) {
	return pageOf(v, dataEvents, p, filters)
}

// Readings lists readings by their origin: all, or by ByDevice, ByResource, IndexDeviceResource, IndexDigest, Between.
func (v *View) Readings(p Page, filters ...Filter) (list []domain.Reading, total int, err error) {
	return pageOf(v, readings, p, filters)
}

var _ domain.Lists = (*View)(nil)
