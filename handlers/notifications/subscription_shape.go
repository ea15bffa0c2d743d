package notifications

import (
	"reflect"

	"ledge/domain"
	"ledge/handlers"
)

// subscriptionShape is a subscription in requests and answers, its fields in the order of EdgeX 2.3.
type subscriptionShape struct {
	Created        int64          `json:"created,omitempty" patch:"-"`
	Modified       int64          `json:"modified,omitempty" patch:"-"`
	ID             string         `json:"id,omitempty"`
	Name           string         `json:"name"`
	Channels       []channelShape `json:"channels"`
	Receiver       string         `json:"receiver"`
	Categories     []string       `json:"categories,omitempty"`
	Labels         []string       `json:"labels,omitempty"`
	Description    string         `json:"description,omitempty"`
	ResendLimit    int            `json:"resendLimit,omitempty"`
	ResendInterval string         `json:"resendInterval,omitempty"`
	AdminState     string         `json:"adminState"`
}

// SubscriptionShape is the struct of a subscription in requests.
var SubscriptionShape = reflect.TypeFor[subscriptionShape]()

type subscriptionAnswer struct {
	handlers.Envelope
	Subscription subscriptionShape `json:"subscription"`
}

// subscription returns the entity that a request describes; its id and times are the caller's.
func (d subscriptionShape) subscription() domain.Subscription {
	return domain.Subscription{
		ID: d.ID, Name: d.Name, Description: d.Description, Receiver: d.Receiver, Channels: channels(d.Channels),
		Categories: d.Categories, Labels: d.Labels, ResendLimit: d.ResendLimit, ResendInterval: d.ResendInterval,
		AdminState: d.AdminState,
	}
}

func (s service) shapeSubscription(d domain.Subscription) subscriptionShape {
	return subscriptionShape{
		Created: d.Created, Modified: d.Modified, ID: d.ID, Name: d.Name, Channels: shapeChannels(d.Channels, s.channels.ServerKey()), Receiver: d.Receiver,
		Categories: d.Categories, Labels: d.Labels, Description: d.Description, ResendLimit: d.ResendLimit,
		ResendInterval: d.ResendInterval, AdminState: d.AdminState,
	}
}
