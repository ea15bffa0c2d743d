package domain

import (
	"cmp"
	"reflect"
)

// checkChannelTypes refuses an event with a channel of a type that only a newer version knows. So a new kind of channel needs no new
// version of the events.
func checkChannelTypes(e Event) error {
	switch e := e.(type) {
	case SubscriptionAdded:
		return checkTypes(e.Subscription.Channels)
	case SubscriptionUpdated:
		return cmp.Or(checkTypes(e.Before.Channels), checkTypes(e.Subscription.Channels))
	case SubscriptionPatched:
		return cmp.Or(checkTypes(channelsOf(e.Update, false)), checkTypes(channelsOf(e.Update, true)))
	case SubscriptionRemoved:
		return checkTypes(e.Subscription.Channels)
	case NotificationProcessed:
		return checkTransmissions(e.Transmissions)
	case NotificationsRaised:
		for i := range e.Raised {
			if err := checkTransmissions(e.Raised[i].Transmissions); err != nil {
				return err
			}
		}
	case TransmissionTried:
		if r := e.Escalated; r != nil {
			return cmp.Or(checkType(e.Transmission.Channel.Type), checkTransmissions(r.Transmissions))
		}
		return checkType(e.Transmission.Channel.Type)
	}
	return nil
}

func checkTransmissions(ts []Transmission) error {
	for i := range ts {
		if err := checkType(ts[i].Channel.Type); err != nil {
			return err
		}
	}
	return nil
}

func checkTypes(channels []Channel) error {
	for i := range channels {
		if err := checkType(channels[i].Type); err != nil {
			return err
		}
	}
	return nil
}

func checkType(channelType string) error {
	if _, ok := ChannelKindOf(channelType); !ok && channelType != "" {
		return unknown("channel type", channelType)
	}
	return nil
}

// channelsOf returns the channels that an update of a subscription made, or, backwards, replaced. Of a channel that changed it returns
// only the fields that differ.
func channelsOf(u Update, backwards bool) []Channel {
	change := u.Changes["channels"]
	list := applied(Changes{"channels": change}, Subscription{}, backwards).Channels
	for _, one := range change.In {
		var c Channel
		apply(reflect.ValueOf(&c).Elem(), one, backwards)
		list = append(list, c)
	}
	return list
}
