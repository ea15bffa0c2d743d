package zeromq

import (
	"cmp"
	"slices"
	"strings"
)

// Listeners is who listens at a bound socket at a moment.
type Listeners struct {
	Host        string // as first acquired
	Port        int
	Subscribers int          // connected
	Topics      []TopicCount // that they asked for, those that most of them asked for first
	MoreTopics  int          // topics that are left out
	Published   uint64       // messages since the socket was bound
	Drops       uint64       // see Publisher.Drops
	// QueuedMessages and QueuedBytes wait for all subscribers together.
	QueuedMessages, QueuedBytes int
}

// TopicCount is a topic with the number of subscribers that asked for it.
type TopicCount struct {
	Topic       string
	Subscribers int
}

// AllListeners returns who listens at each socket, with so many topics of each at most, by port and host.
func (s *Sockets) AllListeners(topics int) []Listeners {
	s.mu.RLock()
	bound := make([]*shared, 0, len(s.bound))
	for _, sock := range s.bound {
		bound = append(bound, sock)
	}
	s.mu.RUnlock()
	list := make([]Listeners, len(bound))
	for i, sock := range bound {
		list[i] = sock.listeners(topics)
	}
	slices.SortFunc(list, func(a, b Listeners) int { return cmp.Or(a.Port-b.Port, strings.Compare(a.Host, b.Host)) })
	return list
}

// ListenersOf returns who listens at an acquired socket; the error is that of Publish.
func (s *Sockets) ListenersOf(host string, port, topics int) (Listeners, error) {
	sock, err := s.socket(Channel{Host: host, Port: port})
	if err != nil {
		return Listeners{}, err
	}
	return sock.listeners(topics), nil
}

// Connected returns how many subscribers an acquired socket has, and some topics that they asked for.
func (s *Sockets) Connected(host string, port, topics int) (subscribers int, some []string) {
	sock, err := s.socket(Channel{Host: host, Port: port})
	if err != nil {
		return 0, nil
	}
	a := sock.listeners(topics)
	for _, t := range a.Topics {
		some = append(some, t.Topic)
	}
	return a.Subscribers, some
}

// Subscribed returns how many subscribers an acquired socket has.
func (s *Sockets) Subscribed(host string, port int) int {
	sock, err := s.socket(Channel{Host: host, Port: port})
	if err != nil {
		return 0
	}
	return sock.Subscribers()
}

func (s *shared) listeners(topics int) Listeners {
	a := Listeners{Host: s.host, Port: s.Port(), Published: s.published.Load(), Drops: s.Drops()}
	counts := map[string]int{}
	for _, sub := range s.connected() {
		if sub.joined.Load() {
			a.Subscribers++
		}
		sub.subs.count(counts)
		messages, bytes := sub.queue.waiting()
		a.QueuedMessages += messages
		a.QueuedBytes += bytes
	}
	for topic, n := range counts {
		a.Topics = append(a.Topics, TopicCount{topic, n})
	}
	slices.SortFunc(a.Topics, func(x, y TopicCount) int {
		return cmp.Or(y.Subscribers-x.Subscribers, strings.Compare(x.Topic, y.Topic))
	})
	a.MoreTopics = max(0, len(a.Topics)-topics)
	a.Topics = a.Topics[:len(a.Topics)-a.MoreTopics]
	return a
}

// count adds one for each topic.
func (s *subscriptions) count(topics map[string]int) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	for t := range s.refs {
		topics[t]++
	}
}

// waiting is what is queued.
func (q *queue) waiting() (messages, bytes int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.messages, q.bytes
}
