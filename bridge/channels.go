package bridge

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"syscall"

	"ledge/bridge/guard"
	"ledge/domain"
)

// Sockets are the PUB sockets of the ZeroMQ channels, one for each host and port, counted by use. Channels of one socket can
// differ in who may receive their messages.
type Sockets interface {
	Acquire(ch domain.Channel) error
	Release(ch domain.Channel)
	Publish(ch domain.Channel, body string) (subscribers int, err error)
}

// channels holds the sockets of every channel of every subscription. A socket that cannot be bound (its port was taken
// while Ledge was down) is bound in the background as soon as that is possible; nothing that delivers waits for it.
type channels struct {
	sockets Sockets
	lookUp  func(ctx context.Context, host string, port int)
	logger  *slog.Logger
	ctx     context.Context // of the tries, one goroutine for each endpoint
	tries   sync.WaitGroup
	mu      sync.Mutex // also held while uses move from unbound to sockets, but for no try
	unbound map[endpoint]*waiting
}

// endpoint is what tells the uses of one socket from those of another: its host and port, and who may receive.
type endpoint struct {
	host       string
	port       int
	allow      string
	clientKeys string
}

func endpointOf(ch domain.Channel) endpoint {
	return endpoint{ch.Host, ch.Port, strings.Join(ch.Allow, ","), strings.Join(ch.ClientKeys, ",")}
}

func newChannels(o Options) *channels {
	if o.LookUp == nil {
		o.LookUp = func(context.Context, string, int) {}
	}
	return &channels{sockets: o.Sockets, lookUp: o.LookUp, logger: o.Logger, unbound: map[endpoint]*waiting{}}
}

// hold acquires the sockets of a subscription that is on record. One that cannot be bound is logged.
func (c *channels) hold(list []domain.Channel) {
	for _, ch := range zeroMQ(list) {
		if err := c.sockets.Acquire(ch); err != nil {
			c.bindLater(ch, err)
		}
	}
}

func (c *channels) release(list []domain.Channel) {
	for _, ch := range zeroMQ(list) {
		if !c.waitsNoMore(endpointOf(ch)) {
			c.sockets.Release(ch)
		}
	}
}

// send publishes n on a ZeroMQ channel. See published for the response.
func (c *channels) send(ch domain.Channel, n domain.Notification) (response string, err error) {
	subscribers, err := c.sockets.Publish(ch, n.Content)
	if err != nil {
		return "", cmp.Or(c.whyUnbound(endpointOf(ch)), err)
	}
	return c.published(ch, subscribers), nil
}

// reserve acquires all of list or nothing.
func (c *channels) reserve(list []domain.Channel) error {
	for i, ch := range list {
		if ch.Type != domain.ChannelZeroMQ {
			continue
		}
		if err := c.sockets.Acquire(ch); err != nil {
			for _, had := range zeroMQ(list[:i]) {
				c.sockets.Release(had)
			}
			return unbindable(i, err)
		}
	}
	return nil
}

// limitError is that of a socket that is not bound because as many as are allowed are.
type limitError interface {
	error
	Limit()
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
func unbindable(i int, err error) error {
	if _, ok := errors.AsType[limitError](err); ok || errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE) {
		return domain.Errorf(domain.Unavailable, "channels[%d]: %v", i, err)
	}
	if r, ok := errors.AsType[*guard.Refused](err); ok {
		return domain.FieldErrorf(fmt.Sprintf("channels[%d].%s", i, r.Field), "%s", r.Message)
	}
	return domain.FieldErrorf(fmt.Sprintf("channels[%d]", i), "%v", err)
}
