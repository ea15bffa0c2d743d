package domain

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

	// Cause is the sequence on the event stream of the device change that raised the notification, 0 for one that
	// was posted.
	Cause uint64 `json:"cause,omitempty"`
	// Matched names the subscriptions that matched as of Cause, or, for a posted one, when it was delivered.
	Matched []string `json:"matched,omitempty"`
}

// MaxContent is the length of a notification's content in bytes.
const MaxContent = 1 << 20

// DeviceChanged is the category of the notifications that Ledge raises when a device changes.
const DeviceChanged = "DEVICE_CHANGED"

// The states of notifications and transmissions, and the severities.
const (
	StatusNew       = "NEW"
	StatusProcessed = "PROCESSED"
	StatusEscalated = "ESCALATED"
	StatusSent      = "SENT"
	StatusFailed    = "FAILED"

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
}

// TransmissionRecord is one try; Sent is in milliseconds since the Unix epoch.
type TransmissionRecord struct {
	Status   string `json:"status"`
	Response string `json:"response"`
	Sent     int64  `json:"sent"`
}
