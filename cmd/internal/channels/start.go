package channels

import (
	"ledge/bridge"
	"ledge/cmd/internal/node"
	"ledge/domain"
	"ledge/projections"
)

// pending lists the notifications that were in flight at a crash.
func pending(d *node.Node) (pending []domain.Notification, err error) {
	err = d.Notifications.Read(func(v *projections.View) (err error) {
		pending, err = bridge.PendingIn(v.Notifications)
		return err
	})
	return pending, err
}

// forgotBeginning reports whether the first events of the notifications or of the changes are gone. The notifications say how far bridge
// and callbacks were, which begin with the first change if they do not know it.
func forgotBeginning(d *node.Node) bool {
	return d.Notifications.Log.First() > 1 || d.Changes.Log.First() > 1
}

// bridgeStart returns where the bridge continues.
func bridgeStart(d *node.Node) (at bridge.Start, err error) {
	err = readBoth(d, func(changes, notes *projections.View) (err error) {
		at, err = bridge.StartAt(bridge.Known{
			Lists: changes, Events: d.Changes.Recorded(), Cursors: notes.Cursors, Forgotten: forgotBeginning(d), Notifications: d.Notifications.Recorded(),
		})
		return err
	})
	return at, err
}

// readBoth has f read the state of the changes and of the notifications.
func readBoth(d *node.Node, f func(changes, notes *projections.View) error) error {
	return d.Changes.Read(func(changes *projections.View) error {
		return d.Notifications.Read(func(notes *projections.View) error { return f(changes, notes) })
	})
}
