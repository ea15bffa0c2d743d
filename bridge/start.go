package bridge

import (
	"fmt"
	"slices"

	"ledge/domain"
)

// Start is what the projections know when the bridge starts.
type Start struct {
	// Subscriptions are those as of Events, the checkpoint of the event stream.
	Subscriptions []domain.Subscription
	Events        uint64
	// Cursor is the last device change that has its notification, as of Notifications, the checkpoint of the
	// notification stream.
	Cursor        uint64
	Notifications uint64
}

// Known is what StartAt reads.
type Known struct {
	Lists         domain.Lists // as of Events
	Events        uint64
	Cursors       domain.Table[uint64] // as of Notifications
	Notifications uint64
	// Forgotten says that retention has removed the beginning of the notification stream.
	Forgotten bool
}

// StartAt is where the bridge goes on. Where retention has removed the notifications that tell how far the bridge was,
// what is older is not told again.
func StartAt(k Known) (Start, error) {
	at := Start{Events: k.Events, Notifications: k.Notifications}
	at.Cursor, _ = k.Cursors.Get(domain.CursorDeviceChanges)
	if at.Cursor == 0 && k.Forgotten {
		at.Cursor = k.Events
	}
	var err error
	if at.Subscriptions, _, err = k.Lists.Subscriptions(domain.Page{Limit: -1}); err != nil {
		return at, fmt.Errorf("list subscriptions: %w", err)
	}
	return at, nil
}

// pageLength is how many notifications are in memory at once while the pending ones are looked for.
const pageLength = 500

// PendingIn returns the posted notifications of a list that were not routed, or in part, the oldest first: what was in flight at a
// crash. What is routed and NEW still waits for the outcome of its transmissions, which bridge/delivery takes up. What a device change
// raised and is in part on record is raised again.
func PendingIn(list func(domain.Page, ...domain.Filter) ([]domain.Notification, int, error)) (pending []domain.Notification, err error) {
	isNew := domain.Filter{Index: domain.IndexStatus, Value: domain.StatusNew}
	_, total, err := list(domain.Page{}, isNew)
	for offset := 0; err == nil && offset < total; offset += pageLength {
		var page []domain.Notification
		page, total, err = list(domain.Page{Offset: offset, Limit: pageLength}, isNew)
		for _, n := range page {
			if !n.Routed() && (!n.Partial || n.Cause == 0) {
				pending = append(pending, n)
			}
		}
	}
	slices.Reverse(pending)
	return pending, err
}
