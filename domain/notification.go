package domain

import "strings"

// Notification is something that subscribers are told.
type Notification struct {
	ID          string   `json:"id"`
	Category    string   `json:"category,omitempty"`
	Labels      []string `json:"labels,omitempty"`
	Content     string   `json:"content"`
	ContentType string   `json:"contentType,omitempty"`
	Description string   `json:"description,omitempty"`
	Sender      string   `json:"sender"`
	Severity    string   `json:"severity"`
	Status      string   `json:"status"`
	Created     int64    `json:"created"`
	Modified    int64    `json:"modified"`
	// Acknowledged says that a client has taken note, as in EdgeX 4; it changes nothing of the delivery.
	Acknowledged bool `json:"acknowledged,omitempty"`

	// Cause is the sequence on the event stream of the device change that raised the notification, 0 for one that
	// was posted.
	Cause uint64 `json:"cause,omitempty"`
	// Matched names the subscriptions that matched as of Cause, or, for a posted one, when it was delivered. Where several events record
	// its transmissions, names beyond maxMatchedBytes are left out.
	Matched []string `json:"matched,omitempty"`
	// Open counts the transmissions that have no outcome yet; with the last one's the notification is PROCESSED.
	Open int `json:"open,omitempty"`
	// Failed counts the transmissions that were given up: the FAILED and the ESCALATED ones.
	Failed int `json:"failed,omitempty"`
	// Partial says that more events follow with transmissions of the notification. Those on record are of the subscriptions up to Upto,
	// in the order of their names.
	Partial bool   `json:"partial,omitempty"`
	Upto    string `json:"upto,omitempty"`
}

// Routed reports whether all channels that the notification goes to are on record.
func (n Notification) Routed() bool { return !n.Partial && (n.Status != StatusNew || n.Open > 0) }

// MaxContent and MaxDescription are the lengths of a notification's content and description in bytes.
const (
	MaxContent     = 1 << 20
	MaxDescription = 64 << 10
)

// maxMatchedBytes bounds the names in Matched of a notification whose transmissions take several events: each of these events, and that of
// each try, repeats them.
const maxMatchedBytes = 64 << 10

// DeviceChanged is the category of the notifications that Ledge raises when a device changes.
const DeviceChanged = "DEVICE_CHANGED"

// DeviceChangedLabel is their label.
const DeviceChangedLabel = "metadata"

// The states of notifications and transmissions, and the severities.
const (
	StatusNew          = "NEW"
	StatusProcessed    = "PROCESSED"
	StatusEscalated    = "ESCALATED"
	StatusSent         = "SENT"
	StatusFailed       = "FAILED"
	StatusResending    = "RESENDING"
	StatusAcknowledged = "ACKNOWLEDGED"

	SeverityMinor    = "MINOR"
	SeverityNormal   = "NORMAL"
	SeverityCritical = "CRITICAL"
)

// Transmission is one notification on one channel of one subscription, with every try.
type Transmission struct {
	ID               string               `json:"id"`
	NotificationID   string               `json:"notificationId"`
	SubscriptionName string               `json:"subscriptionName"`
	Channel          Channel              `json:"channel"`
	ResendCount      int                  `json:"resendCount,omitempty"`
	Status           string               `json:"status"`
	Records          []TransmissionRecord `json:"records"`
	Created          int64                `json:"created"`

	// ResendLimit is how often it is sent again after a try that failed, and ResendInterval the milliseconds before the
	// first of those: what the subscription said when the notification matched it.
	ResendLimit    int   `json:"resendLimit,omitempty"`
	ResendInterval int64 `json:"resendInterval,omitempty"`
	// FixedInterval says that ResendInterval is the time between all tries, as in EdgeX 2.3. Otherwise the time doubles from try to try.
	FixedInterval bool `json:"fixedInterval,omitempty"`
	// Next is when it is tried next, in milliseconds since the Unix epoch, where Status is RESENDING. As in EdgeX 2.3
	// that is the status of what is not given up; here also of what waits for its first try.
	Next int64 `json:"next,omitempty"`
	// CorrelationID is that of the request which the notification follows from.
	CorrelationID string `json:"correlationId,omitempty"`

	// Entity is the device that the notification is about; it is empty for a posted notification. Sequence is that of the event which
	// raised the notification, in its stream. Transmissions of one Entity to one Target are sent in the order of Sequence.
	Entity   string `json:"entity,omitempty"`
	Sequence uint64 `json:"sequence,omitempty"`
	// Critical says that the notification is CRITICAL: its transmissions are sent before others.
	Critical bool `json:"critical,omitempty"`
	// Left are the recipients of an e-mail that the next try goes to; empty for all of them. Refused are those that the mail server has
	// refused for good.
	Left    []string `json:"left,omitempty"`
	Refused []string `json:"refused,omitempty"`
	// ResentAt is when somebody had the transmission sent again last, in milliseconds since the Unix epoch; 0 for never. TriesBefore is the
	// number of tries before that.
	ResentAt    int64 `json:"resentAt,omitempty"`
	TriesBefore int   `json:"triesBefore,omitempty"`
}

// IsOpen reports whether the transmission has no outcome yet.
func (t Transmission) IsOpen() bool { return t.Status == StatusResending }

// IsGivenUp reports whether the transmission did not arrive, and is not tried again.
func (t Transmission) IsGivenUp() bool {
	return t.Status == StatusFailed || t.Status == StatusEscalated
}

// TransmissionRecord is one try; Sent is in milliseconds since the Unix epoch.
type TransmissionRecord struct {
	Status   string `json:"status"`
	Response string `json:"response"`
	Sent     int64  `json:"sent"`
}

// PublishedToNobody begins the response of a message that was published over ZeroMQ while no subscriber wanted its topic. EdgeX's status of
// such a try is SENT.
const PublishedToNobody = "published to 0 "

// ReachedNobody reports whether the message was published and no subscriber got it.
func (r TransmissionRecord) ReachedNobody() bool {
	return strings.HasPrefix(r.Response, PublishedToNobody)
}
