package bridge

import (
	"fmt"
	"sync"

	"ledge/domain"
)

// Sockets are the PUB sockets of the ZeroMQ channels, one for each host and port, counted by use.
type Sockets interface {
	Acquire(host string, port int) error
	Release(host string, port int)
	Publish(host string, port int, topic string, body []byte) (subscribers int, err error)
}

// channels holds the sockets of every channel of every subscription. A channel whose socket cannot be bound (its port
// was taken while Ledge was down) is tried again at each delivery.
type channels struct {
	sockets Sockets
	mu      sync.Mutex
	unbound map[endpoint]int // uses that still wait for their socket
}

type endpoint struct {
	host string
	port int
}

func newChannels(s Sockets) *channels { return &channels{sockets: s, unbound: map[endpoint]int{}} }

// hold acquires the sockets of a subscription that is on record; the error says which stay unbound for now.
func (c *channels) hold(list []domain.Channel) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	var failed error
	for _, ch := range list {
		if err := c.sockets.Acquire(ch.Host, ch.Port); err != nil {
			c.unbound[endpoint{ch.Host, ch.Port}]++
			failed = err
		}
	}
	return failed
}

func (c *channels) release(list []domain.Channel) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, ch := range list {
		c.releaseOne(endpoint{ch.Host, ch.Port})
	}
}

func (c *channels) releaseOne(e endpoint) {
	if c.unbound[e] == 0 {
		c.sockets.Release(e.host, e.port)
		return
	}
	if c.unbound[e]--; c.unbound[e] == 0 {
		delete(c.unbound, e)
	}
}

// send publishes n on one channel and returns what to put on record.
func (c *channels) send(ch domain.Channel, n domain.Notification) (status, response string) {
	if err := c.bindAgain(endpoint{ch.Host, ch.Port}); err != nil {
		return domain.StatusFailed, err.Error()
	}
	subscribers, err := c.sockets.Publish(ch.Host, ch.Port, ch.Topic, []byte(n.Content))
	if err != nil {
		return domain.StatusFailed, err.Error()
	}
	return domain.StatusSent, fmt.Sprintf("published to %d connected subscribers", subscribers)
}

func (c *channels) bindAgain(e endpoint) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	for c.unbound[e] > 0 {
		if err := c.sockets.Acquire(e.host, e.port); err != nil {
			return err
		}
		if c.unbound[e]--; c.unbound[e] == 0 {
			delete(c.unbound, e)
		}
	}
	return nil
}

// reserve acquires all of list or nothing.
func (c *channels) reserve(list []domain.Channel) error {
	for i, ch := range list {
		if err := c.sockets.Acquire(ch.Host, ch.Port); err != nil {
			for _, had := range list[:i] {
				c.sockets.Release(had.Host, had.Port)
			}
			return domain.Errorf(domain.Invalid, "channels[%d]: port %d on host %q cannot be bound: %v; choose another port or host, or stop what uses it", i, ch.Port, ch.Host, err)
		}
	}
	return nil
}
