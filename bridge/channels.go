package bridge

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"ledge/bridge/guard"
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
	now     func() time.Time
	mu      sync.Mutex
	unbound map[endpoint]*waiting
}

// waiting is what is known of a socket that could not be bound.
type waiting struct {
	uses int
	next time.Time // of the next try
	err  error     // of the last one
}

// bindAgain is how long a socket that could not be bound is left alone: a try may have to ask a name server.
const bindAgain = time.Second

type endpoint struct {
	host string
	port int
}

func newChannels(s Sockets, now func() time.Time) *channels {
	return &channels{sockets: s, now: now, unbound: map[endpoint]*waiting{}}
}

// hold acquires the sockets of a subscription that is on record; the errors say which stay unbound for now.
func (c *channels) hold(list []domain.Channel) (failed []error) {
	for _, ch := range zeroMQ(list) {
		if err := c.sockets.Acquire(ch.Host, ch.Port); err != nil {
			c.wait(endpoint{ch.Host, ch.Port}, 1, err)
			failed = append(failed, err)
		}
	}
	return failed
}

// wait notes uses that are without their socket.
func (c *channels) wait(e endpoint, uses int, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	w := c.unbound[e]
	if w == nil {
		w = &waiting{}
		c.unbound[e] = w
	}
	w.uses, w.err, w.next = w.uses+uses, err, c.now().Add(bindAgain)
}

func (c *channels) release(list []domain.Channel) {
	for _, ch := range zeroMQ(list) {
		if e := (endpoint{ch.Host, ch.Port}); !c.waitsNoMore(e) {
			c.sockets.Release(e.host, e.port)
		}
	}
}

// waitsNoMore takes one use back that is without its socket, if there is one.
func (c *channels) waitsNoMore(e endpoint) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	w := c.unbound[e]
	if w == nil {
		return false
	}
	if w.uses--; w.uses == 0 {
		delete(c.unbound, e)
	}
	return true
}

// send publishes n on a ZeroMQ channel. The response says how many were there to hear it.
func (c *channels) send(ch domain.Channel, n domain.Notification) (response string, err error) {
	if err := c.bind(endpoint{ch.Host, ch.Port}); err != nil {
		return "", err
	}
	subscribers, err := c.sockets.Publish(ch.Host, ch.Port, ch.Topic, []byte(n.Content))
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("published to %d connected subscribers", subscribers), nil
}

// bind tries to acquire what waits at an endpoint, unless it did a moment ago.
func (c *channels) bind(e endpoint) error {
	for {
		c.mu.Lock()
		w := c.unbound[e]
		if w != nil && c.now().Before(w.next) {
			err := w.err
			c.mu.Unlock()
			return err
		}
		c.mu.Unlock()
		if w == nil || !c.waitsNoMore(e) {
			return nil
		}
		if err := c.sockets.Acquire(e.host, e.port); err != nil {
			c.wait(e, 1, err)
			return err
		}
	}
}

// reserve acquires all of list or nothing.
func (c *channels) reserve(list []domain.Channel) error {
	for i, ch := range list {
		if ch.Type != domain.ChannelZeroMQ {
			continue
		}
		if err := c.sockets.Acquire(ch.Host, ch.Port); err != nil {
			for _, had := range zeroMQ(list[:i]) {
				c.sockets.Release(had.Host, had.Port)
			}
			return unbindable(i, ch, err)
		}
	}
	return nil
}

// zeroMQ returns the channels of a list that have a socket here.
func zeroMQ(list []domain.Channel) []domain.Channel {
	own := make([]domain.Channel, 0, len(list))
	for _, ch := range list {
		if ch.Type == domain.ChannelZeroMQ {
			own = append(own, ch)
		}
	}
	return own
}

// unbindable says why the i-th channel of a subscription cannot be had.
func unbindable(i int, ch domain.Channel, err error) error {
	if r, ok := errors.AsType[*guard.Refused](err); ok {
		return domain.Errorf(domain.Invalid, "channels[%d].%s: %s", i, r.Field, r.Message)
	}
	return domain.Errorf(domain.Invalid, "channels[%d]: port %d on host %q cannot be bound: %v; choose another port or host, or stop what uses it", i, ch.Port, ch.Host, err)
}
