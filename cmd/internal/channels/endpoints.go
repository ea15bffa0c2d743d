package channels

import (
	"slices"
	"strings"

	"ledge/bridge/zeromq"
	"ledge/domain"
)

// topicsShown bounds the topics of one ZeroMQ socket in an answer.
const topicsShown = 100

// Endpoints implements notifications.Deliveries: the endpoints of the delivery, and then the ZeroMQ sockets for which nothing
// waits.
func (cs *Channels) Endpoints() []domain.EndpointState {
	list := cs.Delivery.Endpoints()
	for _, a := range cs.Sockets.AllListeners(topicsShown) {
		name := domain.Channel{Type: domain.ChannelZeroMQ, Host: a.Host, Port: a.Port}.Endpoint()
		i := slices.IndexFunc(list, func(e domain.EndpointState) bool { return e.Endpoint == name })
		if i < 0 {
			i, list = len(list), append(list, domain.EndpointState{Endpoint: name})
		}
		list[i].Socket = socketState(a)
	}
	return list
}

// topicShownBytes bounds one topic in an answer.
const topicShownBytes = 256

func shownTopic(topic string) string {
	return strings.ToValidUTF8(topic[:min(len(topic), topicShownBytes)], "\uFFFD")
}

func socketState(a zeromq.Listeners) *domain.SocketState {
	s := &domain.SocketState{
		Subscribers: a.Subscribers, MoreTopics: a.MoreTopics, Published: a.Published, Drops: a.Drops, QueuedMessages: a.QueuedMessages, QueuedBytes: a.QueuedBytes,
	}
	for _, t := range a.Topics {
		s.Topics = append(s.Topics, domain.TopicCount{Topic: shownTopic(t.Topic), Subscribers: t.Subscribers})
	}
	return s
}
