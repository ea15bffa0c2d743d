package bridge

import (
	"fmt"
	"strings"

	"ledge/domain"
)

// audience is what Sockets may have beside: who is connected, and to which topics.
type audience interface {
	Subscribed(host string, port int) int
	Connected(host string, port, topics int) (subscribers int, some []string)
}

// The topics that a response names, and how much of each.
const (
	topicsInResponse = 5
	topicInResponse  = 64 // bytes
)

// published is the response on record of a message that was published: how many subscribers are connected, how many of them
// asked for its topic, and where none did, what they asked for.
func (c *channels) published(ch domain.Channel, matching int) string {
	a, ok := c.sockets.(audience)
	if !ok {
		return fmt.Sprintf("published to %d matching subscribers", matching)
	}
	if matching > 0 {
		return fmt.Sprintf("published to %d matching of %d connected subscribers", matching, max(matching, a.Subscribed(ch.Host, ch.Port)))
	}
	connected, some := a.Connected(ch.Host, ch.Port, topicsInResponse)
	switch {
	case connected == 0:
		return domain.PublishedToNobody + "subscribers: none is connected"
	case len(some) == 0:
		return fmt.Sprintf(domain.PublishedToNobody+"matching of %d connected subscribers: they asked for no topic", connected)
	}
	for i, topic := range some {
		some[i] = fmt.Sprintf("%q", topic[:min(len(topic), topicInResponse)])
	}
	const says = "matching of %d connected subscribers: they asked for the topics %s"
	return fmt.Sprintf(domain.PublishedToNobody+says, connected, strings.Join(some, ", "))
}
