package domain

import "slices"

// Subscription says who is told about which notifications, and over which channels.
type Subscription struct {
	ID          string    `json:"id"`
	Name        string    `json:"name"`
	Description string    `json:"description,omitempty"`
	Receiver    string    `json:"receiver"`
	Channels    []Channel `json:"channels"`
	Categories  []string  `json:"categories,omitempty"`
	Labels      []string  `json:"labels,omitempty"`
	ResendLimit int       `json:"resendLimit,omitempty"`
	// ResendInterval is a text for [ParseDuration].
	ResendInterval string `json:"resendInterval,omitempty"`
	AdminState     string `json:"adminState"`
	Created        int64  `json:"created"`
	Modified       int64  `json:"modified"`
}

// MaxChannels and MaxTags bound the channels, and the categories and labels together, of one subscription: each
// notification that matches makes a transmission for each channel. MaxChannelsBytes bounds the channels as JSON on the log: the
// transmissions of one subscription are recorded by one event. MaxChannelsTogether bounds the channels of all subscriptions: one event removes a
// notification with its transmissions.
const (
	MaxChannels         = 64
	MaxTags             = 256
	MaxChannelsBytes    = 1 << 20
	MaxChannelsTogether = 100_000
)

// EscalationSubscription is the name of the subscription that is told of critical notifications that did not arrive, as
// in EdgeX 2.3.
const EscalationSubscription = "ESCALATION"

// Matches reports whether the subscription is unlocked and asks for n. A posted notification matches, as in EdgeX 2.3, if the subscription
// has the notification's category, where it has one, and all its labels. One that Ledge raises itself matches by its category or by a label.
func (s Subscription) Matches(n Notification) bool {
	if s.AdminState != StateUnlocked || n.Category == "" && len(n.Labels) == 0 {
		return false
	}
	category := n.Category != "" && slices.Contains(s.Categories, n.Category)
	asksFor := func(label string) bool { return slices.Contains(s.Labels, label) }
	if n.Cause != 0 {
		return category || slices.ContainsFunc(n.Labels, asksFor)
	}
	return (category || n.Category == "") && !slices.ContainsFunc(n.Labels, func(l string) bool { return !asksFor(l) })
}
