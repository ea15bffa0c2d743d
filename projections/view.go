package projections

import (
	"go.etcd.io/bbolt"

	"ledge/domain"
)

// View is the state at one checkpoint, with lists. One goroutine at a time may use it, until it is released; what it
// has returned stays good.
type View struct {
	// State has the tables of this file; those of the other streams are nil.
	domain.State
	d    *DB
	rows *bbolt.Bucket
}

// Checkpoint returns the sequence and the chain of the last event that the view knows.
func (v *View) Checkpoint() (seq uint64, chain [32]byte) {
	var c checkpoint
	v.d.must(func() (err error) { c, err = readCheckpoint(v.rows); return err })
	return c.seq, c.chain
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

// Readings lists readings by their origin: all, or by ByDevice, ByResource, Between.
func (v *View) Readings(p Page, filters ...Filter) (list []domain.Reading, total int, err error) {
	return pageOf(v, readings, p, filters)
}

var _ domain.Lists = (*View)(nil)
