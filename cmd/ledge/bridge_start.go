package main

import (
	"context"

	"ledge/bridge"
	"ledge/cmd/internal/node"
	"ledge/domain"
)

// pending lists the notifications that were in flight at a crash.
func pending(d *node.Node) (pending []domain.Notification, err error) {
	err = d.Read(func() (err error) {
		v, done := d.Notifications.State.View()
		defer done()
		pending, err = bridge.PendingIn(v.Notifications)
		return err
	})
	return pending, err
}

// forgotBeginning reports whether the first events of the notifications or of the changes are gone. The notifications say how far bridge and
// callbacks were, which begin with the first change if they do not know it.
func forgotBeginning(d *node.Node) bool {
	return d.Notifications.Log.First() > 1 || d.Changes.Log.First() > 1
}

// bridgeStart returns where the bridge continues.
func bridgeStart(ctx context.Context, d *node.Node) (at bridge.Start, err error) {
	err = d.Read(func() (err error) { at, err = lookForBridge(d); return err })
	return at, err
}

func lookForBridge(d *node.Node) (bridge.Start, error) {
	v, done := d.Changes.State.View()
	defer done()
	notes, notesDone := d.Notifications.State.State()
	defer notesDone()
	k := bridge.Known{Lists: v, Events: d.Changes.Recorded(), Cursors: notes.Cursors, Forgotten: forgotBeginning(d)}
	k.Notifications, _ = d.Notifications.State.Checkpoint()
	return bridge.StartAt(k)
}
