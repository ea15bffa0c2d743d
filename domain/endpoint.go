package domain

import (
	"slices"
	"strconv"
	"strings"
)

// Endpoint names the server at the other end of a channel: a broken connection to it concerns all channels that share it.
func (c Channel) Endpoint() string {
	name := c.Type + "/" + c.Host + "/" + strconv.Itoa(c.Port)
	if c.Secure() {
		name += "/tls"
	}
	return name
}

// Secure reports whether the channel's scheme means TLS.
func (c Channel) Secure() bool {
	k, ok := c.Kind()
	return ok && slices.Contains(k.secure, c.Scheme)
}

// Target names where on its Endpoint a channel leads: the path of a URL, the topic at a broker, the first recipient of an e-mail. An answer
// with an error concerns the target alone.
func (c Channel) Target() string {
	if k, ok := c.Kind(); ok && k.path != nil {
		if path := k.path(c); path != "" {
			return c.Endpoint() + "/" + path
		}
	}
	return c.Endpoint()
}

// ShownTarget returns the name of a target for people: without a query, which may have a token, and without the address of a person.
func ShownTarget(target string) string {
	channelType, _, _ := strings.Cut(target, "/")
	if k, ok := ChannelKindOf(channelType); ok && k.personal {
		return Channel{Type: channelType}.Endpoint()
	}
	name, _, _ := strings.Cut(target, "?")
	return name
}

// EndpointState is how the delivery to an endpoint goes at a moment.
type EndpointState struct {
	Target   string // as Channel.Target names it; a query in it may have a token
	Endpoint string // its name for people: without the query, and for e-mail without the recipient
	// Waiting are the transmissions that are queued for it, and More says that there are others on record. UnderWay are
	// the sends that have begun.
	Waiting, UnderWay int
	More              bool
	// Failures is how many sends in a row have failed, at the target or at its server, whichever is more. PausedUntil, in milliseconds
	// since the Unix epoch, is when a probe is sent; 0 where there is no pause.
	Failures    int
	PausedUntil int64
	// Socket is who listens at the socket of a ZeroMQ channel; nil for all else.
	Socket *SocketState
}

// SocketState is who listens at a ZeroMQ socket at a moment.
type SocketState struct {
	Subscribers int // connected
	// Topics are what they asked for, and MoreTopics counts those that are left out.
	Topics     []TopicCount
	MoreTopics int
	// Published counts messages since the socket was bound, and Drops those that were lost, once for each subscriber.
	Published, Drops uint64
	// QueuedMessages and QueuedBytes wait for all subscribers together.
	QueuedMessages, QueuedBytes int
}

// TopicCount is a topic with the number of subscribers that asked for it.
type TopicCount struct {
	Topic       string
	Subscribers int
}
