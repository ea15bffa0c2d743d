package projections

import (
	"sync"

	"go.etcd.io/bbolt"

	"ledge/domain"
)

// View is the state, with lists. One goroutine at a time may use it, until it is released; what it has returned stays
// good.
//
// All that is read from a View before its first list is as of one checkpoint, that at the call of [DB.View] or a later
// one. The first list writes to the file what is not in it yet; that list and all that is read after it, lists or not,
// are as of one checkpoint too, which is the same one or a later one.
type View struct {
	// State has the tables of this file; those of the other streams are nil.
	domain.State
	d    *DB
	tx   *bbolt.Tx
	rows *bbolt.Bucket // nil where the projection was closed before a list
	// What the file may not have; nil both where the transaction has it all.
	fresh, flushing *overlay
	at              checkpoint // of what is seen of the overlays
	settled         bool       // what is read is from another transaction than at first
	absent          *gaps      // of tx, for a State
	cursor          *bbolt.Cursor
	once            sync.Once // releases
}

// look takes the overlays and begins a transaction, so that both together have everything that was applied.
func (v *View) look() (err error) {
	d := v.d
	d.seen.RLock()
	defer d.seen.RUnlock()
	v.fresh, v.flushing, v.at = d.fresh, d.flushing, d.at()
	v.tx, err = d.bolt.Begin(false)
	return err
}

// bucket finds the rows of a transaction that has begun.
func (v *View) bucket() error {
	v.rows = v.tx.Bucket(bucketName)
	return nil
}

// get returns what the transaction has at a key, nil where it is absent.
func (v *View) get(key []byte) []byte {
	if v.absent == nil {
		return v.rows.Get(key)
	}
	return v.absent.get(v.cursor, key)
}

// settle makes the file all that the view reads from. Lists and indexes need it, because overlays have none. The own
// transaction ends before, since a flush may wait for those that are open.
func (v *View) settle() error {
	if v.fresh == nil && v.flushing == nil {
		if v.rows == nil {
			return ErrClosed
		}
		return nil
	}
	_ = v.tx.Rollback()
	v.rows, v.absent, v.cursor = nil, nil, nil
	failed := v.d.flush(v.at.seq)
	err := v.look()
	if failed == nil {
		v.fresh, v.flushing, v.settled = nil, nil, true
	}
	if err != nil {
		v.fresh, v.flushing = nil, nil
		return ErrClosed
	}
	if err := guarded(v.bucket); err != nil {
		v.d.condemn(err)
		return err
	}
	return failed
}

// Checkpoint returns the sequence and the chain of the last event that the view knows. A list may move it.
func (v *View) Checkpoint() (seq uint64, chain [32]byte) {
	c := v.at
	if v.fresh == nil && v.flushing == nil {
		c = v.filed()
	}
	return c.seq, c.chain
}

// filed returns the checkpoint in the file.
func (v *View) filed() (c checkpoint) {
	if v.rows == nil {
		panic(ErrClosed)
	}
	v.d.must(func() (err error) { c, err = readCheckpoint(v.rows); return err })
	return c
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
