package node

import (
	"fmt"

	"ledge/domain"
	"ledge/store"
)

// follows returns the last change that notifications and callbacks follow.
func (n *Node) follows() (seq uint64) {
	notes, done := n.Notifications.State.State()
	defer done()
	for _, name := range []string{domain.CursorDeviceChanges, domain.CursorCallbacks} {
		at, _ := notes.Cursors.Get(name)
		seq = max(seq, at)
	}
	return seq
}

// checkFollows holds that the log of changes has what the notifications follow: else notifications and callbacks would wait until it has.
func (n *Node) checkFollows() error {
	last, _ := n.Changes.Log.Last()
	return n.Read(func() error {
		if at := n.follows(); at > last {
			return NewLostChanges(last, at)
		}
		return nil
	})
}

// NewLostChanges is the damage of a log of changes that ends before an event that the notifications follow.
func NewLostChanges(last, at uint64) error {
	return &store.Damage{Stream: store.EventsStream, Seq: last + 1, What: fmt.Sprintf(
		"the log ends at %d, and notifications or callbacks follow event %d: it lost events, or is an older copy than %s", last, at, store.NotificationsStream)}
}
