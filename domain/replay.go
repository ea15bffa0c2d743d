package domain

import "time"

// ReplayOrder asks to send the notifications that matched a subscription once more. They are those on record from a
// place on the notification stream: From is its sequence, or else what was recorded at Since or later; with neither it is
// the first that is kept.
type ReplayOrder struct {
	Subscription string
	From         uint64
	Since        time.Time
	// Limit is about how many notifications are sent at the most: what one event records is sent whole. 0 is as many as
	// the settings allow.
	Limit int
}

// Replay says what was sent once more.
type Replay struct {
	Subscription string `json:"subscription"`
	// From and Last are sequences of the notification stream: all that matched from the one to the other, both included,
	// was sent. Where there was nothing from From on, Last is the one before it.
	From uint64 `json:"from"`
	Last uint64 `json:"last"`
	// Count is how many notifications were sent, each on all ZeroMQ channels that the subscription has.
	Count int `json:"count"`
	// Dropped counts messages, once for each subscriber that had no room for it in time.
	Dropped int `json:"dropped,omitempty"`
	// More says that there is more on record that was not looked at.
	More bool `json:"more,omitempty"`
}

// DeliveryCursor says how far a subscription has got.
type DeliveryCursor struct {
	// Last is the sequence of the notification stream at which its last delivery is on record, 0 where there is none, and
	// Sent when that was, in milliseconds since the Unix epoch.
	Last uint64
	Sent int64
}

// RecordReplay records what was sent once more.
type RecordReplay struct{ Replay Replay }

// Decide makes no event where nothing was sent.
func (c RecordReplay) Decide(State) (Event, error) {
	if c.Replay.Count == 0 {
		return nil, nil
	}
	return NotificationsReplayed(c), nil
}

// NotificationsReplayed records that what a part of the notification stream has for a subscription was sent once more.
// One event says it for all: each of the notifications has its own record in that part.
type NotificationsReplayed struct {
	Replay Replay `json:"replay"`
}

// Evolve changes nothing: what was delivered before is delivered still.
func (NotificationsReplayed) Evolve(State) {}

// Subject implements Event.
func (e NotificationsReplayed) Subject() Subject {
	return Subject{"replays", e.Replay.Subscription, "replayed"}
}
