package domain

import "reflect"

// checkChannelTypes refuses an event with a channel of a type that only a newer version knows. So a new kind of channel needs no new
// version of the events.
func checkChannelTypes(e Event) (err error) {
	check := func(channelType string) {
		if _, ok := ChannelKindOf(channelType); !ok && channelType != "" {
			err = unknown("channel type", channelType)
		}
	}
	checkAll := func(channels []Channel) {
		for i := range channels {
			check(channels[i].Type)
		}
	}
	checkSent := func(ts []Transmission) {
		for i := range ts {
			check(ts[i].Channel.Type)
		}
	}
	switch e := e.(type) {
	case SubscriptionAdded:
		checkAll(e.Subscription.Channels)
	case SubscriptionUpdated:
		checkAll(e.Before.Channels)
		checkAll(e.Subscription.Channels)
	case SubscriptionPatched:
		checkAll(channelsOf(e.Update, false))
		checkAll(channelsOf(e.Update, true))
	case SubscriptionRemoved:
		checkAll(e.Subscription.Channels)
	case NotificationProcessed:
		checkSent(e.Transmissions)
	case NotificationsRaised:
		for i := range e.Raised {
			checkSent(e.Raised[i].Transmissions)
		}
	case TransmissionsResent:
		checkSent(e.Transmissions)
	case TransmissionTried:
		check(e.Transmission.Channel.Type)
		if r := e.Escalated; r != nil {
			checkSent(r.Transmissions)
		}
	}
	return err
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
