package domain

import (
	"math"
	"regexp"
	"slices"
	"strings"
	"time"

	"ledge/domain/moment"
)

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

// BusReplayOrder says which messages of the logs to publish again on the bus, for tests of consumers.
type BusReplayOrder struct {
	// ID is the second token of the subjects; "" for a new one.
	ID string
	// From and To are included. Sequences choose events of the log of changes alone, times messages of all logs in the order of their
	// times. A zero From is the first event or message, a zero To the last at the time of the order.
	From, To moment.Moment
	// Speed is how many times as fast as they were recorded messages are published; 0 for as fast as subscribers read.
	Speed float64
	// Subject chooses messages by their subject, as NATS does; "" for all.
	Subject string
	Actor   string
}

// BusReplay is how far a replay on the bus is. Times are in milliseconds since the Unix epoch; 0 for none.
type BusReplay struct {
	ID      string  `json:"id"`
	Subject string  `json:"subject"` // to subscribe to
	State   string  `json:"state"`   // such as ReplayRuns
	Error   string  `json:"error,omitempty"`
	Actor   string  `json:"actor"`
	Speed   float64 `json:"speed"` // 0 for as fast as subscribers read
	Started int64   `json:"started"`
	Ended   int64   `json:"ended,omitempty"`
	Sent    uint64  `json:"sent"` // messages
	// Last is the time at which the last message was recorded that was sent.
	Last int64 `json:"last,omitempty"`
}

// The states of a replay on the bus.
const (
	ReplayRuns    = "running"
	ReplayDone    = "done"
	ReplayStopped = "stopped"
	ReplayFailed  = "failed"
)

// ReplaySpeedMost is the highest speed of a replay on the bus, but for 0.
const ReplaySpeedMost = 1_000_000

// replayID is one token of a subject.
var replayID = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

// Check returns the first fault of an order.
func (o BusReplayOrder) Check() error {
	from, to := o.From, o.To
	switch {
	case !replayID.MatchString(o.ID):
		return FieldErrorf("id", "%.80q is not an id; use 1 to 64 letters, digits, - and _", o.ID)
	case o.Speed < 0 || o.Speed > ReplaySpeedMost || math.IsNaN(o.Speed):
		return FieldErrorf("speed", "%v is out of range; use a number up to %d, or max", o.Speed, ReplaySpeedMost)
	case o.Subject != "" && !isSubjectFilter(o.Subject):
		return FieldErrorf("subject", "%.80q is not a subject; use one such as ledge.event.device.>", o.Subject)
	case from.Sequence > 0 && !to.Time.IsZero() || to.Sequence > 0 && !from.Time.IsZero():
		return FieldErrorf("to", "one of from and to is a sequence and the other a time; give two of one kind")
	case to.Sequence > 0 && from.Sequence > to.Sequence || !to.Time.IsZero() && from.Time.After(to.Time):
		return FieldErrorf("to", "is before from; exchange them")
	}
	return nil
}

// isSubjectFilter reports whether a text is a subject of NATS, with or without wildcards.
func isSubjectFilter(text string) bool {
	tokens := strings.Split(text, ".")
	return !strings.ContainsAny(text, " \t\r\n\f") && !slices.Contains(tokens, "") && !slices.Contains(tokens[:len(tokens)-1], ">")
}
