package node

import (
	"fmt"

	"ledge/domain"
	"ledge/projections"
	"ledge/store"
)

// follows returns the last change that notifications and callbacks follow.
func (n *Node) follows() (seq uint64, err error) {
	err = n.Notifications.Read(func(v *projections.View) error {
		for _, name := range []string{domain.CursorDeviceChanges, domain.CursorCallbacks} {
			at, _ := v.Cursors.Get(name)
			seq = max(seq, at)
		}
		return nil
	})
	return seq, err
}

// checkFollows holds that the log of changes has what the notifications follow: else notifications and callbacks would wait until it has.
func (n *Node) checkFollows() error {
	last, _ := n.Changes.Log.Last()
	at, err := n.follows()
	if err == nil && at > last {
		err = NewLostChanges(last, at)
	}
	return err
}

// NewLostChanges is the damage of a log of changes that ends before an event that the notifications follow.
func NewLostChanges(last, at uint64) error {
	return &store.Damage{Stream: store.EventsStream, Seq: last + 1, What: fmt.Sprintf(
		"the log ends at %d, and notifications or callbacks follow event %d: it lost events, or is an older copy than %s", last, at, store.NotificationsStream)}
}
